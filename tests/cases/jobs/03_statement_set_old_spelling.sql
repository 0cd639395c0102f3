-- expect: fine
CREATE TABLE src (id INT, v STRING) WITH ('connector' = 'datagen', 'number-of-rows' = '100');
CREATE TABLE a (id INT, v STRING) WITH ('connector' = 'blackhole');
CREATE TABLE b (id INT) WITH ('connector' = 'blackhole');

BEGIN STATEMENT SET;
INSERT INTO a SELECT id, v FROM src;
INSERT INTO b SELECT id FROM src WHERE id > 10;
END;
