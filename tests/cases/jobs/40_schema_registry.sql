-- expect: fine
CREATE TABLE avro_in (id BIGINT NOT NULL, name STRING, tags ARRAY<STRING>, price DECIMAL(10, 2)) WITH (
  'connector' = 'kafka', 'topic' = 'avro_in', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset',
  'key.format' = 'raw', 'key.fields' = 'id', 'value.format' = 'avro-confluent', 'value.avro-confluent.url' = 'http://registry:8081', 'value.fields-include' = 'all'
);
CREATE TABLE avro_out (name STRING, price DECIMAL(38, 2), PRIMARY KEY (name) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'avro_out', 'properties.bootstrap.servers' = 'broker:9092',
  'key.format' = 'avro-confluent', 'key.avro-confluent.url' = 'http://registry:8081', 'value.format' = 'avro-confluent', 'value.avro-confluent.url' = 'http://registry:8081'
);
INSERT INTO avro_out SELECT name, SUM(price) FROM avro_in WHERE CARDINALITY(tags) > 0 GROUP BY name;
