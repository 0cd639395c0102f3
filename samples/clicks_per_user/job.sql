-- The aggregation of the dynamic tables: a count that each click changes, as a changelog in Debezium's form.
CREATE TABLE clicks (
  `user` STRING,
  cTime TIMESTAMP(3),
  url STRING,
  WATERMARK FOR cTime AS cTime - INTERVAL '5' MINUTE
) WITH (
  'connector' = 'kafka',
  'topic' = 'clicks_for_users',
  'properties.bootstrap.servers' = '${KAFKA_SERVERS}',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

CREATE TABLE clicks_per_user (
  `user` STRING,
  cnt BIGINT
) WITH (
  'connector' = 'kafka',
  'topic' = 'clicks_per_user',
  'properties.bootstrap.servers' = '${KAFKA_SERVERS}',
  'format' = 'debezium-json'
);

INSERT INTO clicks_per_user SELECT `user`, COUNT(url) AS cnt FROM clicks GROUP BY `user`;
