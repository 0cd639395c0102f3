"""The batch view of an upsert topic against hand-written PySpark that reads and deduplicates the same topic.

``python -m tests.bench views``. Both count the table as it stands and sum over it, in one session in turn; the first
round warms up. The numbers are recounted from the records that were written. A ratio of 0.95 is wanted.
"""

from __future__ import annotations

import json
import random
import statistics
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTITIONS, ROUNDS, KEYS = 4, 6, 200_000
TOPIC = "customers"
COLUMNS = "id BIGINT, name STRING, city STRING, visits INT, `at` TIMESTAMP(3)"
SPARK_COLUMNS = "id BIGINT, name STRING, city STRING, visits INT, at TIMESTAMP"
AS_WRITTEN = "map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSS')"
COUNTED = ("count(*)", "sum(id)", "sum(visits)", "sum(length(name))")


def fill(servers: str, records: int) -> tuple[int, ...]:
    """Write records, one in fifty a tombstone; return what COUNTED must give."""
    from kafka import KafkaProducer

    chance = random.Random(7)
    table: dict[int, dict[str, Any]] = {}
    producer = KafkaProducer(bootstrap_servers=servers, linger_ms=50, batch_size=1 << 18)
    for n in range(records):
        key = chance.randrange(KEYS)
        row = None
        if chance.random() < 0.98:
            at = f"2024-03-01 10:{n // 60 % 60:02d}:{n % 60:02d}.{n % 1000:03d}"
            row = {
                "id": key,
                "name": f"customer {key} {n % 97}",
                "city": f"city {n % 31}",
                "visits": n % 1000,
                "at": at,
            }
        if row is None:
            table.pop(key, None)
        else:
            table[key] = row
        value = None if row is None else json.dumps(row).encode()
        producer.send(TOPIC, key=json.dumps({"id": key}).encode(), value=value, partition=key % PARTITIONS)
    producer.flush()
    producer.close()
    rows = table.values()
    sums = (sum(r["id"] for r in rows), sum(r["visits"] for r in rows), sum(len(r["name"]) for r in rows))
    return (len(rows), *sums)


def ours(spark: SparkSession, servers: str) -> Any:
    """Use the temp view."""
    return spark.table("customers")


def by_hand(spark: SparkSession, servers: str) -> Any:
    """Do what an engineer writes without us: the last value of each key, deleted keys left out."""
    options = {"kafka.bootstrap.servers": servers, "subscribe": TOPIC, "startingOffsets": "earliest"}
    raw = spark.read.format("kafka").options(**options).load()
    parsed = raw.selectExpr(
        "from_json(CAST(key AS STRING), 'id BIGINT').id AS id",
        f"from_json(CAST(value AS STRING), '{SPARK_COLUMNS}', {AS_WRITTEN}) AS row",
        "value IS NULL AS gone",
        "offset",
    )
    newest = parsed.groupBy("id").agg(_expr("max_by(struct(row, gone), offset) AS newest"))
    return newest.where("NOT newest.gone").selectExpr("id", "newest.row.name", "newest.row.city", "newest.row.visits")


def _expr(text: str) -> Any:
    from pyspark.sql.functions import expr

    return expr(text)


def main(records: int = 1_000_000) -> None:
    """Print each round, the medians and the ratio of the rates."""
    from flinkddl.api import Catalog
    from flinkddl.runtime.broker.server import Broker, BrokerOptions
    from flinkddl.runtime.kafka.admin import KafkaAdmin
    from flinkddl.runtime.session.sessions import SparkOptions, build_session

    times: dict[str, list[float]] = {"ours": [], "by hand": []}
    with Broker(BrokerOptions(heap="1g")) as broker:
        with KafkaAdmin({"bootstrap.servers": broker.bootstrap}) as admin:
            admin.create_topic(TOPIC, PARTITIONS)
        expected = fill(broker.bootstrap, records)
        spark = build_session(SparkOptions(master="local[2]"))
        catalog = Catalog(spark)
        catalog.execute(f"""SET 'execution.runtime-mode' = 'batch';
        CREATE TABLE customers ({COLUMNS}, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'upsert-kafka',
          'topic' = '{TOPIC}', 'properties.bootstrap.servers' = '{broker.bootstrap}', 'key.format' = 'json',
          'value.format' = 'json')""")
        for n in range(ROUNDS):
            for name, frame in (("ours", ours), ("by hand", by_hand)):
                begin = time.perf_counter()
                counted = tuple(frame(spark, broker.bootstrap).selectExpr(*COUNTED).first())
                times[name].append(time.perf_counter() - begin)
                print(f"round {n} {name}: {times[name][-1]:.2f} s", flush=True)
                if counted != expected:
                    raise SystemExit(f"{name} counted {counted}, not {expected}")
        catalog.stop()
        spark.stop()
    medians = {name: statistics.median(values[1:]) for name, values in times.items()}
    shown = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in medians.items())
    print(f"{records:,} records, {expected[0]:,} rows left; medians {shown}; ", end="")
    print(f"by hand / ours = {medians['by hand'] / medians['ours']:.2f}")


if __name__ == "__main__":
    main()
