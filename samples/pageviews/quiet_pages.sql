-- Pages with fewer than ten views: a page leaves the table again when it reaches the tenth (a tombstone in the topic).
CREATE TABLE pageviews (
  user_id BIGINT,
  page_id BIGINT,
  viewtime TIMESTAMP(3),
  user_region STRING
) WITH (
  'connector' = 'kafka',
  'topic' = 'pageviews',
  'properties.bootstrap.servers' = '${KAFKA_SERVERS}',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

CREATE TABLE quiet_pages (
  page_id BIGINT,
  pv BIGINT,
  PRIMARY KEY (page_id) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = 'quiet_pages',
  'properties.bootstrap.servers' = '${KAFKA_SERVERS}',
  'key.format' = 'json',
  'value.format' = 'json'
);

INSERT INTO quiet_pages
SELECT page_id, COUNT(*) AS pv
FROM pageviews
GROUP BY page_id
HAVING COUNT(*) < 10;
