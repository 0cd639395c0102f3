"""The page views query, Kafka to Kafka, against a hand-written PySpark program doing the same, in turn, in one run."""

from __future__ import annotations

import json
import random
import statistics
import tempfile
import time
from typing import TYPE_CHECKING, Any

from tests.e2e import support

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTITIONS, ROUNDS = 4, 3


def fill(servers: str, topic: str, records: int) -> None:
    """Write page views; a pool of distinct messages keeps the producer fast."""
    from kafka import KafkaProducer

    random_ = random.Random(5)
    pool = [
        json.dumps(
            {
                "user_id": int(random_.paretovariate(0.6)) % 20000,
                "page_id": random_.randrange(10000),
                "viewtime": f"2024-03-01 10:{i // 60 % 60:02d}:{i % 60:02d}",
                "user_region": random_.choice(("eu", "us", "ap", "af", "sa")),
            }
        ).encode()
        for i in range(100_000)
    ]
    producer = KafkaProducer(bootstrap_servers=servers, linger_ms=100, batch_size=1 << 19)
    for i in range(records):
        producer.send(topic, pool[i % len(pool)], partition=i % PARTITIONS)
    producer.flush()
    producer.close()


def ours(spark: SparkSession, servers: str, source: str, target: str) -> float:
    """Run the sample through flinkddl to the end of the topic; return the seconds."""
    from flinkddl.api import Catalog

    text = support.script("pageviews/job.sql", {"pageviews": source, "pageviews_per_region": target})
    text = text.replace("'scan.startup.mode'", "'scan.bounded.mode' = 'latest-offset',\n  'scan.startup.mode'")
    # what is compared is the query; the watermark's last round would be a second start
    text = text.replace(",\n  WATERMARK FOR viewtime AS viewtime - INTERVAL '2' SECOND", "")
    begin = time.perf_counter()
    Catalog(spark).execute(
        f"SET 'execution.runtime-mode' = 'streaming';\n{text}", variables={"KAFKA_SERVERS": servers}
    ).await_termination()
    return time.perf_counter() - begin


def by_hand(spark: SparkSession, servers: str, source: str, target: str) -> float:
    """Run what a PySpark user would write; return the seconds."""
    from pyspark.sql import functions as F

    session = spark.newSession()
    for key, value in {
        "spark.sql.streaming.stateStore.providerClass": (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        ),
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    }.items():
        session.conf.set(key, value)
    begin = time.perf_counter()
    read = session.readStream.format("kafka").option("kafka.bootstrap.servers", servers)
    read = read.option("subscribe", source).option("startingOffsets", "earliest")
    schema = "user_id bigint, page_id bigint, viewtime timestamp_ntz, user_region string"
    options = {"timestampNTZFormat": "yyyy-MM-dd HH:mm:ss[.SSS]"}
    view = read.load().select(F.from_json(F.col("value").cast("string"), schema, options).alias("v")).select("v.*")
    counted = view.groupBy("user_region").agg(
        F.count("*").alias("pv"), F.size(F.collect_set("user_id")).cast("bigint").alias("uv")
    )
    out = counted.select(
        F.to_json(F.struct("user_region")).alias("key"), F.to_json(F.struct("user_region", "pv", "uv")).alias("value")
    )
    write = out.writeStream.format("kafka").option("kafka.bootstrap.servers", servers).option("topic", target)
    write = write.option("checkpointLocation", tempfile.mkdtemp()).outputMode("update")
    write.trigger(availableNow=True).start().awaitTermination()
    return time.perf_counter() - begin


def main(records: int = 4_000_000) -> None:
    """Print each round, the medians and the ratio hand-written / ours (above 1: ours is faster)."""
    from flinkddl.runtime.broker.server import Broker, BrokerOptions
    from flinkddl.runtime.kafka.admin import KafkaAdmin
    from flinkddl.runtime.session.sessions import SparkOptions, build_session

    conf = {"spark.driver.memory": "2g", "spark.sql.shuffle.partitions": "2"}
    times: dict[str, list[float]] = {"ours": [], "by hand": []}
    with Broker(BrokerOptions(heap="1g")) as broker, KafkaAdmin({"bootstrap.servers": broker.bootstrap}) as admin:
        admin.create_topic("pageviews", PARTITIONS, {"retention.ms": "-1"})
        print(f"writing {records:,} records ...", flush=True)
        fill(broker.bootstrap, "pageviews", records)
        spark = build_session(SparkOptions(master="local[2]", conf=conf))
        tables: list[Any] = []
        for i in range(ROUNDS):
            for name, run in (("ours", ours), ("by hand", by_hand)):
                target = f"out-{i}-{name.replace(' ', '-')}"
                admin.create_topic(target, 1)
                times[name].append(run(spark, broker.bootstrap, "pageviews", target))
                tables.append(support.upserted(support.read_topic(broker.bootstrap, target)))
                print(f"round {i} {name}: {times[name][-1]:.1f} s", flush=True)
        spark.stop()
    assert all(t == tables[0] for t in tables), "the two programs disagree"
    # the first round warms up both
    medians = {name: statistics.median(values[1:]) for name, values in times.items()}
    rates = {name: f"{records / seconds / 1e6:.2f} M records/s" for name, seconds in medians.items()}
    print(f"medians {rates}; ratio by hand / ours = {medians['by hand'] / medians['ours']:.2f}")


if __name__ == "__main__":
    main(4_000_000)
