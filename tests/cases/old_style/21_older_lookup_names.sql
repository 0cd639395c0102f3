CREATE TABLE requests (id BIGINT, key_of STRING, pt AS PROCTIME()) WITH (
  'connector' = 'kafka-0.11', 'topic' = 'requests', 'properties.bootstrap.servers' = 'k:9092', 'format' = 'json',
  'properties.group.id' = 'r'
);
CREATE TABLE names (key_of STRING, name STRING) WITH (
  'connector' = 'jdbc',
  'url' = 'jdbc:mysql://db/n',
  'table-name' = 'names',
  'lookup.cache.max-rows' = '100', -- enough
  'lookup.cache.ttl' = '1min'
);
CREATE TABLE named (id BIGINT, name STRING) WITH ('connector' = 'blackhole');
INSERT INTO named SELECT r.id, n.name FROM requests AS r JOIN names FOR SYSTEM_TIME AS OF r.pt AS n ON r.key_of = n.key_of;
