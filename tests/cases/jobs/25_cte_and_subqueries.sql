-- expect: fine
CREATE TABLE users (id INT, name STRING, city STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'upsert-kafka', 'topic' = 'users', 'properties.bootstrap.servers' = 'broker:9092', 'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE orders (id INT, user_id INT, amount DOUBLE) WITH ('connector' = 'kafka', 'topic' = 'orders', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
CREATE TABLE result (city STRING, buyers BIGINT, revenue DOUBLE, PRIMARY KEY (city) NOT ENFORCED) WITH ('connector' = 'upsert-kafka', 'topic' = 'result', 'properties.bootstrap.servers' = 'broker:9092', 'key.format' = 'json', 'value.format' = 'json');
INSERT INTO result
WITH big AS (SELECT user_id, SUM(amount) AS total FROM orders GROUP BY user_id HAVING SUM(amount) > 100),
     active AS (SELECT * FROM users WHERE id IN (SELECT user_id FROM orders))
SELECT a.city, COUNT(*), SUM(b.total) FROM active a JOIN big b ON a.id = b.user_id GROUP BY a.city;
