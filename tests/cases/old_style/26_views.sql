CREATE TABLE raw_log (line VARCHAR, host VARCHAR, code INT) WITH (
  'connector.type' = 'kafka', 'connector.version' = 'universal', 'connector.topic' = 'raw_log',
  'connector.properties.0.key' = 'zookeeper.connect',
  'connector.properties.0.value' = 'zk1:2181,zk2:2181',
  'connector.properties.1.key' = 'bootstrap.servers',
  'connector.properties.1.value' = 'broker1:9092,broker2:9092',
  'format.type' = 'json', 'format.derive-schema' = 'true'
);
CREATE VIEW failed AS SELECT host, code FROM raw_log WHERE code >= 500;
CREATE VIEW failures AS SELECT host, COUNT(*) AS n FROM failed GROUP BY host;
CREATE TABLE failures_table (host VARCHAR, n BIGINT) WITH (
  'connector.type' = 'jdbc', 'connector.url' = 'jdbc:mysql://db/log', 'connector.table' = 'failures',
  'connector.username' = 'l', 'connector.password' = 'l'
);
INSERT INTO failures_table SELECT host, n FROM failures WHERE n > 10;
