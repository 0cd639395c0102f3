-- A database's changes (Debezium) into a keyed table: updates overwrite, deletes become tombstones.
CREATE TABLE orders_cdc (
  order_id INT,
  order_date TIMESTAMP(0),
  customer_name STRING,
  price DECIMAL(10, 5),
  PRIMARY KEY (order_id) NOT ENFORCED
) WITH (
  'connector' = 'kafka',
  'topic' = 'orders_cdc',
  'properties.bootstrap.servers' = '${KAFKA_SERVERS}',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'debezium-json'
);

CREATE TABLE orders_kept (
  order_id INT,
  order_date TIMESTAMP(0),
  customer_name STRING,
  price DECIMAL(10, 5),
  PRIMARY KEY (order_id) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = 'orders_kept',
  'properties.bootstrap.servers' = '${KAFKA_SERVERS}',
  'key.format' = 'json',
  'value.format' = 'json'
);

INSERT INTO orders_kept SELECT * FROM orders_cdc;
