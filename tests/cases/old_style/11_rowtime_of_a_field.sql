CREATE TABLE trades (
  symbol VARCHAR,
  price DOUBLE,
  ts TIMESTAMP
) WITH (
  'connector.type' = 'kafka',
  'connector.version' = 'universal',
  'connector.topic' = 'trades',
  'connector.properties.0.key' = 'zookeeper.connect',
  'connector.properties.0.value' = 'zk1:2181,zk2:2181',
  'connector.properties.1.key' = 'bootstrap.servers',
  'connector.properties.1.value' = 'broker1:9092,broker2:9092',
  'schema.2.rowtime.timestamps.type' = 'from-field',
  'schema.2.rowtime.timestamps.from' = 'ts',
  'schema.2.rowtime.watermarks.type' = 'periodic-bounded',
  'schema.2.rowtime.watermarks.delay' = '60000',
  'format.type' = 'json',
  'format.derive-schema' = 'true'
);
CREATE TABLE minute_prices (symbol VARCHAR, wend TIMESTAMP(3), high DOUBLE) WITH (
  'connector.type' = 'jdbc',
  'connector.url' = 'jdbc:postgresql://db/quotes',
  'connector.table' = 'minute_prices',
  'connector.username' = 'q', 'connector.password' = 'q'
);
INSERT INTO minute_prices
SELECT symbol, TUMBLE_END(ts, INTERVAL '1' MINUTE), MAX(price)
FROM trades GROUP BY symbol, TUMBLE(ts, INTERVAL '1' MINUTE);
