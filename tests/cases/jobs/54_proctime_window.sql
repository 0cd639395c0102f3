-- expect: fine
CREATE TABLE src (k STRING, v INT, pt AS PROCTIME()) WITH ('connector' = 'kafka', 'topic' = 's', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'latest-offset', 'format' = 'json');
CREATE TABLE p (k STRING, s TIMESTAMP(3), total INT) WITH ('connector' = 'print');
INSERT INTO p SELECT k, TUMBLE_START(pt, INTERVAL '10' SECOND), SUM(v) FROM src GROUP BY k, TUMBLE(pt, INTERVAL '10' SECOND);
