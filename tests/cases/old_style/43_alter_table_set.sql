-- the same table in two environments: what differs is said afterwards
CREATE TABLE orders (
  order_id BIGINT,
  amount   DOUBLE,
  currency VARCHAR,
  ts       TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
) WITH (
  'connector.type' = 'kafka',
  'connector.version' = 'universal',
  'connector.topic' = 'orders_dev',
  'connector.startup-mode' = 'latest-offset',
  'connector.properties.0.key' = 'bootstrap.servers',
  'connector.properties.0.value' = 'localhost:9092',
  'connector.properties.1.key' = 'group.id',
  'connector.properties.1.value' = 'dev',
  'update-mode' = 'append',
  'format.type' = 'json',
  'format.derive-schema' = 'true'
);

CREATE TABLE sums (
  currency VARCHAR,
  total    DOUBLE
) WITH (
  'connector.type' = 'jdbc',
  'connector.url' = 'jdbc:mysql://localhost:3306/shop',
  'connector.table' = 'sums',
  'connector.username' = 'flink',
  'connector.password' = 'flink',
  'connector.write.flush.max-rows' = '1'
);

-- production
ALTER TABLE orders SET (
  'connector.topic' = 'orders',
  'connector.properties.0.value' = 'kafka1:9092,kafka2:9092', -- both
  'connector.properties.1.value' = 'sums',
  'connector.startup-mode' = 'group-offsets'
);
ALTER TABLE orders SET ('update-mode' = 'append'); -- only appends
ALTER TABLE sums SET ('connector.write.flush.max-rows' = '500', 'connector.write.flush.interval' = '2s');

INSERT INTO sums SELECT currency, SUM(amount) FROM orders GROUP BY currency;
