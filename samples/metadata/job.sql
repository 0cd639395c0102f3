-- Every piece of Kafka's own data about a record as a column: time, place, headers, leader epoch, kind of time.
CREATE TABLE KafkaTable (
  `event_time` TIMESTAMP_LTZ(3) METADATA FROM 'timestamp',
  `partition` BIGINT METADATA VIRTUAL,
  `offset` BIGINT METADATA VIRTUAL,
  `topic` STRING NOT NULL METADATA VIRTUAL,
  `headers` MAP<STRING, BYTES> METADATA VIRTUAL,
  `epoch` INT METADATA FROM 'leader-epoch' VIRTUAL,
  `kind` STRING METADATA FROM 'timestamp-type' VIRTUAL,
  `user_id` BIGINT,
  `item_id` BIGINT,
  `behavior` STRING
) WITH (
  'connector' = 'kafka',
  'topic' = 'user_behavior',
  'properties.bootstrap.servers' = '${KAFKA_SERVERS}',
  'properties.group.id' = 'testGroup',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'csv'
);

SELECT event_time, `topic`, `partition`, `offset`, CAST(headers['from'] AS STRING) AS `from`, epoch, kind,
  user_id, item_id, behavior
FROM KafkaTable;
