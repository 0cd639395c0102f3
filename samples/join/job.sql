-- Orders with their customer's name: either side may come first and either may change.
CREATE TABLE orders (
  order_id INT,
  customer_id INT,
  amount DECIMAL(10, 2),
  PRIMARY KEY (order_id) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = 'join_orders',
  'properties.bootstrap.servers' = '${KAFKA_SERVERS}',
  'key.format' = 'json',
  'value.format' = 'json'
);

CREATE TABLE customers (
  customer_id INT,
  name STRING,
  PRIMARY KEY (customer_id) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = 'join_customers',
  'properties.bootstrap.servers' = '${KAFKA_SERVERS}',
  'key.format' = 'json',
  'value.format' = 'json'
);

CREATE TABLE named_orders (
  order_id INT,
  name STRING,
  amount DECIMAL(10, 2),
  PRIMARY KEY (order_id) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = 'join_named_orders',
  'properties.bootstrap.servers' = '${KAFKA_SERVERS}',
  'key.format' = 'json',
  'value.format' = 'json'
);

INSERT INTO named_orders
SELECT o.order_id, c.name, o.amount
FROM orders AS o LEFT JOIN customers AS c ON o.customer_id = c.customer_id;
