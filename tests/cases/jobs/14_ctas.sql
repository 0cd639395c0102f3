-- expect: fine
CREATE TABLE src (id INT, name STRING, price DECIMAL(10, 2)) WITH ('connector' = 'datagen', 'number-of-rows' = '10', 'fields.id.kind' = 'sequence', 'fields.id.start' = '1', 'fields.id.end' = '10');
CREATE TABLE expensive WITH ('connector' = 'print') AS SELECT id, UPPER(name) AS name, price FROM src WHERE price > 100;
CREATE TABLE kafka_copy (PRIMARY KEY (id) NOT ENFORCED)
WITH ('connector' = 'upsert-kafka', 'topic' = 'kc', 'properties.bootstrap.servers' = 'broker:9092', 'key.format' = 'json', 'value.format' = 'json')
AS SELECT CAST(id AS INT) AS id, MAX(price) AS top FROM src GROUP BY id;
