-- A value format only: the record's key is not looked at; broken values are passed over.
CREATE TABLE KafkaTable (
  `ts` TIMESTAMP_LTZ(3) METADATA FROM 'timestamp',
  `user_id` BIGINT,
  `item_id` BIGINT,
  `behavior` STRING
) WITH (
  'connector' = 'kafka',
  'topic' = 'values_only',
  'properties.bootstrap.servers' = '${KAFKA_SERVERS}',
  'format' = 'json',
  'json.ignore-parse-errors' = 'true'
);

SELECT * FROM KafkaTable;
