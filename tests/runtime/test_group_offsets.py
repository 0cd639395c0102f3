"""The consumer group of a job, as Kafka's own tool shows it, and a second run that starts from it."""

from __future__ import annotations

import json
import os
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from flinkddl.api import Catalog
from flinkddl.runtime.machine.jars import resolve_jars
from flinkddl.runtime.machine.java import find_java
from tests.support.topics import committed, send

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from flinkddl.runtime.broker.server import Broker
    from flinkddl.runtime.kafka.admin import KafkaAdmin

pytestmark = pytest.mark.kafka
HALF = 50_000
WAIT_SECONDS = 300


def lags(servers: str, group: str) -> dict[int, int]:
    """Return partition -> lag as ``kafka-consumer-groups --describe`` prints it."""
    from jgo.maven import MavenContext

    broker = next(a for a in resolve_jars("broker") if a.name.startswith("kafka_2.13-"))
    version = broker.stem.rpartition("-")[2]
    try:
        tools = MavenContext().project("org.apache.kafka", "kafka-tools").at_version(version).artifact().resolve()
    except (RuntimeError, OSError) as error:
        pytest.skip(f"no kafka-tools: {error}")
    paths = os.pathsep.join(map(str, (tools, *resolve_jars("broker"))))
    command = [find_java(), "-XX:TieredStopAtLevel=1", "-cp", paths]
    command += ["org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", "--bootstrap-server", servers]
    done = subprocess.run(
        [*command, "--describe", "--group", group], capture_output=True, text=True, timeout=400, check=True
    )
    table = [line.split() for line in done.stdout.splitlines() if line.strip()]
    head = next(row for row in table if "LAG" in row)
    rows = table[table.index(head) + 1 :]
    return {int(row[head.index("PARTITION")]): int(row[head.index("LAG")]) for row in rows}


def test_a_second_run_starts_where_the_group_stands(
    spark: SparkSession, broker: Broker, admin: KafkaAdmin, new_topic: Callable[..., str]
) -> None:  # K10, E20: group-offsets without a checkpoint
    source, out, servers = new_topic("src", partitions=3), new_topic("out", partitions=2), broker.bootstrap
    group = f"g-{source}"
    common = f"'connector' = 'kafka', 'format' = 'json', 'properties.bootstrap.servers' = '{servers}'"
    script = f"""
    CREATE TABLE src (id BIGINT) WITH ({common}, 'topic' = '{source}', 'properties.group.id' = '{group}',
      'properties.auto.offset.reset' = 'earliest');
    CREATE TABLE snk (id BIGINT) WITH ({common}, 'topic' = '{out}');
    """
    for half in range(2):
        send(servers, source, ({"id": half * HALF + i} for i in range(HALF)))
        catalog = Catalog(spark)
        catalog.execute(script)
        job = catalog.execute("INSERT INTO snk SELECT id FROM src").job
        assert job is not None
        ends, end = admin.end_offsets([source]), time.monotonic() + WAIT_SECONDS
        while admin.committed(group, [source]) != ends:
            committed_now = admin.committed(group, [source])
            assert time.monotonic() < end, f"half {half}: {committed_now} of {ends}, {job.status} {job.progress}"
            assert job.status in ("starting", "running"), job.status
            time.sleep(0.2)
        if half == 0:
            assert lags(servers, group) == {0: 0, 1: 0, 2: 0}
        job.stop()
    assert sorted(json.loads(r.value)["id"] for r in committed(servers, out)) == list(range(2 * HALF))
