CREATE TABLE src (k STRING, v INT) WITH (
  'connector.type' = 'kafka', 'connector.version' = 'universal', 'connector.topic' = 'src',
  'connector.properties.0.key' = 'zookeeper.connect',
  'connector.properties.0.value' = 'zk1:2181,zk2:2181',
  'connector.properties.1.key' = 'bootstrap.servers',
  'connector.properties.1.value' = 'broker1:9092,broker2:9092',
  'format.type' = 'json'
);
CREATE TABLE dst (note STRING, total INT, k STRING) WITH (
  'connector.type' = 'jdbc', 'connector.url' = 'jdbc:mysql://db/d', 'connector.table' = 'dst',
  'connector.username' = 'd', 'connector.password' = 'd'
);
INSERT INTO dst (k, total) SELECT k, SUM(v) FROM src GROUP BY k;
