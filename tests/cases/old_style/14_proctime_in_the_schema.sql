CREATE TABLE alarms (
  alarm_id VARCHAR,
  site VARCHAR,
  pt TIMESTAMP(3) -- when we saw it
) WITH (
  'connector.type' = 'kafka',
  'connector.version' = '0.10',
  'connector.topic' = 'alarms',
  'connector.properties.0.key' = 'zookeeper.connect',
  'connector.properties.0.value' = 'zk1:2181,zk2:2181',
  'connector.properties.1.key' = 'bootstrap.servers',
  'connector.properties.1.value' = 'broker1:9092,broker2:9092',
  'schema.2.proctime' = 'true',
  'update-mode' = 'append',
  'format.type' = 'json',
  'format.derive-schema' = 'true'
);
CREATE TABLE last_alarms (site VARCHAR, alarm_id VARCHAR) WITH (
  'connector.type' = 'jdbc', 'connector.url' = 'jdbc:mysql://db/x', 'connector.table' = 'last_alarms',
  'connector.username' = 'x', 'connector.password' = 'x'
);
INSERT INTO last_alarms
SELECT site, alarm_id FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY site ORDER BY pt DESC) AS rn FROM alarms
) WHERE rn = 1;
