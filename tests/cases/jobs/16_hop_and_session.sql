-- expect: fine
CREATE TABLE events (user_id STRING, page STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '2' SECOND)
WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
CREATE TABLE sliding (page STRING, s TIMESTAMP(3), e TIMESTAMP(3), n BIGINT) WITH ('connector' = 'print');
CREATE TABLE sessions (user_id STRING, s TIMESTAMP(3), e TIMESTAMP(3), pages BIGINT) WITH ('connector' = 'print');
INSERT INTO sliding SELECT page, HOP_START(ts, INTERVAL '1' MINUTE, INTERVAL '5' MINUTE), HOP_END(ts, INTERVAL '1' MINUTE, INTERVAL '5' MINUTE), COUNT(*)
FROM events GROUP BY page, HOP(ts, INTERVAL '1' MINUTE, INTERVAL '5' MINUTE);
INSERT INTO sessions SELECT user_id, window_start, window_end, COUNT(DISTINCT page)
FROM TABLE(SESSION(TABLE events PARTITION BY user_id, DESCRIPTOR(ts), INTERVAL '15' MINUTE))
GROUP BY user_id, window_start, window_end;
