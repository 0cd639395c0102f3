CREATE TABLE people (
  full_name VARCHAR,
  age INT
) WITH (
  'connector.type' = 'kafka', 'connector.version' = 'universal', 'connector.topic' = 'people',
  'connector.properties.0.key' = 'zookeeper.connect',
  'connector.properties.0.value' = 'zk1:2181,zk2:2181',
  'connector.properties.1.key' = 'bootstrap.servers',
  'connector.properties.1.value' = 'broker1:9092,broker2:9092',
  'schema.0.from' = 'fullName',
  'format.type' = 'json'
);
CREATE TABLE adults (full_name VARCHAR, age INT) WITH ('connector' = 'print');
INSERT INTO adults SELECT full_name, age FROM people WHERE age >= 18;
