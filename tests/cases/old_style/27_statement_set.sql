CREATE TABLE input (a INT, b STRING) WITH (
  'connector.type' = 'kafka', 'connector.version' = 'universal', 'connector.topic' = 'input',
  'connector.properties.zookeeper.connect' = 'localhost:2181',
  'connector.properties.bootstrap.servers' = 'localhost:9092',
  'format.type' = 'json'
);
CREATE TABLE out_a (a INT, n BIGINT) WITH (
  'connector.type' = 'jdbc', 'connector.url' = 'jdbc:mysql://db/o', 'connector.table' = 'a',
  'connector.username' = 'o', 'connector.password' = 'o'
);
CREATE TABLE out_b (b STRING) WITH ('connector.type' = 'print');
BEGIN STATEMENT SET;
INSERT INTO out_a SELECT a, COUNT(*) FROM input GROUP BY a;
INSERT INTO out_b SELECT b FROM input;
END;
