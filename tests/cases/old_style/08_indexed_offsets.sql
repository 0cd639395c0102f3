CREATE TABLE readings (id STRING, temp DOUBLE) WITH (
  'connector.type' = 'kafka',
  'connector.version' = 'universal',
  'connector.topic' = 'readings',
  'connector.startup-mode' = 'specific-offsets',
  -- where the last run ended
  'connector.specific-offsets.0.partition' = '0',
  'connector.specific-offsets.0.offset' = '42',
  'connector.specific-offsets.1.partition' = '1',
  'connector.specific-offsets.1.offset' = '300',
  'connector.properties.0.key' = 'zookeeper.connect',
  'connector.properties.0.value' = 'zk1:2181,zk2:2181',
  'connector.properties.1.key' = 'bootstrap.servers',
  'connector.properties.1.value' = 'broker1:9092,broker2:9092',
  'format.type' = 'json',
  'format.fail-on-missing-field' = 'true'
);
CREATE TABLE hot (id STRING, temp DOUBLE) WITH ('connector.type' = 'print');
INSERT INTO hot SELECT id, temp FROM readings WHERE temp > 30;
