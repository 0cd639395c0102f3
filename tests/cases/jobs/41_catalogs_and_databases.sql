-- expect: fine
CREATE CATALOG lake WITH ('type' = 'generic_in_memory');
USE CATALOG lake;
CREATE DATABASE IF NOT EXISTS bronze COMMENT 'raw';
USE bronze;
CREATE TABLE src (id INT, v STRING) WITH ('connector' = 'datagen', 'number-of-rows' = '3');
CREATE TABLE lake.`default`.snk (id INT, v STRING) WITH ('connector' = 'print');
SHOW CURRENT CATALOG;
SHOW TABLES LIKE 's%';
INSERT INTO lake.`default`.snk SELECT * FROM lake.bronze.src;
DROP TABLE src;
