-- upsert-kafka-baidu-en.txt, "Grammatical Structures"; the page's line numbers left out
CREATE TABLE upsert_kafka_sink(
user_region STRING,
pv BIGINT,
uv BIGINT,
PRIMARYKEY (user_region) NOT ENFORCED
) WITH(
'connector'='upsert-kafka',
'topic'='yourTopicName',
'properties.bootstrap.servers'= 'localhost:9092',
'key.format'='avro','value.format'='avro');
