-- The windowed count of the dynamic tables: clicks per user and hour, written once when the hour is over.
CREATE TABLE clicks (
  `user` STRING,
  cTime TIMESTAMP(3),
  url STRING,
  WATERMARK FOR cTime AS cTime - INTERVAL '5' MINUTE
) WITH (
  'connector' = 'kafka',
  'topic' = 'clicks_for_hours',
  'properties.bootstrap.servers' = '${KAFKA_SERVERS}',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

CREATE TABLE clicks_per_hour (
  `user` STRING,
  endT TIMESTAMP(3),
  cnt BIGINT
) WITH (
  'connector' = 'kafka',
  'topic' = 'clicks_per_hour',
  'properties.bootstrap.servers' = '${KAFKA_SERVERS}',
  'format' = 'json'
);

INSERT INTO clicks_per_hour
SELECT `user`, TUMBLE_END(cTime, INTERVAL '1' HOUR) AS endT, COUNT(url) AS cnt
FROM clicks
GROUP BY `user`, TUMBLE(cTime, INTERVAL '1' HOUR);
