CREATE TABLE transfers (
  account STRING, amount DOUBLE, trade_time TIMESTAMP(3), proctime AS PROCTIME(), code STRING,
  WATERMARK FOR trade_time AS trade_time - INTERVAL '0' SECOND
) WITH ('connector.type' = 'kafka','connector.version' = '0.11','connector.topic' = 'transfers','connector.properties.zookeeper.connect' = 'localhost:2181','connector.properties.bootstrap.servers' = 'localhost:9092','connector.properties.group.id' = 't123','connector.startup-mode' = 'latest-offset','format.type' = 'json');
CREATE TABLE rules (account STRING, in_20_minutes DOUBLE) WITH ('connector.type' = 'kafka','connector.version' = '0.11','connector.topic' = 'rules','connector.properties.zookeeper.connect' = 'localhost:2181','connector.properties.bootstrap.servers' = 'localhost:9092','connector.sink-partitioner' = 'round-robin','format.type' = 'json');
INSERT INTO rules
SELECT account, SUM(amount) FROM transfers GROUP BY account, HOP(trade_time, INTERVAL '1' MINUTE, INTERVAL '20' MINUTE);
