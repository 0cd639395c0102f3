-- expect: fine
CREATE FUNCTION split_words AS 'tests.functions.udfs.words' LANGUAGE PYTHON;
CREATE TABLE lines (id INT, body STRING) WITH ('connector' = 'kafka', 'topic' = 'l', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
CREATE TABLE counts (word STRING, n BIGINT, PRIMARY KEY (word) NOT ENFORCED) WITH ('connector' = 'upsert-kafka', 'topic' = 'w', 'properties.bootstrap.servers' = 'broker:9092', 'key.format' = 'json', 'value.format' = 'json');
INSERT INTO counts
SELECT w.word, COUNT(*) FROM lines, LATERAL TABLE(split_words(body)) AS w (word, size) WHERE w.size > 3 GROUP BY w.word;
