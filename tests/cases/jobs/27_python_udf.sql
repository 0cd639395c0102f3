-- expect: fine
CREATE TEMPORARY FUNCTION mask AS 'tests.functions.udfs.annotated' LANGUAGE PYTHON;
CREATE TABLE src (id INT, email STRING) WITH ('connector' = 'datagen', 'number-of-rows' = '5');
CREATE TABLE snk (id INT, email STRING) WITH ('connector' = 'print');
INSERT INTO snk SELECT id, mask(id, 0.5E0) FROM src;
