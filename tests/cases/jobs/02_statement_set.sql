-- expect: fine
-- One pass over the clicks, three outputs.
SET 'pipeline.name' = 'clicks fan-out';
SET 'execution.checkpointing.interval' = '30 s';

CREATE TABLE clicks (
  user_id BIGINT, url STRING, referrer STRING, ts TIMESTAMP_LTZ(3),
  WATERMARK FOR ts AS ts - INTERVAL '10' SECOND
) WITH (
  'connector' = 'kafka', 'topic' = 'clicks', 'properties.bootstrap.servers' = 'broker:9092',
  'scan.startup.mode' = 'latest-offset', 'format' = 'json'
);
CREATE TABLE clicks_by_user (user_id BIGINT, n BIGINT, PRIMARY KEY (user_id) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'clicks_by_user', 'properties.bootstrap.servers' = 'broker:9092',
  'key.format' = 'json', 'value.format' = 'json'
);
CREATE TABLE external_clicks (user_id BIGINT, url STRING) WITH (
  'connector' = 'kafka', 'topic' = 'external', 'properties.bootstrap.servers' = 'broker:9092', 'format' = 'csv'
);
CREATE TABLE debug_clicks (user_id BIGINT, host STRING) WITH ('connector' = 'print', 'print-identifier' = 'dbg; not a comment --');

EXECUTE STATEMENT SET
BEGIN
  -- counts; with a semicolon in the comment
  INSERT INTO clicks_by_user SELECT user_id, COUNT(*) FROM clicks GROUP BY user_id;
  /* everything that came from outside; 'quoted' */
  INSERT INTO external_clicks SELECT user_id, url FROM clicks WHERE referrer NOT LIKE '%example.com%';
  INSERT INTO debug_clicks SELECT user_id, PARSE_URL(url, 'HOST') FROM clicks;
END;
