"""Throughput of the exactly-once sink against the at-least-once one: ``python -m tests.bench.guarantees [RECORDS]``.

JSON in, JSON out, Kafka to Kafka, the two in turn in one run, in batches of a twentieth of the input; the first round
warms up. At least half of the at-least-once rate is what is wanted.
"""

from __future__ import annotations

import statistics
import sys
import time
import uuid
from typing import TYPE_CHECKING

from tests.bench.pageviews import PARTITIONS, fill

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROUNDS, BATCHES = 3, 20
GUARANTEES = ("at-least-once", "exactly-once")
COLUMNS = "user_id BIGINT, page_id BIGINT, viewtime TIMESTAMP(3), user_region STRING"


def copy(spark: SparkSession, servers: str, guarantee: str, records: int) -> float:
    """Copy the topic under a guarantee; return the seconds."""
    from flinkddl.api import Catalog

    target = f"out-{uuid.uuid4().hex[:8]}"
    common = f"'connector' = 'kafka', 'format' = 'json', 'properties.bootstrap.servers' = '{servers}'"
    script = f"""
    SET 'execution.runtime-mode' = 'streaming';
    SET 'flinkddl.execution.max-offsets-per-trigger' = '{records // BATCHES}';
    CREATE TABLE src ({COLUMNS}) WITH ({common}, 'topic' = 'pageviews', 'scan.startup.mode' = 'earliest-offset',
      'scan.bounded.mode' = 'latest-offset');
    CREATE TABLE snk ({COLUMNS}) WITH ({common}, 'topic' = '{target}', 'sink.delivery-guarantee' = '{guarantee}',
      'sink.transactional-id-prefix' = '{target}');
    """
    catalog = Catalog(spark)
    catalog.execute(script)
    begin = time.perf_counter()
    catalog.execute("INSERT INTO snk SELECT * FROM src").await_termination()
    return time.perf_counter() - begin


def main(records: int = 4_000_000) -> None:
    """Print each round, the medians and the ratio of the rates."""
    from flinkddl.runtime.broker.server import Broker, BrokerOptions
    from flinkddl.runtime.kafka.admin import KafkaAdmin
    from flinkddl.runtime.session.sessions import SparkOptions, build_session

    times: dict[str, list[float]] = {g: [] for g in GUARANTEES}
    with Broker(BrokerOptions(heap="1g")) as broker:
        with KafkaAdmin({"bootstrap.servers": broker.bootstrap}) as admin:
            admin.create_topic("pageviews", PARTITIONS)
        fill(broker.bootstrap, "pageviews", records)
        spark = build_session(SparkOptions(master="local[2]"))
        for i in range(ROUNDS):
            for guarantee in GUARANTEES:
                times[guarantee].append(copy(spark, broker.bootstrap, guarantee, records))
                print(f"round {i} {guarantee}: {times[guarantee][-1]:.1f} s", flush=True)
        spark.stop()
    medians = {g: statistics.median(values[1:]) for g, values in times.items()}
    print(
        f"{records:,} records in {BATCHES} batches, medians {medians}; "
        f"exactly-once / at-least-once = {medians['at-least-once'] / medians['exactly-once']:.2f}"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
