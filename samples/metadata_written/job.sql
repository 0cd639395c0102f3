-- Metadata that is written: a record's time and headers come from columns of the query.
CREATE TABLE KafkaTable (
  `event_time` TIMESTAMP_LTZ(3) METADATA FROM 'timestamp',
  `partition` BIGINT METADATA VIRTUAL,
  `offset` BIGINT METADATA VIRTUAL,
  `user_id` BIGINT,
  `item_id` BIGINT,
  `behavior` STRING
) WITH (
  'connector' = 'kafka',
  'topic' = 'timed_behavior',
  'properties.bootstrap.servers' = '${KAFKA_SERVERS}',
  'properties.group.id' = 'testGroup',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'csv'
);

CREATE TABLE later (
  `event_time` TIMESTAMP_LTZ(3) METADATA FROM 'timestamp',
  `headers` MAP<STRING, BYTES> METADATA,
  `user_id` BIGINT,
  `behavior` STRING
) WITH (
  'connector' = 'kafka',
  'topic' = 'timed_behavior_later',
  'properties.bootstrap.servers' = '${KAFKA_SERVERS}',
  'format' = 'csv'
);

INSERT INTO later
SELECT event_time + INTERVAL '1' HOUR, MAP['item', CAST(CAST(item_id AS STRING) AS BYTES)], user_id, behavior
FROM KafkaTable;
