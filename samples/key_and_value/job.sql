-- Key and value formats: the key's columns are read from the key and stand in the value too (ALL).
CREATE TABLE KafkaTable (
  `ts` TIMESTAMP_LTZ(3) METADATA FROM 'timestamp',
  `user_id` BIGINT,
  `item_id` BIGINT,
  `behavior` STRING
) WITH (
  'connector' = 'kafka',
  'topic' = 'keys_and_values',
  'properties.bootstrap.servers' = '${KAFKA_SERVERS}',

  'key.format' = 'json',
  'key.json.ignore-parse-errors' = 'true',
  'key.fields' = 'user_id;item_id',

  'value.format' = 'json',
  'value.json.fail-on-missing-field' = 'false',
  'value.fields-include' = 'ALL'
);

CREATE TABLE copies (
  `user_id` BIGINT,
  `item_id` BIGINT,
  `behavior` STRING
) WITH (
  'connector' = 'kafka',
  'topic' = 'keys_and_values_copies',
  'properties.bootstrap.servers' = '${KAFKA_SERVERS}',
  'key.format' = 'json',
  'key.fields' = 'user_id;item_id',
  'value.format' = 'json'
);

INSERT INTO copies SELECT user_id, item_id, behavior FROM KafkaTable;
