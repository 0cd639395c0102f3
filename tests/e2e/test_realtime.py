"""Real-time mode over real Kafka: the cores are asked for first; a count per key follows its topic."""

from __future__ import annotations

import json
import signal
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest

import flinkddl.cli.state
from flinkddl.api import Catalog
from flinkddl.cli.main import main
from flinkddl.diagnostics import FlinkDdlError
from tests.e2e import support
from tests.e2e.realtime_jobs import IN_ORDER, REALTIME, Work, in_turn
from tests.support.nightly import nightly
from tests.support.topics import send

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


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_changing_rows(work: Callable[..., Work]) -> None:
    """What is sent comes out at once; each partition and each task of a stage at its own pace.

    A SUM over upserts with changes and tombstones, a join of two such tables, and a table by another key, of which the
    row that changed last stands.
    """
    job = work("sum", "inner", "last")
    job.feed.send(300)
    job.start(REALTIME)
    job.await_tables(450)
    for _ in range(3):
        job.feed.send(200)
        job.await_tables()


EVERY = "SET 'execution.checkpointing.interval' = '5 s';"
KINDS = {
    "four kinds": (("sum", "fullif", "top", "latest"), 1),
    "in order": (IN_ORDER, 1),
    "aggregates": (("sum", "cdc", "distinct", "max", "counts"), 2),
    "joins": (("inner", "left", "right", "full", "pairs"), 2),
    "joins with a condition": (("leftif", "rightif", "fullif", "semiif", "antiif"), 2),
    "all else": (("latest", "semi", "anti", "top", "over", "chain"), 2),
}
"""Jobs whose queries have every kind of operator that no watermark moves; test_windows_in_a_chain has the others."""


@pytest.mark.timeout(1500)
@pytest.mark.parametrize("kinds", [next(iter(KINDS)), *map(nightly, list(KINDS)[1:])])
def test_killed_and_in_both_modes_in_turn(work: Callable[..., Work], kinds: str) -> None:
    names, partitions = KINDS[kinds]
    in_turn(work(*names, partitions=partitions), EVERY)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("sets", [pytest.param(REALTIME, id="real time"), pytest.param("", id="micro-batches")])
