CREATE TABLE sales (shop STRING, item STRING, amount DOUBLE) WITH (
  'connector.type' = 'kafka', 'connector.version' = 'universal', 'connector.topic' = 'sales',
  'connector.properties.0.key' = 'zookeeper.connect',
  'connector.properties.0.value' = 'zk1:2181,zk2:2181',
  'connector.properties.1.key' = 'bootstrap.servers',
  'connector.properties.1.value' = 'broker1:9092,broker2:9092',
  'format.type' = 'json'
);
CREATE TABLE best (
  shop STRING,
  item STRING,
  total DOUBLE,
  place BIGINT
) WITH (
  'connector.type' = 'jdbc',
  'connector.url' = 'jdbc:mysql://db:3306/best',
  'connector.table' = 'best',
  'connector.username' = 'b',
  'connector.password' = 'b',
  'connector.write.flush.interval' = '2s',
  'connector.write.max-retries' = '3'
);
INSERT INTO best
SELECT shop, item, total, place FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY shop ORDER BY total DESC) AS place
  FROM (SELECT shop, item, SUM(amount) AS total FROM sales GROUP BY shop, item)
) WHERE place <= 3;
