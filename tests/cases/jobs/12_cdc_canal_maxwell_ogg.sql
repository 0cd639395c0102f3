-- expect: fine
CREATE TABLE canal_products (id BIGINT, name STRING, description STRING, weight DECIMAL(10, 3))
WITH ('connector' = 'kafka', 'topic' = 'products_binlog', 'properties.bootstrap.servers' = 'broker:9092', 'properties.group.id' = 'testGroup', 'scan.startup.mode' = 'earliest-offset', 'format' = 'canal-json', 'canal-json.ignore-parse-errors' = 'true');
CREATE TABLE maxwell_products (id BIGINT, name STRING)
WITH ('connector' = 'kafka', 'topic' = 'maxwell', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'maxwell-json');
CREATE TABLE ogg_products (id BIGINT, name STRING)
WITH ('connector' = 'kafka', 'topic' = 'ogg', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'ogg-json');
CREATE TABLE all_names (name STRING PRIMARY KEY NOT ENFORCED, n BIGINT)
WITH ('connector' = 'upsert-kafka', 'topic' = 'names', 'properties.bootstrap.servers' = 'broker:9092', 'key.format' = 'json', 'value.format' = 'json');
INSERT INTO all_names
SELECT name, COUNT(*) FROM (
  SELECT name FROM canal_products UNION ALL SELECT name FROM maxwell_products UNION ALL SELECT name FROM ogg_products
) GROUP BY name;
