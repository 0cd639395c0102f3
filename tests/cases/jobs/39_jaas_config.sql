-- expect: fine
CREATE TABLE secure (id INT, v STRING) WITH (
  'connector' = 'kafka', 'topic' = 'secure', 'properties.bootstrap.servers' = 'broker:9093',
  'properties.security.protocol' = 'SASL_SSL',
  'properties.sasl.mechanism' = 'PLAIN',
  'properties.sasl.jaas.config' = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="it''s; -- secret";',
  'scan.startup.mode' = 'earliest-offset', 'format' = 'json'
);
CREATE TABLE p (id INT, v STRING) WITH ('connector' = 'print');
INSERT INTO p SELECT * FROM secure;
