CREATE TABLE changes (
  id BIGINT, v STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
) WITH (
  'connector.type' = 'kafka', 'connector.version' = 'universal', 'connector.topic' = 'changes',
  'connector.properties.0.key' = 'zookeeper.connect',
  'connector.properties.0.value' = 'zk1:2181,zk2:2181',
  'connector.properties.1.key' = 'bootstrap.servers',
  'connector.properties.1.value' = 'broker1:9092,broker2:9092',
  'connector.startup-mode' = 'earliest-offset', 'format.type' = 'json', 'update-mode' = 'append'
);
CREATE TABLE newest (id BIGINT, v STRING, ts TIMESTAMP(3)) WITH (
  'connector.type' = 'jdbc', 'connector.url' = 'jdbc:postgresql://pg/n', 'connector.table' = 'newest',
  'connector.username' = 'n', 'connector.password' = 'n'
);
INSERT INTO newest
SELECT id, v, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY id ORDER BY ts DESC) AS rn FROM changes) WHERE rn = 1;
