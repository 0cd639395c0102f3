-- An upsert-kafka table as source: key and value formats, the record's time, values without the key's columns.
CREATE TABLE KafkaTable (
    `ts` TIMESTAMP(3) METADATA FROM 'timestamp',
    `user_id` BIGINT,
    `item_id` BIGINT,
    `behavior` STRING,
    PRIMARY KEY (`user_id`) NOT ENFORCED
) WITH (
    'connector' = 'upsert-kafka',
    'topic' = 'last_behavior',
    'properties.bootstrap.servers' = '${KAFKA_SERVERS}',

    'key.format' = 'json',
    'key.json.ignore-parse-errors' = 'true',

    'value.format' = 'json',
    'value.json.fail-on-missing-field' = 'false',
    'value.fields-include' = 'EXCEPT_KEY'
);

CREATE TABLE users_per_behavior (
  behavior STRING,
  users BIGINT,
  PRIMARY KEY (behavior) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = 'users_per_behavior',
  'properties.bootstrap.servers' = '${KAFKA_SERVERS}',
  'key.format' = 'json',
  'value.format' = 'json'
);

INSERT INTO users_per_behavior SELECT behavior, COUNT(*) FROM KafkaTable GROUP BY behavior;
