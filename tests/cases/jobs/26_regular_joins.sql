-- expect: fine
CREATE TABLE a (id INT, x STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'upsert-kafka', 'topic' = 'a', 'properties.bootstrap.servers' = 'broker:9092', 'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE b (id INT, y STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'upsert-kafka', 'topic' = 'b', 'properties.bootstrap.servers' = 'broker:9092', 'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE c (id INT, z STRING) WITH ('connector' = 'kafka', 'topic' = 'c', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
CREATE TABLE wide (id INT, x STRING, y STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'upsert-kafka', 'topic' = 'wide', 'properties.bootstrap.servers' = 'broker:9092', 'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE both_sides (id INT, z STRING, y STRING) WITH ('connector' = 'print');
INSERT INTO wide SELECT a.id, a.x, b.y FROM a LEFT JOIN b ON a.id = b.id;
INSERT INTO both_sides SELECT COALESCE(c.id, b.id), z, y FROM c FULL OUTER JOIN b USING (id);
