-- upsert-kafka-oceanus-zh.md, "SASL/GSSAPI Kerberos"
CREATE TABLE `YourTable` (
  `id` INT,
  `name` STRING
) WITH (
  'connector' = 'kafka',
  'topic' = 'YourTopic',
  'properties.bootstrap.servers' = 'localhost:9092',
  'properties.security.protocol' = 'SASL_PLAINTEXT',
  'properties.sasl.mechanism' = 'GSSAPI',
  'properties.sasl.kerberos.service.name' = 'hadoop',
  'format' = 'json'
);
