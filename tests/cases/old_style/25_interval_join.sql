CREATE TABLE shown (ad STRING, who STRING, at_time TIMESTAMP(3), WATERMARK FOR at_time AS at_time - INTERVAL '1' MINUTE) WITH (
  'connector.type' = 'kafka', 'connector.version' = 'universal', 'connector.topic' = 'shown',
  'connector.properties.zookeeper.connect' = 'localhost:2181',
  'connector.properties.bootstrap.servers' = 'localhost:9092',
  'format.type' = 'json'
);
CREATE TABLE clicked (ad STRING, who STRING, at_time TIMESTAMP(3), WATERMARK FOR at_time AS at_time - INTERVAL '1' MINUTE) WITH (
  'connector.type' = 'kafka', 'connector.version' = 'universal', 'connector.topic' = 'clicked',
  'connector.properties.zookeeper.connect' = 'localhost:2181',
  'connector.properties.bootstrap.servers' = 'localhost:9092',
  'format.type' = 'json'
);
CREATE TABLE worked (ad STRING, who STRING, shown_at TIMESTAMP(3)) WITH (
  'connector.type' = 'jdbc', 'connector.url' = 'jdbc:mysql://db/ads', 'connector.table' = 'worked',
  'connector.username' = 'a', 'connector.password' = 'a'
);
INSERT INTO worked
SELECT s.ad, s.who, s.at_time
FROM shown AS s JOIN clicked AS c
ON s.ad = c.ad AND s.who = c.who AND c.at_time BETWEEN s.at_time AND s.at_time + INTERVAL '10' MINUTE;
