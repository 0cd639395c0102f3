-- expect: fine
CREATE TABLE logins (user_id STRING, ip STRING, ok BOOLEAN, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)
WITH ('connector' = 'kafka', 'topic' = 'logins', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
CREATE VIEW failed AS SELECT user_id, ip, ts FROM logins WHERE NOT ok;
CREATE VIEW failed_per_minute AS
SELECT user_id, TUMBLE_START(ts, INTERVAL '1' MINUTE) AS minute_start, TUMBLE_ROWTIME(ts, INTERVAL '1' MINUTE) AS rt, COUNT(*) AS n
FROM failed GROUP BY user_id, TUMBLE(ts, INTERVAL '1' MINUTE);
CREATE VIEW failed_per_hour (user_id, hour_start, worst_minute) AS
SELECT user_id, TUMBLE_START(rt, INTERVAL '1' HOUR), MAX(n) FROM failed_per_minute GROUP BY user_id, TUMBLE(rt, INTERVAL '1' HOUR);
CREATE TABLE alerts (user_id STRING, hour_start TIMESTAMP(3), worst BIGINT) WITH ('connector' = 'kafka', 'topic' = 'alerts', 'properties.bootstrap.servers' = 'broker:9092', 'format' = 'json');
INSERT INTO alerts SELECT * FROM failed_per_hour WHERE worst_minute > 10;
