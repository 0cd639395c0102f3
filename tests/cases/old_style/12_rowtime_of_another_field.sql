CREATE TABLE taps (
  card VARCHAR,
  station INT,
  tap_time TIMESTAMP(3)
) WITH (
  'connector.type' = 'kafka',
  'connector.version' = 'universal',
  'connector.topic' = 'taps',
  'connector.properties.zookeeper.connect' = 'localhost:2181',
  'connector.properties.bootstrap.servers' = 'localhost:9092',
  'schema.2.rowtime.timestamps.type' = 'from-field',
  'schema.2.rowtime.timestamps.from' = 'eventTime',
  'schema.2.rowtime.watermarks.type' = 'periodic-bounded',
  'schema.2.rowtime.watermarks.delay' = '2500',
  'format.type' = 'json',
  'format.schema' = 'ROW<card VARCHAR, station INT, eventTime BIGINT>'
);
CREATE TABLE crowds (station INT, n BIGINT) WITH ('connector' = 'print');
INSERT INTO crowds
SELECT station, COUNT(*) FROM taps GROUP BY station, HOP(tap_time, INTERVAL '1' MINUTE, INTERVAL '10' MINUTE);
