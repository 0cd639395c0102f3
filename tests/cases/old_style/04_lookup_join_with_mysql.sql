CREATE TABLE orders (
  order_id BIGINT, customer_id BIGINT, amount DOUBLE,
  proctime AS PROCTIME()
) WITH (
  'connector.type' = 'kafka', 'connector.version' = '0.11', 'connector.topic' = 'orders',
  'connector.properties.zookeeper.connect' = 'localhost:2181',
  'connector.properties.bootstrap.servers' = 'localhost:9092',
  'connector.startup-mode' = 'latest-offset', 'format.type' = 'json'
);
CREATE TABLE customers (
  id BIGINT, city STRING
) WITH (
  'connector.type' = 'jdbc',
  'connector.url' = 'jdbc:mysql://db:3306/shop?useSSL=false',
  'connector.table' = 'customers',
  'connector.driver' = 'com.mysql.jdbc.Driver',
  'connector.username' = 'shop',
  'connector.password' = 'pw',
  'connector.lookup.cache.max-rows' = '5000',
  'connector.lookup.cache.ttl' = '10min',
  'connector.lookup.max-retries' = '3'
);
CREATE TABLE enriched (order_id BIGINT, city STRING, amount DOUBLE) WITH (
  'connector.type' = 'kafka', 'connector.version' = '0.11', 'connector.topic' = 'enriched',
  'connector.properties.zookeeper.connect' = 'localhost:2181',
  'connector.properties.bootstrap.servers' = 'localhost:9092',
  'format.type' = 'json', 'update-mode' = 'append'
);
INSERT INTO enriched
SELECT o.order_id, c.city, o.amount
FROM orders AS o
LEFT JOIN customers FOR SYSTEM_TIME AS OF o.proctime AS c ON o.customer_id = c.id;
