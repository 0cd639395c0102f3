"""Twenty updating queries, each into an upsert-kafka topic of its own, as one statement set over three topics."""

from __future__ import annotations

SOURCES = """
CREATE TABLE orders (id INT, cust INT, region STRING, price INT) WITH
  ('connector' = 'kafka', 'topic' = 'orders', 'properties.bootstrap.servers' = '{servers}', 'format' = 'json',
   'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset');
CREATE TABLE custs (cust INT NOT NULL, tier STRING, credit INT, PRIMARY KEY (cust) NOT ENFORCED) WITH
  ('connector' = 'upsert-kafka', 'topic' = 'custs', 'properties.bootstrap.servers' = '{servers}',
   'key.format' = 'json', 'value.format' = 'json', 'scan.bounded.mode' = 'latest-offset');
CREATE TABLE stock (item INT, region STRING, n INT) WITH
  ('connector' = 'kafka', 'topic' = 'stock', 'properties.bootstrap.servers' = '{servers}',
   'format' = 'debezium-json', 'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset');
"""
SINK = """
CREATE TABLE {name} (k STRING, v STRING, PRIMARY KEY (k) NOT ENFORCED) WITH
  ('connector' = 'upsert-kafka', 'topic' = '{topic}', 'properties.bootstrap.servers' = '{servers}',
   'key.format' = 'json', 'value.format' = 'json');
"""


def _kv(key: str, value: str) -> str:
    return f"CAST({key} AS STRING) AS k, CAST({value} AS STRING) AS v"


QUERIES = (
    f"SELECT {_kv('region', 'COUNT(*)')} FROM orders GROUP BY region",
    f"SELECT {_kv('region', 'COUNT(DISTINCT cust)')} FROM orders GROUP BY region",
    f"SELECT {_kv('cust', 'SUM(price)')} FROM orders GROUP BY cust",
    f"SELECT {_kv('tier', 'MAX(credit)')} FROM custs GROUP BY tier",
    f"SELECT {_kv('tier', 'SUM(credit)')} FROM custs GROUP BY tier",
    f"SELECT {_kv('region', 'MIN(n)')} FROM stock GROUP BY region",
    f"SELECT {_kv('cust', 'COUNT(*)')} FROM orders GROUP BY cust HAVING COUNT(*) % 3 = 0",
    f"SELECT {_kv('n', 'COUNT(*)')} FROM (SELECT cust, COUNT(*) AS n FROM orders GROUP BY cust) GROUP BY n",
    f"SELECT {_kv('cust', 'credit')} FROM custs WHERE credit > 500",
    f"SELECT {_kv('c.tier', 'SUM(o.price)')} FROM orders AS o JOIN custs AS c ON o.cust = c.cust GROUP BY c.tier",
    f"SELECT {_kv('a.cust', 'a.n + c.credit')} FROM (SELECT cust, COUNT(*) AS n FROM orders GROUP BY cust) AS a "
    "JOIN custs AS c ON a.cust = c.cust",
    f"SELECT {_kv('a.cust', 'c.tier')} FROM (SELECT cust, COUNT(*) AS n FROM orders GROUP BY cust) AS a "
    "LEFT JOIN custs AS c ON a.cust = c.cust",
    f"SELECT {_kv('region', 'price')} FROM (SELECT region, price, ROW_NUMBER() OVER (PARTITION BY region "
    "ORDER BY price DESC) AS n FROM orders) WHERE n = 1",
    f"SELECT {_kv('tier', 'cust')} FROM (SELECT tier, cust, ROW_NUMBER() OVER (PARTITION BY tier "
    "ORDER BY credit, cust) AS n FROM custs) WHERE n = 1",
    f"SELECT {_kv('region', 'COUNT(*)')} FROM orders WHERE cust IN (SELECT cust FROM custs WHERE credit > 500) "
    "GROUP BY region",
    f"SELECT {_kv('region', 'COUNT(*)')} FROM orders AS o WHERE NOT EXISTS (SELECT 1 FROM custs AS c "
    "WHERE c.cust = o.cust) GROUP BY region",
    f"SELECT {_kv('region', 'SUM(n)')} FROM (SELECT region, price AS n FROM orders UNION ALL "
    "SELECT region, n FROM stock) GROUP BY region",
    f"SELECT {_kv('tier', 'COUNT(*)')} FROM (SELECT DISTINCT tier, credit FROM custs) GROUP BY tier",
    f"SELECT {_kv('region', 'COUNT(*)')} FROM (SELECT region, price FROM orders INTERSECT SELECT region, n FROM stock) "
    "GROUP BY region",
    f"SELECT {_kv('region', 'AVG(n)')} FROM stock GROUP BY region",
)


def script(servers: str, count: int, prefix: str, pace: int) -> str:
    """Return the whole job: ``count`` INSERTs as a statement set into topics ``prefix``-0, ``prefix``-1 ..."""
    names = [f"s{i}" for i in range(count)]
    sinks = "".join(SINK.format(name=n, topic=f"{prefix}-{i}", servers=servers) for i, n in enumerate(names))
    inserts = "\n".join(f"INSERT INTO {n} {QUERIES[i % len(QUERIES)]};" for i, n in enumerate(names))
    return (
        "SET 'execution.runtime-mode' = 'streaming';\n"
        f"SET 'flinkddl.execution.max-offsets-per-trigger' = '{pace}';\n"
        f"{SOURCES.format(servers=servers)}{sinks}EXECUTE STATEMENT SET BEGIN\n{inserts}\nEND;\n"
    )
