-- expect: fine
CREATE TABLE orders (id STRING, user_id STRING, order_time TIMESTAMP(3), WATERMARK FOR order_time AS order_time - INTERVAL '30' SECOND)
WITH ('connector' = 'kafka', 'topic' = 'orders', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
CREATE TABLE shipments (order_id STRING, carrier STRING, ship_time TIMESTAMP(3), WATERMARK FOR ship_time AS ship_time - INTERVAL '30' SECOND)
WITH ('connector' = 'kafka', 'topic' = 'shipments', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
CREATE TABLE shipped (id STRING, carrier STRING, hours INT) WITH ('connector' = 'kafka', 'topic' = 'shipped', 'properties.bootstrap.servers' = 'broker:9092', 'format' = 'json');
INSERT INTO shipped
SELECT o.id, s.carrier, TIMESTAMPDIFF(HOUR, o.order_time, s.ship_time)
FROM orders o, shipments s
WHERE o.id = s.order_id
  AND s.ship_time BETWEEN o.order_time AND o.order_time + INTERVAL '4' HOUR;
