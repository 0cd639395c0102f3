-- expect: fine
CREATE TABLE tweets (
  id STRING,
  `user` ROW<id BIGINT, name STRING, followers ARRAY<ROW<name STRING, tags ARRAY<STRING>>>>,
  entities ROW(hashtags ARRAY<ROW<text STRING>>, urls ARRAY<STRING>),
  attrs MAP<STRING, ROW<score DOUBLE, labels MAP<STRING, INT>>>,
  created TIMESTAMP(3),
  WATERMARK FOR created AS created - INTERVAL '1' SECOND
) WITH ('connector' = 'kafka', 'topic' = 'tweets', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
CREATE TABLE hashtags (tag STRING, n BIGINT, PRIMARY KEY (tag) NOT ENFORCED) WITH ('connector' = 'upsert-kafka', 'topic' = 'tags', 'properties.bootstrap.servers' = 'broker:9092', 'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE flat (id STRING, user_name STRING, first_follower STRING, first_tag STRING, score DOUBLE) WITH ('connector' = 'print');
INSERT INTO hashtags SELECT LOWER(h.text), COUNT(*) FROM tweets CROSS JOIN UNNEST(tweets.entities.hashtags) AS h (text) GROUP BY LOWER(h.text);
INSERT INTO flat SELECT id, `user`.name, `user`.followers[1].name, `user`.followers[1].tags[1], attrs['main'].score FROM tweets;
