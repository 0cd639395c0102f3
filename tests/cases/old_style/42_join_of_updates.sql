CREATE TABLE l (id INT, a STRING) WITH (
  'connector.type' = 'kafka', 'connector.version' = 'universal', 'connector.topic' = 'l',
  'connector.properties.zookeeper.connect' = 'localhost:2181',
  'connector.properties.bootstrap.servers' = 'localhost:9092',
  'format.type' = 'json'
);
CREATE TABLE r (id INT, b INT) WITH (
  'connector.type' = 'kafka', 'connector.version' = 'universal', 'connector.topic' = 'r',
  'connector.properties.zookeeper.connect' = 'localhost:2181',
  'connector.properties.bootstrap.servers' = 'localhost:9092',
  'format.type' = 'json'
);
CREATE TABLE joined (id INT, n_l BIGINT, n_r BIGINT) WITH (
  'connector.type' = 'jdbc', 'connector.url' = 'jdbc:mysql://db/j', 'connector.table' = 'joined',
  'connector.username' = 'j', 'connector.password' = 'j', 'connector.write.flush.interval' = '0s'
);
INSERT INTO joined
SELECT x.id, x.n, y.n
FROM (SELECT id, COUNT(*) AS n FROM l GROUP BY id) AS x
JOIN (SELECT id, COUNT(*) AS n FROM r GROUP BY id) AS y ON x.id = y.id;
