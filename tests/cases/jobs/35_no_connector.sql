-- expect: FD201
CREATE TABLE nothing (id INT);
CREATE TABLE p (id INT) WITH ('connector' = 'print');
INSERT INTO p SELECT id FROM nothing;
