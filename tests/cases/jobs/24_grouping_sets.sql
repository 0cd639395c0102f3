-- expect: fine
CREATE TABLE sales (shop STRING, item STRING, amount INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)
WITH ('connector' = 'kafka', 'topic' = 'sales', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
CREATE TABLE sales_cube (s TIMESTAMP(3), e TIMESTAMP(3), shop STRING, item STRING, total INT, level BIGINT) WITH ('connector' = 'print');
INSERT INTO sales_cube
SELECT window_start, window_end, shop, item, SUM(amount), GROUPING_ID(shop, item)
FROM TABLE(TUMBLE(TABLE sales, DESCRIPTOR(ts), INTERVAL '1' DAY))
GROUP BY window_start, window_end, GROUPING SETS ((shop, item), (shop), ());
