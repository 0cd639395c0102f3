-- expect: FD203
CREATE TABLE user_log (user_id VARCHAR, item_id VARCHAR, ts TIMESTAMP) WITH (
  'connector.type' = 'kafka', 'connector.version' = 'universal', 'connector.topic' = 'user_behavior',
  'connector.properties.bootstrap.servers' = 'localhost:9092', 'format.type' = 'json', 'update-mode' = 'append'
);
CREATE TABLE pvuv_sink (dt VARCHAR, pv BIGINT) WITH ('connector' = 'print');
INSERT INTO pvuv_sink SELECT DATE_FORMAT(ts, 'yyyy-MM-dd HH:00') dt, COUNT(*) AS pv FROM user_log GROUP BY DATE_FORMAT(ts, 'yyyy-MM-dd HH:00');
