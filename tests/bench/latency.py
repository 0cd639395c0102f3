"""Time from a record to the count that it changes: ``python -m tests.bench latency``, ours and Flink's in one run.

A producer writes records with a key at an even pace; each engine counts them per key into an upsert-kafka topic. The
n-th record of a key makes the count n: its latency is the timestamp of the record that carries the count less that of
the record itself, both set by the producers' clocks on this machine. The first seconds, which warm up, do not count.
"""

from __future__ import annotations

import argparse
import json
import statistics
import threading
import time
import uuid
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.bench.against_flink import Flink

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEYS = 100
WARM_SECONDS = 15
SOURCE = (
    "CREATE TABLE `{topic}` (k BIGINT) WITH ('connector' = 'kafka', 'format' = 'json', 'topic' = '{topic}', "
    "'scan.startup.mode' = 'earliest-offset', 'properties.bootstrap.servers' = '{servers}')"
)
SINK = (
    "CREATE TABLE `{topic}` (k BIGINT, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'upsert-kafka', "
    "'key.format' = 'json', 'value.format' = 'json', 'topic' = '{topic}', 'properties.bootstrap.servers' = '{servers}')"
)
COUNT = "INSERT INTO `{sink}` SELECT k, COUNT(*) FROM `{source}` GROUP BY k"


@dataclass(frozen=True)
class Pace:
    """``rate``: records a second. ``seconds``: how long the producer writes, the warm-up included."""

    servers: str
    rate: int
    seconds: int

    def produce(self, topic: str) -> dict[tuple[int, int], int]:
        """Write the records; return when the n-th of each key was written, in milliseconds since the epoch."""
        from kafka import KafkaProducer

        producer = KafkaProducer(bootstrap_servers=self.servers, linger_ms=0)
        counts: dict[int, int] = defaultdict(int)
        sent: dict[tuple[int, int], int] = {}
        begin = time.perf_counter()
        for i in range(self.rate * self.seconds):
            time.sleep(max(0.0, begin + i / self.rate - time.perf_counter()))
            key = i % KEYS
            counts[key] += 1
            now = time.time_ns() // 1_000_000
            sent[key, counts[key]] = now
            producer.send(topic, json.dumps({"k": key}).encode(), timestamp_ms=now)
        producer.flush()
        producer.close()
        return sent

    def latencies(self, sink: str, sent: dict[tuple[int, int], int]) -> list[int]:
        """Return the milliseconds from each record after the warm-up to its count, as far as that count was written."""
        from kafka import KafkaConsumer, TopicPartition

        consumer = KafkaConsumer(bootstrap_servers=self.servers, auto_offset_reset="earliest")
        consumer.assign([TopicPartition(sink, 0)])
        end = consumer.end_offsets([TopicPartition(sink, 0)])[TopicPartition(sink, 0)]
        start, found = min(sent.values()) + WARM_SECONDS * 1000, []
        while consumer.position(TopicPartition(sink, 0)) < end:
            for records in consumer.poll(timeout_ms=1000).values():
                for record in records:
                    at = sent[json.loads(record.key)["k"], json.loads(record.value)["n"]]
                    if at >= start:
                        found.append(record.timestamp - at)
        consumer.close()
        return found


def ours(spark: SparkSession, pace: Pace, source: str, sink: str, mode: str) -> dict[tuple[int, int], int]:
    """Run the count in one of our modes while the records come."""
    from flinkddl.api import Catalog

    catalog = Catalog(spark)
    tables = [t.format(topic=n, servers=pace.servers) for t, n in ((SOURCE, source), (SINK, sink))]
    catalog.execute(";\n".join([f"SET 'flinkddl.execution.mode' = '{mode}'", *tables]))
    job = catalog.execute(COUNT.format(sink=sink, source=source)).job
    assert job is not None
    sent = pace.produce(source)
    time.sleep(3)
    job.stop()
    return sent


def theirs(flink: Flink, pace: Pace, source: str, sink: str) -> dict[tuple[int, int], int]:
    """Run the count in Flink, which stops by a timeout, while the records come."""
    flink.sql(SOURCE.format(topic=source, servers=pace.servers))
    flink.sql(SINK.format(topic=sink, servers=pace.servers))
    runs = threading.Thread(
        target=flink.sql, args=(COUNT.format(sink=sink, source=source), (pace.seconds + 8) * 1000, True)
    )
    runs.start()
    time.sleep(3)
    sent = pace.produce(source)
    runs.join()
    return sent


def main(records: int = 60_000, rate: int = 1000) -> None:
    """Print a line a mode: how many counts were seen, p50 and p99 in milliseconds, and their ratio to Flink's."""
    from flinkddl.runtime.broker.server import Broker, BrokerOptions
    from flinkddl.runtime.kafka.admin import KafkaAdmin
    from flinkddl.runtime.session.sessions import SparkOptions, build_session

    figures: dict[str, list[float]] = {}
    with Broker(BrokerOptions(heap="1g")) as broker, Flink() as flink:
        flink.sql("SET 'parallelism.default' = '1'")
        conf = {"spark.driver.memory": "2g", "spark.sql.shuffle.partitions": "1"}
        spark = build_session(SparkOptions(master="local[2]", conf=conf))
        pace = Pace(broker.bootstrap, rate, max(records // rate, WARM_SECONDS + 5))
        for who in ("flink", "realtime", "micro-batch"):
            source, sink = (f"{end}-{who}-{uuid.uuid4().hex[:6]}" for end in ("views", "counts"))
            with KafkaAdmin({"bootstrap.servers": broker.bootstrap}) as admin:
                admin.create_topic(source, 1)
                admin.create_topic(sink, 1)
            run = theirs(flink, pace, source, sink) if who == "flink" else ours(spark, pace, source, sink, who)
            found = sorted(pace.latencies(sink, run))
            figures[who] = [statistics.median(found), found[len(found) * 99 // 100]]
            print(
                f"{who}: {len(found):,} counts, p50 {figures[who][0]:.0f} ms, p99 {figures[who][1]:.0f} ms", flush=True
            )
        spark.stop()
    for who in ("realtime", "micro-batch"):
        p50, p99 = (ours / theirs for ours, theirs in zip(figures[who], figures["flink"], strict=True))
        print(f"{who} / flink: p50 {p50:.2f}, p99 {p99:.2f} at {rate:,} records a second", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="tests.bench.latency", description=__doc__)
    parser.add_argument("--records", type=int, default=60_000)
    parser.add_argument("--rate", type=int, default=1000, help="records a second")
    given = parser.parse_args()
    main(given.records, given.rate)
