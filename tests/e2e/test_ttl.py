"""A TTL over real Kafka: totals of inserts begin anew, an idle query stays idle, real time reads again later."""

from __future__ import annotations

import json
import signal
import time
from typing import TYPE_CHECKING

import pytest

from flinkddl.api import Catalog
from tests.e2e import support
from tests.e2e.realtime_jobs import Work
from tests.support.topics import send

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from flinkddl.api import Job
    from flinkddl.runtime.broker.server import Broker

pytestmark = pytest.mark.kafka

COUNTS = """
SET 'table.exec.state.ttl' = '1 s';
SET 'parallelism.default' = '1';
CREATE TABLE clicks (k STRING) WITH
  ('connector' = 'kafka', 'topic' = '{source}', 'properties.bootstrap.servers' = '{servers}', 'format' = 'json',
   'scan.startup.mode' = 'earliest-offset');
CREATE TABLE counts (k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH
  ('connector' = 'upsert-kafka', 'topic' = '{sink}', 'properties.bootstrap.servers' = '{servers}',
   'key.format' = 'json', 'value.format' = 'json');
INSERT INTO counts SELECT k, COUNT(*) FROM clicks GROUP BY k;
"""


def batches(folder: Path) -> list[str]:
    """Return the batches that are planned in all logs below a folder."""
    return sorted(p.name for p in folder.rglob("offsets/*") if not p.name.startswith("."))


@pytest.mark.timeout(600)
def test_a_count_begins_anew_and_an_idle_query_runs_no_batches(
    spark: SparkSession, broker: Broker, new_topic: Callable[..., str], tmp_path: Path
) -> None:
    source, sink = new_topic("clicks"), new_topic("counts")
    text = COUNTS.format(source=source, sink=sink, servers=broker.bootstrap)
    send(broker.bootstrap, source, [{"k": k} for k in "aab"])
    job = Catalog(spark).execute_all(text, run={"checkpoint": str(tmp_path)})[-1].job
    assert job is not None

    def await_counts(wanted: dict[str, int]) -> None:
        end = time.monotonic() + 240
        while counts(broker.bootstrap, sink) != wanted:
            assert job.status == "running", job.error
            assert time.monotonic() < end, counts(broker.bootstrap, sink)
            time.sleep(0.2)

    try:
        await_counts({"a": 2, "b": 1})
        before = settled(job, tmp_path)
        time.sleep(5)  # five times the TTL
        assert batches(tmp_path) == before
        send(broker.bootstrap, source, [{"k": "a"}])
        await_counts({"a": 1, "b": 1})
    finally:
        job.stop()


def settled(job: Job, folder: Path) -> list[str]:
    """Return the batches, once all that there is to read is read."""
    end, known = time.monotonic() + 60, batches(folder)
    while True:
        time.sleep(1)
        if known and batches(folder) == known and job.progress:
            return known
        assert time.monotonic() < end, (known, job.progress)
        known = batches(folder)


def counts(servers: str, topic: str) -> dict[str, int]:
    table = support.upserted(support.read_topic(servers, topic))
    return {json.loads(k)["k"]: json.loads(v)["n"] for k, v in table.items()}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_what_real_time_reads_again_has_the_time_of_the_batch_that_reads_it(
    broker: Broker, new_topic: Callable[..., str], tmp_path: Path
) -> None:
    """Killed in a batch and started after the TTL: the group of before is old to the record that is read again."""
    job = Work(tmp_path, broker.bootstrap, ("distinct",), new_topic)
    sets = "SET 'execution.checkpointing.interval' = '10 s'; SET 'table.exec.state.ttl' = '20 s';"
    sets += "SET 'flinkddl.execution.mode' = 'realtime';"
    try:
        send(job.servers, job.topics["c"], [{"g": 1, "x": 1}])
        job.start(sets)
        await_table(job, {1: 1})
        before = batches(tmp_path)
        while batches(tmp_path) == before:  # a batch ends, another one has ten seconds
            time.sleep(0.1)
        send(job.servers, job.topics["c"], [{"g": 1, "x": 2}])
        await_table(job, {1: 2})
        job.end(signal.SIGKILL)
        time.sleep(25)
        job.start(sets)
        await_table(job, {1: 1})
    finally:
        job.end(signal.SIGKILL)


def await_table(job: Work, wanted: dict[int, int]) -> None:
    end = time.monotonic() + 300
    while (found := job.table(job.names[0])) != wanted:
        assert job.process is not None
        assert job.process.poll() is None, job.log
        assert time.monotonic() < end, (found, job.log)
        time.sleep(0.1)
