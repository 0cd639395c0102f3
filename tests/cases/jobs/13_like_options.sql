-- expect: fine
CREATE TABLE base (
  id BIGINT,
  payload STRING,
  event_time TIMESTAMP(3) METADATA FROM 'timestamp',
  WATERMARK FOR event_time AS event_time - INTERVAL '5' SECOND
) WITH ('connector' = 'kafka', 'topic' = 'base', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
CREATE TABLE base_copy WITH ('topic' = 'copy') LIKE base;
CREATE TABLE base_bare LIKE base (EXCLUDING OPTIONS EXCLUDING WATERMARKS);
CREATE TABLE base_print WITH ('connector' = 'print') LIKE base (EXCLUDING ALL);
CREATE TABLE base_more (extra INT, WATERMARK FOR event_time AS event_time) LIKE base (OVERWRITING WATERMARKS OVERWRITING OPTIONS);
SHOW CREATE TABLE base_copy;
DESCRIBE base_more;
INSERT INTO base_print SELECT id, payload FROM base_copy;
