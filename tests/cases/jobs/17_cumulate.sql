-- expect: fine
CREATE TABLE visits (visitor STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)
WITH ('connector' = 'kafka', 'topic' = 'visits', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'csv', 'csv.field-delimiter' = '|', 'csv.ignore-parse-errors' = 'true');
CREATE TABLE uv (time_str STRING, uv BIGINT) WITH ('connector' = 'kafka', 'topic' = 'uv', 'properties.bootstrap.servers' = 'broker:9092', 'format' = 'json');
INSERT INTO uv
SELECT DATE_FORMAT(window_end, 'yyyy-MM-dd HH:mm') AS time_str, COUNT(DISTINCT visitor)
FROM TABLE(CUMULATE(TABLE visits, DESCRIPTOR(ts), INTERVAL '1' MINUTES, INTERVAL '1' DAY))
GROUP BY window_start, window_end;