def test_killed_in_the_first_batch(work: Callable[..., Work], sets: str) -> None:
    """Spark begins a query in empty folders alone: what a first batch has left that has no plan goes with the start."""
    job = work("sum")
    job.send(200)
    job.start(REALTIME)
    job.await_tables(400)
    job.end(signal.SIGKILL)
    assert {*job.batches("offsets").values()} == {-1}
    job.send(100)
    job.start(sets)
    job.await_tables(400)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_killed_while_the_first_batch_ends(work: Callable[..., Work]) -> None:
    """In real time Spark takes away a plan without an end, and begins anew: half an end goes with the start, too."""
    job = work("sum")
    job.send(200)
    job.start(EVERY + REALTIME)
    job.await_tables(400)
    job.await_batch()
    job.end(signal.SIGKILL)
    for query in job.batches("commits"):
        for ended in (query / "commits").iterdir():
            ended.unlink()
        (query / "commits" / ".0.7a11.tmp").touch()
        for later in (p for p in (query / "offsets").iterdir() if p.name not in ("0", ".0.crc")):
            later.unlink()
    job.send(100)
    job.start(EVERY + REALTIME)
    job.await_tables(400)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_what_nobody_touches_goes_when_a_batch_begins(
    work: Callable[..., Work], spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three batches later a group that is touched begins anew, and the entries of the one beside it are gone."""
    job = work("distinct")
    send(job.servers, job.topics["c"], [{"g": g, "x": x} for g in (1, 2) for x in (1, 2)])
    sets = "SET 'execution.checkpointing.interval' = '10 s'; SET 'table.exec.state.ttl' = '10 s';"
    job.start(sets + REALTIME)
    await_table(job, {1: 2, 2: 2})
    time.sleep(31)
    send(job.servers, job.topics["c"], [{"g": 1, "x": 3}])
    await_table(job, {1: 1, 2: 2})  # what was forgotten is not taken back, as in Flink
    time.sleep(11)  # its batch ends
    job.end()

    monkeypatch.setattr(flinkddl.cli.state, "_spark", lambda _: nullcontext(spark))
    command = ["state", str(job.root / "state"), "kinds", "out_distinct/0", "--format", "json"]
    assert main(command) == 0
    kept = json.loads(capsys.readouterr().out)
    groups = [(e["key"]["g"], e["value"]["rows"]) for e in kept if e["value"] is not None and "rows" in e["value"]]
    assert groups == [(1, 1)], kept


def await_table(job: Work, wanted: dict[int, int], seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while (found := job.table(job.names[0])) != wanted:
        assert job.process is not None
        assert job.process.poll() is None, job.log
        assert time.monotonic() < end, (found, job.log)
        time.sleep(0.3)


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


AUTO = """
SET 'flinkddl.execution.mode' = 'auto';
CREATE TABLE clicks (k STRING, n INT) WITH
  ('connector' = 'kafka', 'topic' = '{source}', 'properties.bootstrap.servers' = '{servers}', 'format' = 'json',
   'scan.startup.mode' = 'earliest-offset');
CREATE TABLE seen (k STRING, n INT) WITH
  ('connector' = 'kafka', 'topic' = '{sink}', 'properties.bootstrap.servers' = '{servers}', 'format' = 'json');
INSERT INTO seen SELECT k, n FROM clicks WHERE n > 0;
"""


@pytest.mark.timeout(600)
def test_auto(spark: SparkSession, broker: Broker, new_topic: Callable[..., str], tmp_path: Path) -> None:
    """The tests' session has two cores: real time for one partition, which leaves one free, and not for two jobs.

    Each goes on in the mode in which it was begun, whatever the cores allow by then.
    """
    jobs: list[Job] = []
    told: list[str] = []

    def start(source: str, sink: str, rows: int) -> Job:
        support.send(broker.bootstrap, source, [{"k": "a", "n": n} for n in (0, 1)], 1)
        text = AUTO.format(source=source, sink=sink, servers=broker.bootstrap)
        run = {"checkpoint": str(tmp_path / source), "notice": told.append}
        job = Catalog(spark).execute_all(text, run=run)[-1].job
        assert job is not None
        jobs.append(job)
        end = time.monotonic() + 240
        while len(found := support.read_topic(broker.bootstrap, sink)) < rows:
            assert job.status == "running", job.error
            assert time.monotonic() < end, "the sink does not get there"
            time.sleep(0.2)
        assert {json.loads(r.value)["n"] for r in found} == {1}
        return job

    def said() -> str:
        return "; ".join(line for line in told if line.startswith("mode auto"))

    fast, slow = (new_topic("clicks"), new_topic("seen")), (new_topic("clicks"), new_topic("seen"))
    try:
        first = start(*fast, 1)
        assert said() == "mode auto: real time: 1 tasks, each on a core of its own, and 2 cores"
        told.clear()
        second = start(*slow, 1)
        assert "micro-batches" in said()
        assert "2 cores, 1 of them taken by other jobs" in said()
        second.stop()
        first.stop()
        told.clear()
        start(*slow, 2).stop()
        assert said() == "mode auto: micro-batches: its checkpoint was begun so"
        told.clear()
        start(*fast, 2)
        assert said() == "mode auto: real time: its checkpoint was left so"
    finally:
        for job in jobs:
            job.stop()


CLOCK = """
SET 'flinkddl.execution.mode' = 'realtime';
SET 'parallelism.default' = '1';
CREATE TABLE clicks (k STRING, pt AS PROCTIME()) WITH
  ('connector' = 'kafka', 'topic' = '{source}', 'properties.bootstrap.servers' = '{servers}', 'format' = 'json',
   'scan.startup.mode' = 'earliest-offset');
CREATE TABLE times (k STRING NOT NULL, unix BIGINT, now BIGINT, pt BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH
  ('connector' = 'upsert-kafka', 'topic' = '{sink}', 'properties.bootstrap.servers' = '{servers}',
   'key.format' = 'json', 'value.format' = 'json');
INSERT INTO times {query};
"""
ZERO = "TIMESTAMP '1970-01-01 00:00:00'"
TIMES = f"""UNIX_TIMESTAMP() AS u, TIMESTAMPDIFF(SECOND, {ZERO}, LOCALTIMESTAMP) AS l,
  TIMESTAMPDIFF(SECOND, {ZERO}, CAST(pt AS TIMESTAMP(3))) AS p"""
CLOCKS = {
    "a row": f"SELECT k, {TIMES} FROM clicks WHERE LOCALTIMESTAMP > TIMESTAMP '2020-01-01 00:00:00'",
    "a chain": f"SELECT k, MAX(u), MAX(l), MAX(p) FROM (SELECT k, {TIMES} FROM clicks) GROUP BY k",
}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", CLOCKS)
def test_each_row_has_its_own_time(
    name: str, spark: SparkSession, broker: Broker, new_topic: Callable[..., str]
) -> None:
    """All within one batch, of which Spark's own functions give the beginning."""
    source, sink = new_topic("clicks"), new_topic("times")
    text = CLOCK.format(source=source, sink=sink, servers=broker.bootstrap, query=CLOCKS[name])
    job = Catalog(spark).execute(text).job
    assert job is not None
    try:
        for n, key in enumerate("ab", 1):
            sent = int(time.time())
            support.send(broker.bootstrap, source, [{"k": key}], 1)
            end = time.monotonic() + 240
            while len(found := support.upserted(support.read_topic(broker.bootstrap, sink))) < n:
                assert job.status == "running", job.error
                assert time.monotonic() < end, "the sink does not get there"
                time.sleep(0.2)
            row = next(json.loads(v) for k, v in found.items() if json.loads(k)["k"] == key)
            times = {row["unix"], row["now"], row["pt"]}
            assert sent <= min(times) <= max(times) <= min(times) + 1 <= time.time() + 1
            time.sleep(3)
        assert job.progress == ()  # one batch
    finally:
        job.stop()
