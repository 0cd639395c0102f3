-- expect: FD106
CREATE TABLE events (id STRING) WITH ('connector' = 'kafka', 'topic' = '${NO_SUCH_VARIABLE}', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
CREATE TABLE p (id STRING) WITH ('connector' = 'print');
INSERT INTO p SELECT id FROM events;
