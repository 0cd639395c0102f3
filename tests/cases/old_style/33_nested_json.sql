CREATE TABLE json_source (
    rowtime TIMESTAMP(3),
    user_name VARCHAR,
    event ROW<message_type VARCHAR, message VARCHAR, sent TIMESTAMP(3)>,
    tags ARRAY<STRING>,
    normal MAP<STRING, STRING>
) WITH (
    'connector.type' = 'kafka',
    'connector.version' = 'universal',
    'connector.topic' = 'test-json',
    'connector.startup-mode' = 'earliest-offset',
  'connector.properties.0.key' = 'zookeeper.connect',
  'connector.properties.0.value' = 'zk1:2181,zk2:2181',
  'connector.properties.1.key' = 'bootstrap.servers',
  'connector.properties.1.value' = 'broker1:9092,broker2:9092',
    'update-mode' = 'append',
    'format.type' = 'json',
    'format.derive-schema' = 'true'
);
CREATE TABLE json_sink (
    user_name VARCHAR,
    event ROW<message_type VARCHAR, message VARCHAR, sent TIMESTAMP(3)>,
    first_tag STRING
) WITH (
    'connector.type' = 'kafka',
    'connector.version' = 'universal',
    'connector.topic' = 'test-enriched',
  'connector.properties.0.key' = 'zookeeper.connect',
  'connector.properties.0.value' = 'zk1:2181,zk2:2181',
  'connector.properties.1.key' = 'bootstrap.servers',
  'connector.properties.1.value' = 'broker1:9092,broker2:9092',
    'update-mode' = 'append',
    'format.type' = 'json'
);
INSERT INTO json_sink SELECT user_name, event, tags[1] FROM json_source WHERE normal['level'] = 'high';
