-- expect: FD316
CREATE TABLE o (id INT, amount INT) WITH ('connector' = 'datagen');
CREATE MATERIALIZED TABLE totals FRESHNESS = INTERVAL '1' MINUTE AS SELECT id, SUM(amount) AS total FROM o GROUP BY id;
