-- expect: fine
CREATE TABLE keyed (k_user STRING, k_region INT, behavior STRING, item STRING) WITH (
  'connector' = 'kafka', 'topic' = 'keyed', 'properties.bootstrap.servers' = 'broker:9092',
  'scan.startup.mode' = 'earliest-offset',
  'key.format' = 'json', 'key.json.ignore-parse-errors' = 'true', 'key.fields' = 'k_user;k_region', 'key.fields-prefix' = 'k_',
  'value.format' = 'json', 'value.json.fail-on-missing-field' = 'false', 'value.fields-include' = 'EXCEPT_KEY'
);
CREATE TABLE behaviors (`user` STRING, region INT, n BIGINT, PRIMARY KEY (`user`, region) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'behaviors', 'properties.bootstrap.servers' = 'broker:9092',
  'key.format' = 'json', 'value.format' = 'json', 'value.fields-include' = 'ALL'
);
INSERT INTO behaviors SELECT k_user, k_region, COUNT(DISTINCT behavior) FROM keyed GROUP BY k_user, k_region;
