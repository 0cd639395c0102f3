CREATE TABLE logins (
  name VARCHAR,
  at_time TIMESTAMP(3)
) WITH (
  'connector.type' = 'kafka',
  'connector.version' = '0.11',
  'connector.topic' = 'logins',
  'connector.properties.zookeeper.connect' = 'localhost:2181',
  'connector.properties.bootstrap.servers' = 'localhost:9092',
  'schema.1.rowtime.timestamps.type' = 'from-source',
  'schema.1.rowtime.watermarks.type' = 'periodic-ascending',
  'format.type' = 'json'
);
CREATE TABLE sessions (name VARCHAR, n BIGINT) WITH ('connector' = 'print');
INSERT INTO sessions SELECT name, COUNT(*) FROM logins GROUP BY name, SESSION(at_time, INTERVAL '30' MINUTE);
