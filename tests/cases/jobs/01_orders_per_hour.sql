-- expect: fine
-- Revenue per shop and hour, event time, into an append-only topic.
CREATE TABLE orders (
  order_id   STRING,
  shop_id    INT,
  amount     DECIMAL(10, 2),
  order_time TIMESTAMP(3),
  WATERMARK FOR order_time AS order_time - INTERVAL '5' SECONDS
) WITH (
  'connector' = 'kafka',
  'topic' = 'orders',
  'properties.bootstrap.servers' = 'broker:9092',
  'properties.group.id' = 'revenue',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json',
  'json.ignore-parse-errors' = 'true',
  'json.timestamp-format.standard' = 'ISO-8601'
);

CREATE TABLE revenue (
  shop_id INT, window_start TIMESTAMP(3), window_end TIMESTAMP(3), revenue DECIMAL(38, 2), orders BIGINT
) WITH (
  'connector' = 'kafka', 'topic' = 'revenue', 'properties.bootstrap.servers' = 'broker:9092', 'format' = 'json'
);

INSERT INTO revenue
SELECT shop_id, window_start, window_end, SUM(amount), COUNT(*)
FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(order_time), INTERVAL '1' HOUR))
GROUP BY shop_id, window_start, window_end;
