-- A JSON topic, from the moment the job starts, into a keyed table: the example of Tencent's Oceanus.
CREATE TABLE `kafka_json_source_table` (
  `id` INT,
  `name` STRING
) WITH (
  'connector' = 'kafka',
  'topic' = 'Data-Input',
  'scan.startup.mode' = 'latest-offset', -- or earliest-offset, specific-offsets, group-offsets, timestamp
  'properties.bootstrap.servers' = '${KAFKA_SERVERS}',
  'properties.group.id' = 'testGroup',
  'format' = 'json',
  'json.fail-on-missing-field' = 'false',
  'json.ignore-parse-errors' = 'true'
);

CREATE TABLE kafka_upsert_sink_table (
  id INT,
  name STRING,
  PRIMARY KEY (id) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = 'topic',
  'properties.bootstrap.servers' = '${KAFKA_SERVERS}',
  'key.format' = 'json',
  'value.format' = 'json'
);

INSERT INTO kafka_upsert_sink_table
SELECT * FROM kafka_json_source_table;
