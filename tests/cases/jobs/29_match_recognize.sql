-- expect: FD511
CREATE TABLE ticker (symbol STRING, price DOUBLE, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)
WITH ('connector' = 'kafka', 'topic' = 'ticker', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
CREATE TABLE dips (symbol STRING, start_ts TIMESTAMP(3), bottom_ts TIMESTAMP(3)) WITH ('connector' = 'print');
INSERT INTO dips
SELECT symbol, start_ts, bottom_ts FROM ticker
MATCH_RECOGNIZE (
  PARTITION BY symbol
  ORDER BY ts
  MEASURES A.ts AS start_ts, LAST(B.ts) AS bottom_ts
  ONE ROW PER MATCH
  AFTER MATCH SKIP TO LAST C
  PATTERN (A B+ C) WITHIN INTERVAL '1' HOUR
  DEFINE B AS B.price < LAST(B.price, 1), C AS C.price > LAST(B.price, 1)
) AS m;
