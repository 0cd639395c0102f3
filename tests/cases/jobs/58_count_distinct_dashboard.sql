-- expect: fine
SET 'table.exec.mini-batch.enabled' = 'true';
SET 'table.exec.mini-batch.allow-latency' = '5 s';
SET 'table.exec.mini-batch.size' = '5000';
CREATE TABLE user_behavior (user_id BIGINT, item_id BIGINT, category_id BIGINT, behavior STRING, ts TIMESTAMP(3), proctime AS PROCTIME(), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)
WITH ('connector' = 'kafka', 'topic' = 'user_behavior', 'scan.startup.mode' = 'earliest-offset', 'properties.bootstrap.servers' = 'kafka:9094', 'format' = 'json');
CREATE TABLE cumulative_uv (date_str STRING, time_str STRING, uv BIGINT, PRIMARY KEY (date_str, time_str) NOT ENFORCED)
WITH ('connector' = 'upsert-kafka', 'topic' = 'cumulative_uv', 'properties.bootstrap.servers' = 'kafka:9094', 'key.format' = 'json', 'value.format' = 'json');
INSERT INTO cumulative_uv
SELECT date_str, MAX(time_str), COUNT(DISTINCT user_id) AS uv
FROM (
  SELECT DATE_FORMAT(ts, 'yyyy-MM-dd') AS date_str, SUBSTR(DATE_FORMAT(ts, 'HH:mm'), 1, 4) || '0' AS time_str, user_id FROM user_behavior
) GROUP BY date_str;
