CREATE TABLE metrics (
name VARCHAR,
data ROW<n BIGINT, at_ms BIGINT>,
wtime BIGINT,
ts AS TO_TIMESTAMP(FROM_UNIXTIME(wtime / 1000, 'yyyy-MM-dd HH:mm:ss')),
WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
) WITH (
-- declare the external system to connect to
'connector.type' = 'kafka',
'connector.version' = 'universal',
'connector.topic' = 'metrics',
'connector.startup-mode' = 'specific-offsets',
'connector.specific-offsets' = 'partition:0,offset:30; partition:1,offset:30',
  'connector.properties.zookeeper.connect' = 'localhost:2181',
  'connector.properties.bootstrap.servers' = 'localhost:9092',
-- specify the update-mode for streaming tables
'update-mode' = 'append',
-- declare a format for this system
'format.type' = 'json',
'format.derive-schema' = 'true'
);
CREATE TABLE per_minute (window_time TIMESTAMP(3), name VARCHAR, n BIGINT) WITH (
'connector.type' = 'filesystem', 'connector.path' = '/tmp/per_minute', 'format.type' = 'csv'
);
INSERT INTO per_minute
SELECT TUMBLE_START(ts, INTERVAL '1' MINUTE), name, SUM(data.n)
FROM metrics GROUP BY TUMBLE(ts, INTERVAL '1' MINUTE), name;
