-- Two tables from one topic in one job: what goes well, and what does not.
CREATE TABLE payments (
  id INT,
  amount DECIMAL(10, 2),
  status STRING
) WITH (
  'connector' = 'kafka',
  'topic' = 'payments',
  'properties.bootstrap.servers' = '${KAFKA_SERVERS}',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

CREATE TABLE paid (
  status STRING,
  total DECIMAL(38, 2),
  PRIMARY KEY (status) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = 'payments_paid',
  'properties.bootstrap.servers' = '${KAFKA_SERVERS}',
  'key.format' = 'raw',
  'value.format' = 'json',
  'value.fields-include' = 'EXCEPT_KEY'
);

CREATE TABLE refused WITH ('topic' = 'payments_refused', 'sink.partitioner' = 'round-robin') LIKE payments;

EXECUTE STATEMENT SET
BEGIN
INSERT INTO paid SELECT status, SUM(amount) FROM payments WHERE status <> 'refused' GROUP BY status;
INSERT INTO refused SELECT * FROM payments WHERE status = 'refused';
END;
