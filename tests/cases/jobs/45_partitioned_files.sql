-- expect: fine
SET 'execution.runtime-mode' = 'batch';
CREATE TABLE raw_events (id BIGINT, dt STRING, hr INT, body STRING) PARTITIONED BY (dt, hr)
WITH ('connector' = 'filesystem', 'path' = '/data/raw', 'format' = 'json');
CREATE TABLE daily (n BIGINT, dt STRING) PARTITIONED BY (dt) WITH ('connector' = 'filesystem', 'path' = '/data/daily', 'format' = 'csv');
INSERT INTO daily PARTITION (dt = '2024-02-29') SELECT COUNT(*) FROM raw_events WHERE dt = '2024-02-29';
INSERT INTO daily SELECT COUNT(*), dt FROM raw_events GROUP BY dt;
