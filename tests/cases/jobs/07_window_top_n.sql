-- expect: fine
CREATE TABLE bids (auction BIGINT, price DECIMAL(12, 2), item STRING, supplier_id STRING, bidtime TIMESTAMP(3),
  WATERMARK FOR bidtime AS bidtime - INTERVAL '1' SECOND)
WITH ('connector' = 'kafka', 'topic' = 'bids', 'properties.bootstrap.servers' = 'broker:9092',
      'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
CREATE TABLE top_suppliers (window_start TIMESTAMP(3), window_end TIMESTAMP(3), supplier_id STRING, price DECIMAL(38, 2), cnt BIGINT, rownum BIGINT)
WITH ('connector' = 'print');
INSERT INTO top_suppliers
SELECT *
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY price DESC) AS rownum
  FROM (
    SELECT window_start, window_end, supplier_id, SUM(price) AS price, COUNT(*) AS cnt
    FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(bidtime), INTERVAL '10' MINUTES))
    GROUP BY window_start, window_end, supplier_id
  )
) WHERE rownum <= 3;
