-- Flink 1.11 with tables of 1.10: where one query begins is said in a hint
SET table.dynamic-table-options.enabled=true;

CREATE TABLE clicks (
  user_id VARCHAR,
  url     VARCHAR,
  at_ms   BIGINT
) WITH (
  'connector.type' = 'kafka',
  'connector.version' = '0.11',
  'connector.topic' = 'clicks',
  'connector.startup-mode' = 'latest-offset',
  'connector.properties.zookeeper.connect' = 'localhost:2181',
  'connector.properties.bootstrap.servers' = 'localhost:9092',
  'connector.properties.group.id' = 'clicks',
  'update-mode' = 'append',
  'format.type' = 'csv'
);

CREATE TABLE users (
  user_id VARCHAR,
  name    VARCHAR
) WITH (
  'connector.type' = 'filesystem',
  'connector.path' = 'file:///data/users.csv',
  'format.type' = 'csv'
);

CREATE TABLE out_clicks (
  name VARCHAR,
  url  VARCHAR
) WITH (
  'connector.type' = 'kafka',
  'connector.version' = '0.11',
  'connector.topic' = 'out_clicks',
  'connector.properties.bootstrap.servers' = 'localhost:9092',
  'update-mode' = 'append',
  'format.type' = 'csv'
);

INSERT INTO out_clicks /*+ OPTIONS('connector.sink-partitioner' = 'round-robin') */
SELECT u.name, c.url
FROM clicks /*+ OPTIONS('connector.startup-mode' = 'earliest-offset', 'connector.properties.group.id' = 'again') */ AS c
JOIN users /*+ OPTIONS('connector.path' = 'file:///data/users2.csv') */ AS u ON c.user_id = u.user_id;

-- the rest, from an offset
INSERT INTO out_clicks
SELECT user_id, url
FROM clicks /*+ OPTIONS(
    'connector.startup-mode' = 'specific-offsets',
    'connector.specific-offsets.0.partition' = '0',
    'connector.specific-offsets.0.offset' = '42',
    'update-mode' = 'append'
  ) */
WHERE url <> '';
