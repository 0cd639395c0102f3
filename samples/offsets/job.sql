-- Read from given offsets, up to given offsets, and from a moment on: a bounded job that ends by itself.
CREATE TABLE by_offset (
  id INT
) WITH (
  'connector' = 'kafka',
  'topic' = 'numbers',
  'properties.bootstrap.servers' = '${KAFKA_SERVERS}',
  'scan.startup.mode' = 'specific-offsets',
  'scan.startup.specific-offsets' = 'partition:0,offset:1;partition:1,offset:0',
  'scan.bounded.mode' = 'specific-offsets',
  'scan.bounded.specific-offsets' = 'partition:0,offset:3;partition:1,offset:1',
  'format' = 'json'
);

CREATE TABLE by_time (
  id INT
) WITH (
  'connector' = 'kafka',
  'topic' = 'numbers',
  'properties.bootstrap.servers' = '${KAFKA_SERVERS}',
  'scan.startup.mode' = 'timestamp',
  'scan.startup.timestamp-millis' = '1589362333000',
  'scan.bounded.mode' = 'timestamp',
  'scan.bounded.timestamp-millis' = '1589362335000',
  'format' = 'json'
);

SELECT 'offset' AS how, id FROM by_offset UNION ALL SELECT 'time', id FROM by_time;
