-- One table over a list of topics, another over all topics whose name fits a pattern.
CREATE TABLE listed (
  `topic` STRING NOT NULL METADATA VIRTUAL,
  id INT
) WITH (
  'connector' = 'kafka',
  'topic' = 'topic-1;topic-2',
  'properties.bootstrap.servers' = '${KAFKA_SERVERS}',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

CREATE TABLE matched (
  `topic` STRING NOT NULL METADATA VIRTUAL,
  id INT
) WITH (
  'connector' = 'kafka',
  'topic-pattern' = 'test-topic-[0-9]',
  'properties.bootstrap.servers' = '${KAFKA_SERVERS}',
  'scan.startup.mode' = 'earliest-offset',
  'scan.topic-partition-discovery.interval' = '10 s',
  'format' = 'json'
);

SELECT * FROM listed UNION ALL SELECT * FROM matched;
