-- expect: fine
SET execution.runtime-mode = streaming;
SET table.exec.state.ttl=1 h;
SET 'table.local-time-zone' = 'Europe/Berlin';
CREATE TABLE events (id STRING, happened TIMESTAMP_LTZ(3)) WITH (
  'connector' = 'kafka', 'topic' = '${TOPIC}', 'properties.bootstrap.servers' = '${BROKERS}',
  'scan.startup.mode' = 'earliest-offset', 'format' = 'json'
);
CREATE TABLE days (d STRING, n BIGINT, PRIMARY KEY (d) NOT ENFORCED) WITH ('connector' = 'upsert-kafka', 'topic' = '${out_topic}', 'properties.bootstrap.servers' = '${BROKERS}', 'key.format' = 'json', 'value.format' = 'json');
INSERT INTO days SELECT DATE_FORMAT(happened, 'yyyy-MM-dd'), COUNT(*) FROM events GROUP BY DATE_FORMAT(happened, 'yyyy-MM-dd');
RESET 'table.exec.state.ttl';
