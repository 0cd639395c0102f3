create table plain (
  id bigint comment 'the id',
  t timestamp(3) without time zone comment 'when',
  watermark for t as t
) comment 'as it comes'
with (
  'connector.type' = 'kafka', 'connector.version' = 'universal', 'connector.topic' = 'plain',
  'connector.properties.0.key' = 'zookeeper.connect',
  'connector.properties.0.value' = 'zk1:2181,zk2:2181',
  'connector.properties.1.key' = 'bootstrap.servers',
  'connector.properties.1.value' = 'broker1:9092,broker2:9092',
  'format.type' = 'json'
);
create table per_day (d varchar, n bigint) with ('connector.type' = 'print');
insert into per_day select date_format(tumble_start(t, interval '1' day), 'yyyy-MM-dd'), count(*) from plain group by tumble(t, interval '1' day);
