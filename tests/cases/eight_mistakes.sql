CREATE TABLE clicks (
  user_id BIGINT,
  page STRING,
  ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '2' SECOND
) WITH (
  'connector' = 'kafka',
  'topic' = 'clicks',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

CREATE TABLE out_users (user_id BIGINT, n BIGINT) WITH ('connector' = 'print');

-- 1 and 2: an option misspelled, a value that is no number
CREATE TABLE visits (user_id BIGINT) WITH (
  'connector' = 'kafka',
  'topc' = 'visits',
  'topic' = 'visits',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'scan.parallelism' = 'two',
  'format' = 'json'
);
INSERT INTO out_users SELECT user_id, 1 FROM visits;

-- 3: a connector misspelled
CREATE TABLE sink (user_id BIGINT) WITH ('connector' = 'kafak');
INSERT INTO sink SELECT user_id FROM clicks;

-- 4: a keyword misspelled
SELCT * FROM clicks;

-- 5: a column misspelled
INSERT INTO out_users SELECT usr_id, COUNT(*) FROM clicks GROUP BY usr_id;

-- 6: a function misspelled
INSERT INTO out_users SELECT user_id, CHAR_LENGHT(page) FROM clicks;

-- 7: a table misspelled
INSERT INTO out_users SELECT user_id, 1 FROM click;

-- 8: one column too few
INSERT INTO out_users SELECT user_id FROM clicks;
