create table activity (
  `trackid` varchar,
  `deviceid` varchar,
  `starttime` bigint,
  `duration` int
) with (
  'connector.type' = 'kafka',
  'connector.version' = '0.8',
  'connector.topic' = 'activity',
  'connector.startup-mode' = 'earliest-offset',
  'connector.sink-partitioner' = 'fixed',
  'connector.properties.0.key' = 'group.id',
  'connector.properties.0.value' = 'activity_83',
  'connector.properties.1.key' = 'bootstrap.servers',
  'connector.properties.1.value' = 'k1:9092',
  'connector.properties.2.key' = 'auto.commit.interval.ms',
  'connector.properties.2.value' = '10000',
  'update-mode' = 'append',
  'format.field-delimiter' = ',',
  'format.property-version' = '1',
  'format.type' = 'csv',
  'format.schema' = 'ROW<trackid VARCHAR, deviceid VARCHAR, starttime BIGINT, duration INT>'
);
create table devices (deviceid varchar, total bigint) with ('connector' = 'print');
insert into devices select deviceid, sum(cast(duration as bigint)) from activity group by deviceid;
