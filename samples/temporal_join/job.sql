-- Each order at the exchange rate of its own time, whatever the rate became afterwards.
CREATE TABLE orders (
  order_id INT,
  price DECIMAL(10, 2),
  currency STRING,
  order_time TIMESTAMP(3),
  WATERMARK FOR order_time AS order_time - INTERVAL '1' SECOND
) WITH (
  'connector' = 'kafka',
  'topic' = 'temporal_orders',
  'properties.bootstrap.servers' = '${KAFKA_SERVERS}',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

CREATE TABLE currency_rates (
  currency STRING,
  rate DECIMAL(10, 2),
  update_time TIMESTAMP(3),
  WATERMARK FOR update_time AS update_time - INTERVAL '1' SECOND,
  PRIMARY KEY (currency) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = 'currency_rates',
  'properties.bootstrap.servers' = '${KAFKA_SERVERS}',
  'key.format' = 'json',
  'value.format' = 'json'
);

CREATE TABLE converted (
  order_id INT,
  euros DECIMAL(20, 4),
  order_time TIMESTAMP(3)
) WITH (
  'connector' = 'kafka',
  'topic' = 'temporal_converted',
  'properties.bootstrap.servers' = '${KAFKA_SERVERS}',
  'format' = 'json'
);

INSERT INTO converted
SELECT o.order_id, o.price * r.rate, o.order_time
FROM orders AS o
LEFT JOIN currency_rates FOR SYSTEM_TIME AS OF o.order_time AS r ON o.currency = r.currency;
