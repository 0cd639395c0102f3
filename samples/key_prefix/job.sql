-- Key and value both have a field `version`: a prefix tells the columns apart, the records keep the plain names.
CREATE TABLE KafkaTable (
  `k_version` INT,
  `k_user_id` BIGINT,
  `k_item_id` BIGINT,
  `version` INT,
  `behavior` STRING
) WITH (
  'connector' = 'kafka',
  'topic' = 'versions',
  'properties.bootstrap.servers' = '${KAFKA_SERVERS}',

  'key.format' = 'json',
  'key.fields-prefix' = 'k_',
  'key.fields' = 'k_version;k_user_id;k_item_id',

  'value.format' = 'json',
  'value.fields-include' = 'EXCEPT_KEY'
);

CREATE TABLE raised WITH ('topic' = 'versions_raised') LIKE KafkaTable;

INSERT INTO raised SELECT k_version + 1, k_user_id, k_item_id, version + 10, behavior FROM KafkaTable;
