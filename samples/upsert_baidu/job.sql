-- Views and visitors per region into Avro keys and values, as in Baidu's page on upsert-kafka.
-- Without a group the table gets one of its own, KafkaSource-<table>, and is read from where that stands.
CREATE TABLE pageviews (
  user_id BIGINT,
  page_id BIGINT,
  viewtime TIMESTAMP, -- milliseconds count, as in TIMESTAMP(3)
  user_region STRING,
  WATERMARK FOR viewtime AS viewtime - INTERVAL '2' SECOND
) WITH (
  'connector' = 'kafka',
  'topic' = 'baidu_pageviews',
  'properties.bootstrap.servers' = '${KAFKA_SERVERS}',
  'format' = 'json'
);

CREATE TABLE pageviews_per_region (
  user_region STRING,
  pv BIGINT,
  uv BIGINT,
  PRIMARY KEY (user_region) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = 'baidu_pageviews_per_region',
  'properties.bootstrap.servers' = '${KAFKA_SERVERS}',
  'key.format' = 'avro',
  'value.format' = 'avro'
);

INSERT INTO pageviews_per_region
SELECT
  user_region,
  COUNT(*),
  COUNT(DISTINCT user_id)
FROM pageviews
GROUP BY user_region;
