-- expect: fine
CREATE TABLE sales (product STRING, category STRING, quantity INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)
WITH ('connector' = 'kafka', 'topic' = 'sales', 'properties.bootstrap.servers' = 'broker:9092',
      'scan.startup.mode' = 'earliest-offset', 'format' = 'avro');
CREATE TABLE top_products (
  category STRING, place BIGINT, product STRING, total BIGINT,
  PRIMARY KEY (category, place) NOT ENFORCED
) WITH ('connector' = 'upsert-kafka', 'topic' = 'top', 'properties.bootstrap.servers' = 'broker:9092',
        'key.format' = 'avro', 'value.format' = 'avro');
CREATE TEMPORARY VIEW totals AS
SELECT category, product, CAST(SUM(quantity) AS BIGINT) AS total FROM sales GROUP BY category, product;
INSERT INTO top_products
SELECT category, place, product, total FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY category ORDER BY total DESC) AS place FROM totals
) WHERE place <= 5;
