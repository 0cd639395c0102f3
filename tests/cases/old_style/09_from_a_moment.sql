CREATE TABLE app_start (
   device VARCHAR, version VARCHAR, lng FLOAT, lat FLOAT
) WITH (
   'connector.type' = 'kafka',
   'connector.version' = '0.11',
   'connector.topic' = 'app_start',
   'connector.startup-mode' = 'timestamp',
   'connector.startup-timestamp-millis' = '1571909309022',
  'connector.properties.0.key' = 'zookeeper.connect',
  'connector.properties.0.value' = 'zk1:2181,zk2:2181',
  'connector.properties.1.key' = 'bootstrap.servers',
  'connector.properties.1.value' = 'broker1:9092,broker2:9092',
   'update-mode' = 'append',
   'format.type' = 'json',
   'format.derive-schema' = 'true'
);
CREATE TABLE nothing (device VARCHAR, version VARCHAR) WITH ('connector.type' = 'blackhole');
INSERT INTO nothing SELECT device, version FROM app_start;
