-- expect: fine
-- Every updating operator in one query: people are read once, orders twice (first rows are an operator of Spark's own),
-- and what counts the orders of a product runs once.
CREATE TABLE orders (
  id INT,
  person INT,
  product STRING,
  price INT
) WITH (
  'connector' = 'kafka',
  'topic' = 'kinds_orders',
  'properties.bootstrap.servers' = '${BROKERS}',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

-- updated and deleted by its key: read as the newest row of each
CREATE TABLE people (
  id INT,
  city STRING,
  budget INT,
  PRIMARY KEY (id) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = 'kinds_people',
  'properties.bootstrap.servers' = '${BROKERS}',
  'key.format' = 'json',
  'value.format' = 'json'
);

-- its key is not that of the query's rows: the sink keeps them, and gives out the last of each key
CREATE TABLE kinds (
  kind STRING,
  id INT,
  n BIGINT,
  PRIMARY KEY (kind, id) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = 'kinds_found',
  'properties.bootstrap.servers' = '${BROKERS}',
  'key.format' = 'json',
  'value.format' = 'json'
);

CREATE VIEW arrivals AS SELECT *, PROCTIME() AS arrived FROM orders;

-- read twice below, runs once
CREATE VIEW sold AS
SELECT
  product,
  COUNT(*) AS n,
  COUNT(DISTINCT person) AS persons,
  SUM(price) FILTER (WHERE price > 10) AS dear
FROM orders
GROUP BY product;

INSERT INTO kinds
SELECT 'first of its product', id, CAST(price AS BIGINT)
FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY product ORDER BY arrived) AS place FROM arrivals)
WHERE place = 1
UNION ALL
SELECT 'last of its person', id, CAST(price AS BIGINT)
FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY person ORDER BY arrived DESC) AS place FROM arrivals)
WHERE place = 1
UNION ALL
SELECT 'products by number of persons', CAST(persons AS INT), COUNT(*) + MAX(dear)
FROM sold
GROUP BY persons
UNION ALL
SELECT 'behind the most sold', CHAR_LENGTH(sold.product), MAX(most.n - sold.n)
FROM sold JOIN (SELECT MAX(n) AS n FROM sold) AS most ON sold.n <= most.n
GROUP BY CHAR_LENGTH(sold.product)
UNION ALL
SELECT 'inner', o.id, CAST(p.budget AS BIGINT)
FROM orders AS o JOIN people AS p ON o.person = p.id
UNION ALL
SELECT 'left, within the budget', o.id, CAST(COALESCE(p.budget, -1) AS BIGINT)
FROM orders AS o LEFT JOIN people AS p ON o.person = p.id AND o.price < p.budget
UNION ALL
SELECT 'right', p.id, COUNT(o.id)
FROM orders AS o RIGHT JOIN people AS p ON o.person = p.id
GROUP BY p.id
UNION ALL
SELECT 'full', COALESCE(p.id, b.person), COALESCE(b.n, 0) + COALESCE(p.budget, 0)
FROM (SELECT person, COUNT(*) AS n FROM orders GROUP BY person) AS b FULL JOIN people AS p ON b.person = p.id
UNION ALL
SELECT 'semi', id, CAST(price AS BIGINT)
FROM orders
WHERE person IN (SELECT id FROM people WHERE city = 'Rome')
UNION ALL
SELECT 'anti', id, CAST(price AS BIGINT)
FROM orders
WHERE NOT EXISTS (SELECT 1 FROM people WHERE people.id = orders.person)
UNION ALL
SELECT 'two dearest of a product', id, place
FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY product ORDER BY price DESC, id) AS place FROM orders)
WHERE place <= 2
UNION ALL
SELECT 'three cheapest', id, CAST(price AS BIGINT)
FROM (SELECT id, price FROM orders ORDER BY price, id LIMIT 3)
UNION ALL
SELECT 'spent so far', id, CAST(SUM(price) OVER (PARTITION BY person ORDER BY id) AS BIGINT)
FROM orders;
