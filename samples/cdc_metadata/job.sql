-- Metadata of the format (value.source.*) and of the connector on one CDC table, and what they say per table of origin.
CREATE TABLE KafkaTable (
  `event_time` TIMESTAMP_LTZ(3) METADATA FROM 'value.source.timestamp' VIRTUAL,  -- from Debezium format
  `origin_table` STRING METADATA FROM 'value.source.table' VIRTUAL, -- from Debezium format
  `partition_id` BIGINT METADATA FROM 'partition' VIRTUAL,  -- from Kafka connector
  `offset` BIGINT METADATA VIRTUAL,  -- from Kafka connector
  `user_id` BIGINT,
  `item_id` BIGINT,
  `behavior` STRING
) WITH (
  'connector' = 'kafka',
  'topic' = 'user_behavior_cdc',
  'properties.bootstrap.servers' = '${KAFKA_SERVERS}',
  'properties.group.id' = 'testGroup',
  'scan.startup.mode' = 'earliest-offset',
  'value.format' = 'debezium-json'
);

CREATE TABLE seen (
  origin_table STRING,
  rows_now BIGINT,
  newest TIMESTAMP_LTZ(3),
  last_offset BIGINT,
  PRIMARY KEY (origin_table) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = 'user_behavior_seen',
  'properties.bootstrap.servers' = '${KAFKA_SERVERS}',
  'key.format' = 'json',
  'value.format' = 'json'
);

INSERT INTO seen
SELECT origin_table, COUNT(*), MAX(event_time), MAX(`offset`) FROM KafkaTable GROUP BY origin_table;
