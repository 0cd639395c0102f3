-- expect: fine
CREATE TABLE trades (symbol STRING, price DECIMAL(10, 2), volume BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
WITH ('connector' = 'kafka', 'topic' = 'trades', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
CREATE TABLE moving (symbol STRING, ts TIMESTAMP(3), price DECIMAL(10, 2), avg_10m DECIMAL(38, 6), vol BIGINT, PRIMARY KEY (symbol, ts) NOT ENFORCED) WITH ('connector' = 'upsert-kafka', 'topic' = 'moving', 'properties.bootstrap.servers' = 'broker:9092', 'key.format' = 'json', 'value.format' = 'json');
INSERT INTO moving
SELECT symbol, ts, price, AVG(price) OVER w, SUM(volume) OVER w
FROM trades
WINDOW w AS (PARTITION BY symbol ORDER BY ts RANGE BETWEEN INTERVAL '10' MINUTE PRECEDING AND CURRENT ROW);
