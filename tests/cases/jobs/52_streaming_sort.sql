-- expect: FD508
CREATE TABLE src (k STRING, v INT) WITH ('connector' = 'kafka', 'topic' = 's', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
CREATE TABLE p (k STRING, v INT) WITH ('connector' = 'print');
INSERT INTO p SELECT k, v FROM src ORDER BY v;
