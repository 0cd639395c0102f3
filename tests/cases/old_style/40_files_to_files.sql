CREATE TABLE orders (id VARCHAR, kind VARCHAR, price DOUBLE, `timestamp` BIGINT) WITH (
  'connector.type' = 'filesystem',               -- required
  'format.type' = 'csv',
  'format.comment-prefix' = '#',
  'format.quote-character' = '"',
  'format.ignore-parse-errors' = 'true',
  'connector.path' = 'file:///data/orders'
);
CREATE TABLE costly WITH ('connector.type' = 'filesystem', 'connector.path' = 'file:///data/costly', 'format.type' = 'parquet')
AS SELECT id, kind, price FROM orders WHERE price > 100;
