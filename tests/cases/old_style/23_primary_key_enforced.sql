CREATE TABLE prices (product VARCHAR, price DECIMAL(10, 2)) WITH (
  'connector.type' = 'kafka', 'connector.version' = 'universal', 'connector.topic' = 'prices',
  'connector.properties.zookeeper.connect' = 'localhost:2181',
  'connector.properties.bootstrap.servers' = 'localhost:9092',
  'format.type' = 'json', 'format.ignore-parse-errors' = 'true'
);
CREATE TABLE highest (
  product VARCHAR,
  price DECIMAL(10, 2),
  PRIMARY KEY (product)
) WITH (
  'connector.type' = 'jdbc', 'connector.url' = 'jdbc:mysql://db/p', 'connector.table' = 'highest',
  'connector.username' = 'p', 'connector.password' = 'p', 'connector.write.flush.max-rows' = '5000'
);
INSERT INTO highest SELECT product, MAX(price) FROM prices GROUP BY product;
