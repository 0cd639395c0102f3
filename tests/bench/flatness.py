"""State and time per batch while a few keys are updated for ever: ``python -m tests.bench flatness --records 1000000``.

1,000 keys of an upsert-kafka topic get all the updates; each query reads it as an updating input of an aggregate, a
Top-N, and of either side of a join. State must follow the keys, not the updates: the figures at 10, 50 and 100 % of
the input stand side by side.
"""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from flinkddl.runtime.job.reporting.progress import Progress

KEYS, GROUPS, BATCHES = 1000, 50, 20
TABLE = """
CREATE TABLE {name} (id INT NOT NULL, g INT, v INT, PRIMARY KEY (id) NOT ENFORCED) WITH
  ('connector' = 'upsert-kafka', 'topic' = '{name}', 'properties.bootstrap.servers' = '{servers}',
   'key.format' = 'json', 'value.format' = 'json', 'scan.bounded.mode' = 'latest-offset');
"""
QUERIES = {
    "aggregate": "SELECT g, SUM(v), MAX(v), COUNT(DISTINCT v) FROM u GROUP BY g",
    "top 3": "SELECT g, id, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY g ORDER BY v DESC) AS n FROM u) "
    "WHERE n <= 3",
    "join, left side": "SELECT u.id, u.v, d.v FROM u LEFT JOIN d ON u.g = d.g",
    "join, right side": "SELECT d.id, d.v, u.v FROM d LEFT JOIN u ON d.g = u.g",
}


def fill(servers: str, topic: str, records: int, keys: int) -> None:
    """Write rows of ``keys`` keys, round after round."""
    from kafka import KafkaProducer

    random_ = random.Random(3)
    key = [json.dumps({"id": k}).encode() for k in range(keys)]
    producer = KafkaProducer(bootstrap_servers=servers, linger_ms=100, batch_size=1 << 19)
    for i in range(records):
        k = i % keys
        row = {"id": k, "g": k % GROUPS, "v": random_.randrange(1_000_000)}
        producer.send(topic, key=key[k], value=json.dumps(row).encode(), partition=0)
    producer.flush()
    producer.close()


def measure(spark: SparkSession, servers: str, query: str, records: int) -> list[Progress]:
    """Run one query to the end of its input; return the progress of each batch that read something."""
    from flinkddl.api import Catalog

    pace = f"SET 'flinkddl.execution.max-offsets-per-trigger' = '{max(1, records // BATCHES)}';"
    tables = "".join(TABLE.format(name=name, servers=servers) for name in "ud")
    sink = "CREATE TABLE hole WITH ('connector' = 'blackhole') AS "
    catalog = Catalog(spark)
    seen: list[Progress] = []
    catalog.execute("SET 'execution.runtime-mode' = 'streaming';" + pace + tables)
    job = catalog.execute(sink + query).job
    assert job is not None
    _follow(job, seen)
    return [p for p in seen if p.rows_in]


def _follow(job: Any, seen: list[Progress]) -> None:
    done = False
    while not done:
        done = job.await_termination(timeout=0.05)
        for progress in job.progress:
            if not seen or progress.batch > seen[-1].batch:
                seen.append(progress)


def line(name: str, batches: list[Progress]) -> str:
    """Return state rows, bytes and milliseconds of the batches at 10, 50 and 100 % of the input."""
    cells = []
    for share in (0.1, 0.5, 1.0):
        at = max(0, round(len(batches) * share) - 1)
        p = batches[at]
        cells.append(f"{p.state_rows:>7,} rows {p.state_bytes / 1e6:>6.1f} MB {p.batch_ms:>6,} ms")
    return f"{name:<17} " + " | ".join(cells)


def main(records: int = 1_000_000) -> None:
    """Print one line a query."""
    from flinkddl.runtime.broker.server import Broker, BrokerOptions
    from flinkddl.runtime.kafka.admin import KafkaAdmin
    from flinkddl.runtime.session.sessions import SparkOptions, build_session

    with Broker(BrokerOptions(heap="500m")) as broker, KafkaAdmin({"bootstrap.servers": broker.bootstrap}) as admin:
        for name, count in (("u", records), ("d", KEYS)):
            admin.create_topic(name, 1)
            fill(broker.bootstrap, name, count, KEYS)
        conf = {"spark.driver.memory": "2g", "spark.sql.shuffle.partitions": "2"}
        spark = build_session(SparkOptions(master="local[2]", conf=conf))
        print(f"{records:,} updates over {KEYS:,} keys: a batch at 10 % | 50 % | 100 % of the input", flush=True)
        try:
            for name, query in QUERIES.items():
                print(line(name, measure(spark, broker.bootstrap, query, records)), flush=True)
        finally:
            spark.stop()
