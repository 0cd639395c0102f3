-- expect: fine
CREATE TABLE payments (
  payment_id STRING,
  user_id STRING,
  amount DOUBLE,
  proctime AS PROCTIME()
) WITH (
  'connector' = 'kafka', 'topic' = 'payments', 'properties.bootstrap.servers' = 'broker:9092',
  'scan.startup.mode' = 'earliest-offset', 'format' = 'json'
);
CREATE TABLE payments_unique (payment_id STRING, user_id STRING, amount DOUBLE, PRIMARY KEY (payment_id) NOT ENFORCED)
WITH ('connector' = 'upsert-kafka', 'topic' = 'payments_unique', 'properties.bootstrap.servers' = 'broker:9092',
      'key.format' = 'json', 'value.format' = 'json');
CREATE VIEW unique_payments AS
SELECT payment_id, user_id, amount FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY payment_id ORDER BY proctime ASC) AS rn FROM payments
) WHERE rn = 1;
INSERT INTO payments_unique SELECT * FROM unique_payments;
