-- upsert-kafka-oceanus-zh.md, "SASL/PLAIN"
CREATE TABLE `YourTable` (
  `id` INT,
  `name` STRING
) WITH (
  'connector' = 'kafka',
  'topic' = 'YourTopic',
  'properties.bootstrap.servers' = 'localhost:9092',
  'properties.sasl.jaas.config' = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="ckafka-xxxxxxxx#YourUserName" password="YourPassword";',
  'properties.security.protocol' = 'SASL_PLAINTEXT',
  'properties.sasl.mechanism' = 'PLAIN',
  'format' = 'json'
);
