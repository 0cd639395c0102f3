-- Kafka over TLS with a login: SASL_SSL and SCRAM, in the words of Kafka's own client, for reading and writing.
CREATE TABLE payments (
  id INT,
  amount DECIMAL(10, 2),
  paid TIMESTAMP_LTZ(3) METADATA FROM 'timestamp',
  WATERMARK FOR paid AS paid - INTERVAL '5' SECOND
) WITH (
  'connector' = 'kafka',
  'topic' = 'card_payments',
  'properties.bootstrap.servers' = '${KAFKA_SECURE_SERVERS}',
  'properties.security.protocol' = 'SASL_SSL',
  'properties.sasl.mechanism' = 'SCRAM-SHA-512',
  'properties.sasl.jaas.config' = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="${KAFKA_USER}" password="${KAFKA_PASSWORD}";',
  'properties.ssl.truststore.type' = 'PKCS12',
  'properties.ssl.truststore.location' = '${KAFKA_TRUSTSTORE}',
  'properties.ssl.truststore.password' = '${KAFKA_TRUSTSTORE_PASSWORD}',
  'properties.group.id' = 'payments',
  'properties.auto.offset.reset' = 'earliest',
  'format' = 'json'
);

CREATE TABLE large_payments (
  id INT,
  amount DECIMAL(10, 2)
) WITH (
  'connector' = 'kafka',
  'topic' = 'large_card_payments',
  'properties.bootstrap.servers' = '${KAFKA_SECURE_SERVERS}',
  'properties.security.protocol' = 'SASL_SSL',
  'properties.sasl.mechanism' = 'SCRAM-SHA-512',
  'properties.sasl.jaas.config' = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="${KAFKA_USER}" password="${KAFKA_PASSWORD}";',
  'properties.ssl.truststore.type' = 'PKCS12',
  'properties.ssl.truststore.location' = '${KAFKA_TRUSTSTORE}',
  'properties.ssl.truststore.password' = '${KAFKA_TRUSTSTORE_PASSWORD}',
  'sink.delivery-guarantee' = 'exactly-once',
  'sink.transactional-id-prefix' = 'large-payments',
  'format' = 'json'
);

INSERT INTO large_payments SELECT id, amount FROM payments WHERE amount >= 100;
