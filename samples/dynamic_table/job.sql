-- A query over an upsert-kafka table shows inserts, an update and a delete, as in the article on dynamic tables.
CREATE TABLE orders_upsert_kafka_json (
  order_id INT,
  order_date TIMESTAMP(0),
  customer_name STRING,
  price DECIMAL(10, 5),
  PRIMARY KEY (order_id) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = 'orders_upsert_kafka_json',
  'properties.bootstrap.servers' = '${KAFKA_SERVERS}',
  'key.format' = 'json',
  'value.format' = 'json'
);

SELECT * FROM orders_upsert_kafka_json;
