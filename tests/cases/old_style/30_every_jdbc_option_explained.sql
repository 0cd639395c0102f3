CREATE TABLE stream (user_id INT, name STRING, age INT) WITH (
  'connector.type' = 'kafka', 'connector.version' = 'universal', 'connector.topic' = 'stream',
  'connector.properties.zookeeper.connect' = 'localhost:2181',
  'connector.properties.bootstrap.servers' = 'localhost:9092',
  'format.type' = 'json'
);
CREATE TABLE local_sink (
  user_id INT,
  name STRING,
  age INT
) WITH (
  'connector.type' = 'jdbc', -- required: specify this table type is jdbc
  'connector.url' = 'jdbc:mysql://127.0.0.1:3306/test?useSSL=false', -- required: where it is
  'connector.table' = 'local_user',  -- required: its name there
  -- optional: the class of the driver;
  -- otherwise found by the URL.
  'connector.driver' = 'com.mysql.jdbc.Driver',
  -- optional: who
  'connector.username' = 'root',
  'connector.password' = '123456',
--   'connector.read.fetch-size' = '100',
  -- **of writing**
  'connector.write.flush.max-rows' = '1',
  -- milliseconds
  'connector.write.flush.interval' = '1s',
  -- how often it tries
  'connector.write.max-retries' = '3'
--   'update-mode' = 'upsert'  -- otherwise: 'retract' or 'upsert'
);
INSERT INTO local_sink SELECT user_id, name, age FROM stream;
