"""One topic written half by Flink and half by us: a key has one partition, and compaction leaves one record of it."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from flinkddl.api import Catalog
from flinkddl.runtime.broker.server import Broker, BrokerOptions
from flinkddl.runtime.kafka.admin import KafkaAdmin
from tests.support.topics import committed, send

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.flink, pytest.mark.kafka]
ORACLE = Path(os.environ.get("FLINKDDL_ORACLE", Path(__file__).parents[3] / "shared" / "oracle" / "flink"))
PARTITIONS, KEYS, WAIT_SECONDS = 7, 300, 120
COMPACT = {
    "cleanup.policy": "compact", "segment.ms": "200", "min.cleanable.dirty.ratio": "0.001",
    "max.compaction.lag.ms": "200", "min.compaction.lag.ms": "0",
}  # fmt: skip
SCRIPT = """
CREATE TABLE src (id BIGINT, name STRING, n BIGINT) WITH ('connector' = 'kafka', 'topic' = '{source}',
  'properties.bootstrap.servers' = '{servers}', 'scan.startup.mode' = 'earliest-offset',
  'scan.bounded.mode' = 'latest-offset', 'format' = 'json');
CREATE TABLE snk (id BIGINT, name STRING, n BIGINT, who STRING, PRIMARY KEY (name, id) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'snk', 'properties.bootstrap.servers' = '{servers}',
  'key.format' = 'json', 'value.format' = 'json');
INSERT INTO snk SELECT id, name, n, '{who}' FROM src;
"""


def rows(version: int) -> list[dict[str, object]]:
    names = ("plain", "Grüße", "“quoted”", 'a "b" \\ c', "日本", "😀")
    return [{"id": i - 100, "name": names[i % len(names)], "n": version} for i in range(KEYS)]


def test_one_partition_and_one_record_a_key(spark: SparkSession, tmp_path: Path) -> None:
    if not ORACLE.exists():
        pytest.skip(f"no Flink at {ORACLE}")
    quick = (("log.cleaner.backoff.ms", "200"), ("log.cleaner.threads", "1"))
    with Broker(BrokerOptions(heap="400m", properties=quick)) as broker:
        servers = broker.bootstrap
        with KafkaAdmin({"bootstrap.servers": servers}) as admin:
            admin.create_topic("snk", PARTITIONS, COMPACT)
            for source in ("first", "second"):
                admin.create_topic(source, 3)
        send(servers, "first", rows(1))
        send(servers, "second", rows(2))
        flink = tmp_path / "flink.sql"
        head = "SET 'table.dml-sync' = 'true';\nSET 'table.exec.sink.require-on-conflict' = 'false';\n"
        flink.write_text(head + SCRIPT.format(source="first", who="flink", servers=servers))
        done = subprocess.run([str(ORACLE), "sql", str(flink)], capture_output=True, text=True, timeout=300, check=True)
        assert "[ERROR]" not in done.stdout, done.stdout
        ours = SCRIPT.format(source="second", who="ours", servers=servers)
        Catalog(spark).execute(f"SET 'execution.runtime-mode' = 'streaming';\n{ours}").await_termination()

        records = committed(servers, "snk")
        # the cleaner may have begun; each record that is left tells where its engine puts the key
        assert {b'"who":"ours"' in r.value for r in records} == {True, False}
        places: dict[bytes, set[int]] = {}
        for record in records:
            places.setdefault(record.key, set()).add(record.partition)
        assert len(places) == KEYS, "the two write other key bytes"
        assert all(len(found) == 1 for found in places.values()), "the two choose other partitions"
        assert len({p for found in places.values() for p in found}) == PARTITIONS
        _await_compaction(servers, set(places))


def _await_compaction(servers: str, keys: set[bytes]) -> None:
    """Close the segments by further records until the cleaner has left one record a key: the later one, ours."""
    from kafka import KafkaProducer

    producer, end, turn = KafkaProducer(bootstrap_servers=servers), time.monotonic() + WAIT_SECONDS, 0
    while True:
        left = [r for r in committed(servers, "snk") if r.key in keys]
        if len(left) == len(keys):
            break
        assert time.monotonic() < end, f"{len(left)} records of {len(keys)} keys are left"
        turn += 1
        for partition in range(PARTITIONS):
            producer.send("snk", key=b"end", value=str(turn).encode(), partition=partition)
        producer.flush()
        time.sleep(0.5)
    producer.close()
    assert all(b'"who":"ours"' in r.value for r in left)
