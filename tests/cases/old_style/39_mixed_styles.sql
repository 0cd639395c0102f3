CREATE TABLE pay_msg (
  createTime VARCHAR,
  payAmount DOUBLE
) WITH (
  'connector.type' = 'kafka',
  'connector.version' = 'universal',
  'topic' = 'pay_msg',
  'properties.bootstrap.servers' = 'bootstrap:443',
  'properties.security.protocol' = 'SSL',
  'properties.group.id' = 'test_3',
  'connector.startup-mode' = 'latest-offset',
  'format' = 'json'
);
CREATE TABLE pay_sum (day_of VARCHAR, amount DOUBLE) WITH (
  'connector.type' = 'jdbc', -- of two worlds
  'url' = 'jdbc:mysql://db/pay',
  'table-name' = 'pay_sum',
  'connector.username' = 'p', 'connector.password' = 'p',
  'connector.write.flush.max-rows' = '1' -- default 5000
);
INSERT INTO pay_sum SELECT SUBSTRING(createTime, 1, 10), SUM(payAmount) FROM pay_msg GROUP BY SUBSTRING(createTime, 1, 10);
