-- expect: fine
CREATE TABLE readings (
  device STRING, temperature DOUBLE, `timestamp` TIMESTAMP(3),
  WATERMARK FOR `timestamp` AS `timestamp` - INTERVAL '1' MINUTE
) WITH (
  'connector' = 'kafka', 'topic' = 'readings', 'properties.bootstrap.servers' = 'broker:9092',
  'scan.startup.mode' = 'timestamp', 'scan.startup.timestamp-millis' = '1704067200000', 'format' = 'json'
);
CREATE TABLE last_reading (device STRING PRIMARY KEY NOT ENFORCED, temperature DOUBLE, `timestamp` TIMESTAMP(3))
WITH ('connector' = 'upsert-kafka', 'topic' = 'last', 'properties.bootstrap.servers' = 'broker:9092',
      'key.format' = 'raw', 'value.format' = 'json');
INSERT INTO last_reading
SELECT device, temperature, `timestamp`
FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY device ORDER BY `timestamp` DESC) AS rownum FROM readings)
WHERE rownum = 1;
