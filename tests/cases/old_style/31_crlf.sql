CREATE TABLE a (x INT, y STRING) WITH (
  'connector.type' = 'kafka',
  'connector.version' = 'universal',
  'connector.topic' = 'a',
  'connector.properties.zookeeper.connect' = 'localhost:2181',
  'connector.properties.bootstrap.servers' = 'localhost:9092',
  'format.type' = 'csv'
);
CREATE TABLE b (y STRING, n BIGINT) WITH (
  'connector.type' = 'jdbc',
  'connector.url' = 'jdbc:mysql://db/b',
  'connector.table' = 'b'
);
INSERT INTO b SELECT y, COUNT(*) FROM a GROUP BY y;
