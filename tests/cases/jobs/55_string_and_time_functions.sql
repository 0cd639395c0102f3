-- expect: fine
CREATE TABLE visits (ip STRING, ua STRING, epoch BIGINT, day_text STRING, ts AS TO_TIMESTAMP_LTZ(epoch, 3), d AS TO_DATE(day_text, 'yyyyMMdd'), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)
WITH ('connector' = 'kafka', 'topic' = 'v', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
CREATE TABLE cleaned (ip STRING, browser STRING, h BIGINT, dow BIGINT, month_start DATE, f STRING, u STRING, m STRING) WITH ('connector' = 'print');
INSERT INTO cleaned
SELECT SPLIT_INDEX(ip, '.', 0) || '.x', REGEXP_EXTRACT(ua, '(\w+)/(\d+)', 1), EXTRACT(HOUR FROM ts), DAYOFWEEK(d), FLOOR(d TO MONTH),
  FROM_UNIXTIME(epoch / 1000, 'yyyy-MM-dd HH:mm:ss'), CONCAT_WS('-', UPPER(TRIM(ua)), LPAD(CAST(epoch AS STRING), 20, '0')), MD5(ip)
FROM visits WHERE TIMESTAMPDIFF(DAY, CAST(d AS TIMESTAMP(3)), CAST(ts AS TIMESTAMP(3))) < 7;
