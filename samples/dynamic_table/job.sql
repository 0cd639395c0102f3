-- A query over an upsert-kafka table shows inserts, an update and a delete, as in the article on dynamic tables.
-- In `flinkddl shell` the same query in each of the article's modes (samples/recordings/result_modes.txt):
--   SET 'sql-client.execution.result-mode' = 'table';       the rows that stand now; the default
--   SET 'sql-client.execution.result-mode' = 'changelog';   every change with its kind
--   SET 'sql-client.execution.result-mode' = 'tableau';     as changelog, printed line by line
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
