-- expect: fine
CREATE TABLE raw_in (
  `topic` STRING NOT NULL METADATA VIRTUAL,
  `partition` INT METADATA VIRTUAL,
  `offset` BIGINT METADATA VIRTUAL,
  hdrs MAP<STRING, BYTES> METADATA FROM 'headers',
  event_time TIMESTAMP_LTZ(3) METADATA FROM 'timestamp',
  ts_type STRING METADATA FROM 'timestamp-type' VIRTUAL,
  line STRING
) WITH ('connector' = 'kafka', 'topic-pattern' = 'logs-.*', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'raw');
CREATE TABLE json_out (src STRING, part INT, off BIGINT, line STRING, headers MAP<STRING, BYTES> METADATA, `timestamp` TIMESTAMP_LTZ(3) METADATA)
WITH ('connector' = 'kafka', 'topic' = 'json_out', 'properties.bootstrap.servers' = 'broker:9092', 'format' = 'json');
INSERT INTO json_out SELECT `topic`, `partition`, `offset`, line, hdrs, event_time FROM raw_in WHERE CHAR_LENGTH(line) > 0;
