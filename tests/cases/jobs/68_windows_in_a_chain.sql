-- expect: fine
-- Every operator over event time that a chain has, in one query: each topic is read once, and each stage tells the next
-- how late it is. What a chain does not take, a temporal join, is an INSERT by itself.
SET 'parallelism.default' = '2';

CREATE TABLE orders (
  id INT,
  person INT,
  product STRING,
  price INT,
  `at` TIMESTAMP(3),
  WATERMARK FOR `at` AS `at` - INTERVAL '5' SECOND
) WITH (
  'connector' = 'kafka',
  'topic' = 'windows_orders',
  'properties.bootstrap.servers' = '${BROKERS}',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

CREATE TABLE clicks (
  person INT,
  product STRING,
  `at` TIMESTAMP(3),
  WATERMARK FOR `at` AS `at` - INTERVAL '5' SECOND
) WITH (
  'connector' = 'kafka',
  'topic' = 'windows_clicks',
  'properties.bootstrap.servers' = '${BROKERS}',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

CREATE TABLE rates (
  product STRING,
  rate INT,
  `at` TIMESTAMP(3),
  WATERMARK FOR `at` AS `at`,
  PRIMARY KEY (product) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = 'windows_rates',
  'properties.bootstrap.servers' = '${BROKERS}',
  'key.format' = 'json',
  'value.format' = 'json'
);

CREATE TABLE found (
  kind STRING,
  product STRING,
  n BIGINT
) WITH (
  'connector' = 'kafka',
  'topic' = 'windows_found',
  'properties.bootstrap.servers' = '${BROKERS}',
  'format' = 'json'
);

CREATE TABLE valued (
  id INT,
  amount INT
) WITH (
  'connector' = 'kafka',
  'topic' = 'windows_valued',
  'properties.bootstrap.servers' = '${BROKERS}',
  'format' = 'json'
);

-- read four times below: the Top-N asks for an order of its rows, the others do not
CREATE VIEW minutes AS
SELECT product, window_start, window_end, window_time, COUNT(*) AS n
FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(`at`), INTERVAL '1' MINUTE))
WHERE price > 10
GROUP BY product, window_start, window_end, window_time;

CREATE VIEW counts AS SELECT product, n, window_time AS closed FROM minutes;

SET 'flinkddl.execution.state' = 'chain';

INSERT INTO found
SELECT 'minutes', product, n FROM minutes
UNION ALL
SELECT 'the best of a minute', product, n
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY n DESC, product) AS place FROM minutes
)
WHERE place = 1
UNION ALL
SELECT 'ten minutes', product, SUM(n)
FROM TABLE(TUMBLE(TABLE counts, DESCRIPTOR(closed), INTERVAL '10' MINUTE))
GROUP BY product, window_start, window_end
UNION ALL
SELECT 'a session', product, COUNT(*)
FROM TABLE(SESSION(TABLE clicks PARTITION BY product, DESCRIPTOR(`at`), INTERVAL '30' SECOND))
GROUP BY product, window_start, window_end
UNION ALL
SELECT 'clicks of a minute', m.product, m.n + c.n
FROM minutes AS m JOIN (
  SELECT product, window_start, window_end, COUNT(*) AS n
  FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(`at`), INTERVAL '1' MINUTE))
  GROUP BY product, window_start, window_end
) AS c ON m.product = c.product AND m.window_start = c.window_start AND m.window_end = c.window_end
UNION ALL
SELECT 'clicked before', o.product, CAST(o.price AS BIGINT)
FROM orders AS o, clicks AS c
WHERE o.person = c.person AND c.`at` BETWEEN o.`at` - INTERVAL '1' MINUTE AND o.`at`;

SET 'flinkddl.execution.state' = 'auto';

INSERT INTO valued
SELECT o.id, o.price * r.rate
FROM orders AS o JOIN rates FOR SYSTEM_TIME AS OF o.`at` AS r ON o.product = r.product;
