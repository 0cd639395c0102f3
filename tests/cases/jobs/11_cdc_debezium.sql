-- expect: fine
-- Postgres through Debezium; deletes leave the aggregate again.
CREATE TABLE customers_cdc (
  id INT, name STRING, region STRING,
  op_ts TIMESTAMP_LTZ(3) METADATA FROM 'value.source.timestamp' VIRTUAL,
  src_table STRING METADATA FROM 'value.source.table' VIRTUAL,
  PRIMARY KEY (id) NOT ENFORCED
) WITH (
  'connector' = 'kafka',
  'topic' = 'pg.public.customers',
  'properties.bootstrap.servers' = 'broker:9092',
  'scan.startup.mode' = 'earliest-offset',
  'value.format' = 'debezium-json',
  'value.debezium-json.schema-include' = 'false'
);
CREATE TABLE per_region (region STRING, customers BIGINT, PRIMARY KEY (region) NOT ENFORCED)
WITH ('connector' = 'upsert-kafka', 'topic' = 'per_region', 'properties.bootstrap.servers' = 'broker:9092', 'key.format' = 'csv', 'value.format' = 'json');
INSERT INTO per_region SELECT region, COUNT(*) FROM customers_cdc WHERE region IS NOT NULL GROUP BY region;
