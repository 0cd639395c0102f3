-- expect: fine
CREATE TABLE logs (level STRING, ms INT, path STRING, host STRING) WITH ('connector' = 'kafka', 'topic' = 'logs', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
CREATE TABLE stats (host STRING, errors BIGINT, slow BIGINT, p STRING, worst INT, PRIMARY KEY (host) NOT ENFORCED) WITH ('connector' = 'upsert-kafka', 'topic' = 'stats', 'properties.bootstrap.servers' = 'broker:9092', 'key.format' = 'raw', 'value.format' = 'json');
INSERT INTO stats
SELECT host,
  COUNT(*) FILTER (WHERE level = 'ERROR'),
  SUM(CASE WHEN ms > 1000 THEN 1 ELSE 0 END),
  CASE WHEN MAX(ms) > 5000 THEN 'red' WHEN MAX(ms) BETWEEN 1000 AND 5000 THEN 'amber' ELSE 'green' END,
  MAX(ms)
FROM logs WHERE path SIMILAR TO '/(api|web)/%' AND level IN ('ERROR', 'WARN') AND host IS NOT NULL GROUP BY host;
