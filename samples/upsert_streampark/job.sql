-- Views and visitors per region into Avro keys and values, as in StreamPark's page on upsert-kafka.
-- The page's own text has a slip that Flink refuses too: its watermark names a column 'viewtime'.
-- Nobody has committed for the table's own group: its first start is at the earliest offset.
CREATE TABLE pageviews_per_region (
    user_region STRING,
    pv BIGINT,
    uv BIGINT,
PRIMARY KEY (user_region) NOT ENFORCED -- the key: several columns are allowed
) WITH (
    'connector' = 'upsert-kafka',
    'topic' = 'streampark_pageviews_per_region',
    'properties.bootstrap.servers' = '${KAFKA_SERVERS}',
    'key.format' = 'avro',
    'value.format' = 'avro'
);

CREATE TABLE pageviews (
    user_id BIGINT,
    page_id BIGINT,
    view_time TIMESTAMP,
    user_region STRING,
    WATERMARK FOR view_time AS view_time - INTERVAL '2' SECOND
) WITH (
    'connector' = 'kafka',
    'topic' = 'streampark_page_views',
    'properties.bootstrap.servers' = '${KAFKA_SERVERS}',
    'format' = 'json'
);

-- counts views and visitors
INSERT INTO pageviews_per_region
SELECT
    user_region,
    COUNT(*),
    COUNT(DISTINCT user_id)
FROM pageviews
GROUP BY user_region;
