CREATE TABLE secured (id INT, v STRING) WITH (
  'connector.type' = 'kafka',
  'connector.version' = 'universal',
  'connector.topic' = 'secured',
  'connector.properties.bootstrap.servers' = 'kafka:9093',
  'connector.properties.security.protocol' = 'SASL_PLAINTEXT',
  'connector.properties.sasl.mechanism' = 'PLAIN',
  'connector.properties.sasl.jaas.config' = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="p";',
  'connector.properties.group.id' = 'secured',
  'connector.startup-mode' = 'group-offsets',
  'format.type' = 'json'
);
CREATE TABLE counted (id INT, n BIGINT) WITH ('connector.type' = 'blackhole');
INSERT INTO counted SELECT id, COUNT(*) FROM secured GROUP BY id;
