"""Real-time mode over real Kafka: the cores are asked for first; a count per key follows its topic."""

from __future__ import annotations

import json
import signal
import time
from typing import TYPE_CHECKING

import pytest

from flinkddl.api import Catalog
from flinkddl.diagnostics import FlinkDdlError
from tests.e2e import support
from tests.e2e.realtime_jobs import QUERIES, Work

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from flinkddl.api import Job
    from flinkddl.runtime.broker.server import Broker
    from flinkddl.runtime.job.topics.flow import Flow

pytestmark = pytest.mark.kafka

JOB = """
SET 'flinkddl.execution.mode' = 'realtime';
SET 'parallelism.default' = '{parallelism}';
CREATE TABLE clicks (k STRING, n INT) WITH
  ('connector' = 'kafka', 'topic' = '{source}', 'properties.bootstrap.servers' = '{servers}', 'format' = 'json',
   'scan.startup.mode' = 'earliest-offset');
CREATE TABLE counts (k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH
  ('connector' = 'upsert-kafka', 'topic' = '{sink}', 'properties.bootstrap.servers' = '{servers}',
   'key.format' = 'json', 'value.format' = 'json');
INSERT INTO counts SELECT k, COUNT(*) FROM clicks GROUP BY k;
"""


REALTIME = "SET 'flinkddl.execution.mode' = 'realtime';"
CHAIN = "SET 'flinkddl.execution.state' = 'chain';"


@pytest.fixture
def work(broker: Broker, new_topic: Callable[..., str], tmp_path: Path) -> Iterator[Callable[..., Work]]:
    """Return a function that makes a job of queries; what still runs in the end is ended."""
    made: list[Work] = []

    def make(*names: str, partitions: int = 1) -> Work:
        made.append(Work(tmp_path, broker.bootstrap, names, new_topic, partitions))
        return made[-1]

    yield make
    for one in made:
        one.end(signal.SIGKILL)


@pytest.mark.timeout(1500)
@pytest.mark.parametrize(
    ("names", "partitions", "seconds"),
    [
        # a SUM over upserts with changes and tombstones, a join of two such tables, and a table by another key, of
        # which the row that changed last stands
        pytest.param(("sum", "inner", "last"), 1, 450, id="changing rows"),
        # rows of one group come from several partitions, of which there is no last one
        pytest.param(tuple(n for n in QUERIES if n != "last"), 2, 500, id="each kind", marks=pytest.mark.slow),
    ],
)
def test_each_kind(work: Callable[..., Work], names: tuple[str, ...], partitions: int, seconds: int) -> None:
    """What is sent comes out at once; each partition and each task of a stage at its own pace."""
    job = work(*names, partitions=partitions)
    job.feed.send(300)
    job.start(REALTIME)
    job.await_tables(seconds)
    for _ in range(3):
        job.feed.send(200)
        job.await_tables()


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_killed_in_a_batch(work: Callable[..., Work]) -> None:
    """What was read since the last batch's end is read again."""
    job = work("sum", "left")
    every = "SET 'execution.checkpointing.interval' = '10 s';"
    job.feed.send(200)
    job.start(every + REALTIME)
    job.await_tables(400)
    time.sleep(11)  # a batch ends
    job.feed.send(400)
    job.await_some()
    job.end(signal.SIGKILL)
    job.feed.send(200)
    job.start(every + REALTIME)
    job.await_tables(400)


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("name", ["sum", "inner"])
def test_both_modes_in_turn(work: Callable[..., Work], name: str) -> None:
    """Micro-batches go on where real time ended, and back; which form the state has, the checkpoint says."""
    job = work(name)
    for sets in (REALTIME, "", CHAIN, REALTIME):
        job.feed.send(200)
        job.start("SET 'execution.checkpointing.interval' = '10 s';" + sets)
        job.await_tables(600)
        time.sleep(11 * bool(sets))  # a batch ends
        job.feed.send(100)
        job.await_tables(200)
        # of what was written since a real-time batch's end, and is taken back in one micro-batch, that knows nothing
        time.sleep(11 * (sets == REALTIME))
        job.end()


def start(spark: SparkSession, broker: Broker, source: str, sink: str, parallelism: int) -> Job:
    text = JOB.format(source=source, sink=sink, servers=broker.bootstrap, parallelism=parallelism)
    job = Catalog(spark).execute(text).job
    assert job is not None
    return job


def test_too_few_cores_are_refused_with_the_number_needed(
    spark: SparkSession, broker: Broker, new_topic: Callable[..., str]
) -> None:
    """The tests' session has two cores; one partition and two shuffle partitions make three tasks."""
    with pytest.raises(FlinkDdlError, match=r"FD663.*all 3 tasks.*'local\[2\]' has 2 cores"):
        start(spark, broker, new_topic("clicks"), new_topic("counts"), 2)


@pytest.mark.slow
def test_a_count_per_key(spark: SparkSession, broker: Broker, new_topic: Callable[..., str]) -> None:
    """One partition in, one shuffle partition: two cores do. Every round is seen before the next is written.

    Meanwhile no batch ends, and what flows is told.
    """
    source, sink = new_topic("clicks"), new_topic("counts")
    job = start(spark, broker, source, sink, 1)
    try:
        for round_ in range(1, 4):
            support.send(broker.bootstrap, source, [{"k": k, "n": round_} for k in "aab"], 1)
            wanted = {"a": 2 * round_, "b": round_}
            end = time.monotonic() + 240
            while counts(broker.bootstrap, sink) != wanted:
                assert job.status == "running", job.status
                assert time.monotonic() < end, "the sink does not get there"
                time.sleep(0.2)
        assert job.progress == ()  # the batch lasts for five minutes
        flow = flows(job, 9)
        assert (flow.topics, flow.records_in, flow.records_out, flow.unknown) == ((source,), 9, 9, "")
        assert flow.behind == 0
        assert flow.samples > 0
        assert flow.p50_ms is not None
        assert flow.p99_ms is not None
        assert 0 < flow.p50_ms <= flow.p99_ms < 240_000
    finally:
        job.stop()


def flows(job: Job, out: int) -> Flow:
    """Return the first look at the topics that sees so many records out."""
    end = time.monotonic() + 30
    while not job.flows or job.flows[0].records_out < out:
        assert time.monotonic() < end, job.flows
        time.sleep(0.2)
    return job.flows[0]


def counts(servers: str, topic: str) -> dict[str, int]:
    table = support.upserted(support.read_topic(servers, topic))
    return {json.loads(k)["k"]: json.loads(v)["n"] for k, v in table.items()}
