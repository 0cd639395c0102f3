CREATE TABLE north (id INT, v DOUBLE) WITH (
  'connector.type' = 'kafka', 'connector.version' = 'universal', 'connector.topic' = 'north',
  'connector.properties.zookeeper.connect' = 'localhost:2181',
  'connector.properties.bootstrap.servers' = 'localhost:9092',
  'format.type' = 'json'
);
CREATE TABLE south (id INT, v DOUBLE) WITH (
  'connector.type' = 'kafka', 'connector.version' = 'universal', 'connector.topic' = 'south',
  'connector.properties.zookeeper.connect' = 'localhost:2181',
  'connector.properties.bootstrap.servers' = 'localhost:9092',
  'format.type' = 'csv'
);
CREATE TABLE both_of (id INT, v DOUBLE) WITH (
  'connector.type' = 'kafka', 'connector.version' = 'universal', 'connector.topic' = 'both_of',
  'connector.properties.zookeeper.connect' = 'localhost:2181',
  'connector.properties.bootstrap.servers' = 'localhost:9092',
  'format.type' = 'json'
);
INSERT INTO both_of SELECT * FROM north UNION ALL SELECT * FROM south;
