-- upsert-kafka-baidu-en.txt, "Source Table"; the page's line numbers left out
-- Create a source table that counts PV and UV.
CREATE TABLE pageviews(
user_id BIGINT,
page_id BIGINT,
viewtime TIMESTAMP,
user_region STRING,
WATERMARKFOR viewtime AS viewtime - INTERVAL '2' SECOND
) WITH('connector'='kafka','topic'='yourTopicName','properties. bootstrap.servers'='localhost:9092','format'='json');
-- Create an Upsert Kafka result table
CREATE TABLE pageviews_per_region(
user_region STRING,pv BIGINT,uv BIGINT,PRIMARYKEY(user_region)NOTENFORCED) WITH('connector'='upsert-kafka','topic'='yourTopicName','properties.bootstrap.servers'='localhost:9092', 'key.format'='avro', 'value.format'='avro');
-- Write statistical PV and UV data to the results table.
SELECT
user_region, COUNT(*), COUNT(DISTINCT user_id)
FROM pageviews
GROUP BY user_region;
