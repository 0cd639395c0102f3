-- expect: fine
SET 'execution.runtime-mode' = 'batch';
CREATE TABLE a (id INT, v STRING) WITH ('connector' = 'filesystem', 'path' = '/tmp/a', 'format' = 'csv');
CREATE TABLE b (id INT, v STRING) WITH ('connector' = 'filesystem', 'path' = '/tmp/b', 'format' = 'json');
CREATE TABLE o (id INT, v STRING) WITH ('connector' = 'filesystem', 'path' = '/tmp/o', 'format' = 'parquet');
INSERT INTO o (SELECT * FROM a UNION SELECT * FROM b) INTERSECT SELECT * FROM a EXCEPT (SELECT id, v FROM b WHERE id < 0);
INSERT OVERWRITE o SELECT id, v FROM a ORDER BY id DESC LIMIT 10 OFFSET 2;
