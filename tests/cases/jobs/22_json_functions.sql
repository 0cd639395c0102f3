-- expect: fine
CREATE TABLE raw_json (message STRING) WITH ('connector' = 'kafka', 'topic' = 'raw', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'raw');
CREATE TABLE parsed (id INT, name STRING, has_address BOOLEAN, tags STRING, again STRING) WITH ('connector' = 'print');
INSERT INTO parsed
SELECT
  JSON_VALUE(message, '$.id' RETURNING INT NULL ON EMPTY NULL ON ERROR),
  JSON_VALUE(message, 'lax $.name' DEFAULT 'unknown' ON EMPTY),
  JSON_EXISTS(message, '$.address'),
  JSON_QUERY(message, '$.tags' WITH CONDITIONAL ARRAY WRAPPER),
  JSON_OBJECT('name' VALUE JSON_VALUE(message, '$.name'), 'n' VALUE CHAR_LENGTH(message) ABSENT ON NULL)
FROM raw_json WHERE message IS JSON OBJECT;
