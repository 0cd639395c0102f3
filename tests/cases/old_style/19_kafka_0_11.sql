CREATE TABLE kafkaTable (
 id STRING,
 name STRING
) WITH (
 'connector' = 'kafka-0.11',
 'topic' = 'a',
 'properties.bootstrap.servers' = 'localhost:9092',
 'properties.zookeeper.connect' = 'localhost:2181',
 'properties.group.id' = 'testGroup',
 'format' = 'json',
 'scan.startup.mode' = 'earliest-offset'
);
CREATE TABLE kafkaTable2 (id STRING, name STRING) WITH (
 'connector' = 'kafka-0.11', 'topic' = 'b', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json'
);
INSERT INTO kafkaTable2 SELECT id, UPPER(name) FROM kafkaTable;
