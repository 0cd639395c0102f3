CREATE TABLE clicks (
    user_id BIGINT,
    item_id BIGINT,
    behavior STRING,
    ts TIMESTAMP(3),
    proctime AS PROCTIME(),   -- 处理时间列
    WATERMARK FOR ts AS ts - INTERVAL '5' SECOND  -- event time
) WITH (
    'connector.type' = 'kafka', -- 使用 kafka connector
    'connector.version' = 'universal',  -- kafka 版本
    'connector.topic' = 'clicks',  -- kafka topic
    'connector.startup-mode' = 'earliest-offset', -- from the first record
    'connector.properties.zookeeper.connect' = 'localhost:2181', -- zookeeper 地址
    'connector.properties.bootstrap.servers' = 'localhost:9092', -- broker 地址
    'format.type' = 'json'  -- 数据源格式为 json
);
CREATE TABLE bought (hour_of_day BIGINT, n BIGINT) WITH ('connector' = 'print');
INSERT INTO bought
SELECT HOUR(TUMBLE_START(ts, INTERVAL '1' HOUR)), COUNT(*)
FROM clicks
WHERE behavior = 'buy'
GROUP BY TUMBLE(ts, INTERVAL '1' HOUR);
