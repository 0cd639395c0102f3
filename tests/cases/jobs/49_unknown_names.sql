-- expect: FD212 FD400 FD450 FD452
CREATE TABLE src (id INT, name STRING) WITH ('connector' = 'datagen', 'rows-per-secnd' = '5');
CREATE TABLE src2 (id INT, name STRING) WITH ('connector' = 'datagen');
CREATE TABLE p (id INT, name STRING) WITH ('connector' = 'print');
INSERT INTO p SELECT id, name FROM src;
INSERT INTO p SELECT idd, UPER(name) FROM src2;
INSERT INTO p SELECT id, name FROM sorce;
