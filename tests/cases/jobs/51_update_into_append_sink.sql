-- expect: FD550
CREATE TABLE src (k STRING, v INT) WITH ('connector' = 'kafka', 'topic' = 's', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
CREATE TABLE appends (k STRING, total INT) WITH ('connector' = 'kafka', 'topic' = 'a', 'properties.bootstrap.servers' = 'broker:9092', 'format' = 'json');
INSERT INTO appends SELECT k, SUM(v) FROM src GROUP BY k;
