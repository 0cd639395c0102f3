CREATE TABLE users (
  user_name STRING,
  is_new BOOLEAN,
  content STRING
) WITH (
  'connector.type' = 'kafka',
  'connector.version' = '0.10',
  'connector.topic' = 'users',
  'connector.properties.zookeeper.connect' = 'localhost:2181',
  'connector.properties.bootstrap.servers' = 'localhost:9092',
  'connector.properties.group.id' = 'users_1',
  'connector.startup-mode' = 'earliest-offset',
  'format.type' = 'avro',
  'format.avro-schema' =
    '{
      "type": "record",
      "name": "UserAvro",
      "fields": [
        {"name": "user_name", "type": "string"},
        {"name": "is_new", "type": "boolean"},
        {"name": "content", "type": ["null", "string"]}
      ]
    }'
);
CREATE TABLE new_users (user_name STRING, content STRING) WITH (
  'connector.type' = 'kafka', 'connector.version' = '0.10', 'connector.topic' = 'new_users',
  'connector.properties.zookeeper.connect' = 'localhost:2181',
  'connector.properties.bootstrap.servers' = 'localhost:9092',
  'format.type' = 'avro',
  'format.avro-schema' = '{"type": "record", "name": "N", "fields": [{"name": "user_name", "type": ["null", "string"]}, {"name": "content", "type": ["null", "string"]}]}'
);
INSERT INTO new_users SELECT user_name, content FROM users WHERE is_new;
