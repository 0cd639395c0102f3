-- expect: fine
CREATE TABLE orders (
  order_id STRING, price DECIMAL(32, 2), currency STRING, order_time TIMESTAMP(3),
  WATERMARK FOR order_time AS order_time
) WITH ('connector' = 'kafka', 'topic' = 'orders', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
CREATE TABLE currency_rates (
  currency STRING, conversion_rate DECIMAL(32, 2),
  update_time TIMESTAMP(3) METADATA FROM 'timestamp' VIRTUAL,
  WATERMARK FOR update_time AS update_time,
  PRIMARY KEY (currency) NOT ENFORCED
) WITH ('connector' = 'upsert-kafka', 'topic' = 'rates', 'properties.bootstrap.servers' = 'broker:9092', 'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE converted (order_id STRING, price DECIMAL(38, 4), currency STRING) WITH ('connector' = 'kafka', 'topic' = 'converted', 'properties.bootstrap.servers' = 'broker:9092', 'format' = 'json');
INSERT INTO converted
SELECT o.order_id, CAST(o.price * r.conversion_rate AS DECIMAL(38, 4)), o.currency
FROM orders AS o
LEFT JOIN currency_rates FOR SYSTEM_TIME AS OF o.order_time AS r
ON o.currency = r.currency;
