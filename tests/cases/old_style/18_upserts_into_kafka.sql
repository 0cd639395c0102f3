CREATE TABLE scores (player STRING, points INT) WITH (
  'connector.type' = 'kafka', 'connector.version' = 'universal', 'connector.topic' = 'scores',
  'connector.properties.zookeeper.connect' = 'localhost:2181',
  'connector.properties.bootstrap.servers' = 'localhost:9092',
  'connector.startup-mode' = 'earliest-offset', 'format.type' = 'json'
);
CREATE TABLE totals (
  player STRING,
  points BIGINT
) WITH (
  'connector.type' = 'kafka',
  'connector.version' = 'universal',
  'connector.topic' = 'totals',
  'connector.properties.zookeeper.connect' = 'localhost:2181',
  'connector.properties.bootstrap.servers' = 'localhost:9092',
  'update-mode' = 'upsert',
  'format.type' = 'json'
);
INSERT INTO totals SELECT player, SUM(CAST(points AS BIGINT)) FROM scores GROUP BY player;
