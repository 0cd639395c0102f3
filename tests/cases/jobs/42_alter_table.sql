-- expect: fine
CREATE TABLE t (id INT, v STRING) WITH ('connector' = 'kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
ALTER TABLE t ADD (price DECIMAL(10, 2) AFTER id, taxed AS price * 1.19);
ALTER TABLE t MODIFY v STRING COMMENT 'text';
ALTER TABLE t SET ('scan.startup.mode' = 'latest-offset', 'topic' = 'u');
ALTER TABLE t RENAME v TO note;
ALTER TABLE t RENAME TO prices;
DESCRIBE prices;
CREATE TABLE p (id INT, note STRING, taxed DECIMAL(15, 4)) WITH ('connector' = 'print');
INSERT INTO p SELECT id, note, taxed FROM prices;
DROP TABLE IF EXISTS t;
