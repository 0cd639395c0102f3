-- expect: fine
CREATE TABLE impressions (ad STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' MINUTE) WITH ('connector' = 'kafka', 'topic' = 'i', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
CREATE TABLE clicks (ad STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' MINUTE) WITH ('connector' = 'kafka', 'topic' = 'c', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
CREATE TABLE ctr (ad STRING, s TIMESTAMP(3), e TIMESTAMP(3), shown BIGINT, clicked BIGINT) WITH ('connector' = 'print');
CREATE VIEW shown AS SELECT ad, window_start, window_end, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE impressions, DESCRIPTOR(ts), INTERVAL '5' MINUTES)) GROUP BY ad, window_start, window_end;
CREATE VIEW clicked AS SELECT ad, window_start, window_end, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '5' MINUTES)) GROUP BY ad, window_start, window_end;
INSERT INTO ctr
SELECT l.ad, l.window_start, l.window_end, l.n, r.n
FROM shown l JOIN clicked r ON l.ad = r.ad AND l.window_start = r.window_start AND l.window_end = r.window_end;
