-- expect: FD306
CREATE TABLE users (id BIGINT PRIMARY KEY, name STRING) WITH ('connector' = 'upsert-kafka', 'topic' = 'u', 'properties.bootstrap.servers' = 'broker:9092', 'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE out1 (id BIGINT, name STRING) WITH ('connector' = 'print');
INSERT INTO out1 SELECT * FROM users;
