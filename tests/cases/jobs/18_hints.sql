-- expect: fine
CREATE TABLE t (id INT, v STRING, p AS PROCTIME()) WITH ('connector' = 'kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'broker:9092', 'format' = 'json');
CREATE TABLE dim (id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'jdbc', 'url' = 'jdbc:mysql://db/x', 'table-name' = 'dim', 'lookup.cache' = 'PARTIAL', 'lookup.partial-cache.max-rows' = '1000');
CREATE TABLE o (id INT, v STRING, name STRING) WITH ('connector' = 'print');
INSERT INTO o
SELECT /*+ STATE_TTL('t' = '1d') */ t.id, t.v, dim.name
FROM t /*+ OPTIONS('scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset') */
LEFT JOIN dim FOR SYSTEM_TIME AS OF t.p ON t.id = dim.id;
