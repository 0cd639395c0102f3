SET execution.runtime-mode = batch;
CREATE TABLE weibo (
  mid BIGINT,
  industry BIGINT,
  keyword STRING
) WITH (
  'connector.type'='jdbc',
  'connector.driver'='com.mysql.cj.jdbc.Driver',
  'connector.url'='jdbc:mysql://localhost:3306/learn?serverTimezone=Asia/Shanghai',
  'connector.username'='root',
  'connector.password'='root',
  'connector.table'='weibo',
  'connector.read.partition.column'='industry',
  'connector.read.partition.num'='4',
  'connector.read.partition.lower-bound'='1',
  'connector.read.partition.upper-bound'='21',
  'connector.read.fetch-size'='100'
);
CREATE TABLE keywords (keyword STRING, n BIGINT) WITH ('connector.type' = 'filesystem', 'connector.path' = '/tmp/keywords', 'format.type' = 'csv');
INSERT INTO keywords SELECT keyword, COUNT(*) FROM weibo GROUP BY keyword;
