CREATE TABLE training (
    attrib1 DOUBLE,
    label INT,
    ts BIGINT,
    rowtime AS TO_TIMESTAMP(FROM_UNIXTIME(ts, 'yyyy-MM-dd HH:mm:ss')),
    WATERMARK FOR rowtime AS rowtime - INTERVAL '5' SECOND
) WITH (
    'connector' = 'kafka-0.10',
    'topic' = 'training',
    'scan.startup.mode' = 'latest-offset',
    'properties.bootstrap.servers' = 'kafka:9092',
    'properties.zookeeper.connect' = 'zookeeper:2181',
    'format' = 'json'
);
CREATE TABLE averages (label INT, a DOUBLE) WITH ('connector' = 'print');
INSERT INTO averages SELECT label, AVG(attrib1) FROM training GROUP BY label, TUMBLE(rowtime, INTERVAL '10' SECOND);
