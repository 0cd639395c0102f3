-- expect: FD401 FD405 FD480 FD481
CREATE TABLE src (id INT, name STRING, ts TIMESTAMP(3)) WITH ('connector' = 'datagen');
CREATE TABLE p (id INT, name STRING) WITH ('connector' = 'print');
INSERT INTO p SELECT id FROM src;
INSERT INTO p SELECT name, id FROM src;
INSERT INTO p SELECT CAST(ts AS INT), name FROM src;
INSERT INTO p SELECT id + name, name FROM src;
