-- expect: fine
CREATE TABLE `my-topic.v1` (`order id` INT, `a.b` STRING, `c$d` DOUBLE, `select` STRING, `Ü` INT)
WITH ('connector' = 'kafka', 'topic' = 'my-topic.v1', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
CREATE VIEW `v 1` AS SELECT `order id` AS `id`, `a.b` AS `x-y`, `my-topic.v1`.`c$d`, `select` FROM `my-topic.v1` WHERE `Ü` > 0;
CREATE TABLE p (a INT, b STRING, c DOUBLE, d STRING) WITH ('connector' = 'print');
INSERT INTO p SELECT * FROM `v 1`;
