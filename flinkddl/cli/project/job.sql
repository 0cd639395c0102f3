-- Clicks come in, a table of pages goes out: one row a page, written anew with each change.

CREATE TABLE clicks (
  user_id BIGINT,
  page STRING,
  clicked TIMESTAMP(3)
) WITH (
  'connector' = 'kafka',
  'topic' = 'clicks',
  'properties.bootstrap.servers' = '${KAFKA_SERVERS}',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

CREATE TABLE pages (
  page STRING,
  clicks BIGINT,
  visitors BIGINT,
  last_click TIMESTAMP(3),
  PRIMARY KEY (page) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = 'pages',
  'properties.bootstrap.servers' = '${KAFKA_SERVERS}',
  'key.format' = 'json',
  'value.format' = 'json'
);

INSERT INTO pages
SELECT page, COUNT(*), COUNT(DISTINCT user_id), MAX(clicked)
FROM clicks
GROUP BY page;
