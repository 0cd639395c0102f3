CREATE TABLE generated WITH (
  'connector.type' = 'kafka',
  'connector.property-version' = '1',
  'connector.version' = 'universal',
  'connector.topic' = 'generated',
  'connector.startup-mode' = 'earliest-offset',
  'connector.properties.0.key' = 'bootstrap.servers',
  'connector.properties.0.value' = 'localhost:19092',
  'format.type' = 'json',
  'format.property-version' = '1',
  'format.derive-schema' = 'true',
  'schema.0.name' = 'data',
  'schema.0.type' = 'LONG',
  'schema.1.name' = 'ts',
  'schema.1.type' = 'TIMESTAMP',
  'schema.1.rowtime.timestamps.type' = 'from-field',
  'schema.1.rowtime.timestamps.from' = 'timestamp',
  'schema.1.rowtime.watermarks.type' = 'periodic-bounded',
  'schema.1.rowtime.watermarks.delay' = '1000',
  'update-mode' = 'append'
);
CREATE TABLE sums (total BIGINT) WITH ('connector' = 'print');
INSERT INTO sums SELECT SUM(data) FROM generated GROUP BY TUMBLE(ts, INTERVAL '5' SECOND);
