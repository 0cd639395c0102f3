-- expect: fine
CREATE TABLE src (k STRING, v INT) WITH ('connector' = 'datagen', 'number-of-rows' = '5');
CREATE TABLE p (k STRING, v INT) WITH ('connector' = 'print');
COMPILE PLAN '/tmp/flinkddl-case-64.json' IF NOT EXISTS FOR INSERT INTO p SELECT k, v FROM src WHERE v > 0;
