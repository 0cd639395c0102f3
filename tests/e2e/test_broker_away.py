"""A Kafka cluster that goes away and comes back: two lines, a job that waits, nothing lost and nothing doubled."""

from __future__ import annotations

import json
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.api import Catalog
from flinkddl.cli.meter import JobMeter
from flinkddl.cli.panel import Panel
from flinkddl.runtime.job.topics import topic_watch
from flinkddl.runtime.kafka.admin import KafkaAdmin
from tests.e2e.test_signals import Run
from tests.support.outage import Outages
from tests.support.topics import committed, send

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from flinkddl.api import Job

pytestmark = pytest.mark.kafka

TABLES = """
CREATE TABLE src (id INT, k STRING) WITH ('connector' = 'kafka', 'topic' = 'src', 'format' = 'json',
  'properties.bootstrap.servers' = '{servers}', 'properties.group.id' = 'readers'{short},
  'scan.startup.mode' = 'earliest-offset');
CREATE TABLE dst (id INT, k STRING) WITH ('connector' = 'kafka', 'topic' = 'dst', 'format' = 'json',
  'properties.bootstrap.servers' = '{servers}', 'sink.delivery-guarantee' = 'exactly-once',
  'sink.transactional-id-prefix' = 'away'{short}{block});
CREATE TABLE sums (k STRING, n BIGINT, total BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'sums', 'properties.bootstrap.servers' = '{servers}',
  'key.format' = 'json', 'value.format' = 'json', 'sink.delivery-guarantee' = 'exactly-once',
  'sink.transactional-id-prefix' = 'sums'{short}{block});
"""
INSERTS = """
EXECUTE STATEMENT SET BEGIN
  INSERT INTO dst SELECT id, k FROM src;
  INSERT INTO sums SELECT k, COUNT(*), SUM(id) FROM src GROUP BY k;
END;
"""
# a client that gives up soon, so that a short outage fails a query; Kafka's own are 60 and 120 s
SHORT = ", 'properties.default.api.timeout.ms' = '4000', 'properties.request.timeout.ms' = '2000'"
SMALL = "SET 'flinkddl.execution.max-offsets-per-trigger' = '100';"
BLOCK = ", 'properties.max.block.ms' = '4000'"


class World:
    """A broker of its own with a topic that is copied and summed up, and what the job has told."""

    def __init__(self, spark: SparkSession, broker: Outages, folder: Path) -> None:
        self.spark, self.broker, self.folder, self.sent = spark, broker, folder, 0
        self.told: list[str] = []
        with KafkaAdmin({"bootstrap.servers": broker.bootstrap}) as admin:
            for topic in ("src", "dst", "sums"):
                admin.create_topic(topic, 2)

    def start(self, settings: str = "", *, short: bool = True) -> Job:
        catalog = Catalog(self.spark, views=False)
        more = {"short": SHORT, "block": BLOCK} if short else {"short": "", "block": ""}
        catalog.execute(settings + TABLES.format(servers=self.broker.bootstrap, **more))
        run = {"checkpoint": str(self.folder), "notice": self.told.append}
        job = catalog.execute_all(INSERTS, run=run)[-1].job
        assert job is not None
        return job

    def send(self, count: int) -> None:
        rows = ({"id": i, "k": "abc"[i % 3]} for i in range(self.sent, self.sent + count))
        send(self.broker.bootstrap, "src", rows)
        self.sent += count

    def check(self, job: Job) -> None:
        """Recount what a ``read_committed`` reader sees, once the job has read all."""
        assert job.await_input(90), (job.waiting, job.last_failure)
        ids = sorted(json.loads(r.value)["id"] for r in committed(self.broker.bootstrap, "dst"))
        assert ids == list(range(self.sent))
        sums = {
            v["k"]: (v["n"], v["total"]) for r in committed(self.broker.bootstrap, "sums") if (v := json.loads(r.value))
        }
        every = {k: range(i, self.sent, 3) for i, k in enumerate("abc")}
        assert sums == {k: (len(ids), sum(ids)) for k, ids in every.items()}

    def outage(self, seconds: float, meanwhile: Callable[[], Any] = lambda: None, *, frozen: bool = False) -> None:
        """Take the broker away in the middle of the work."""
        self.send(1000)
        (self.broker.freeze if frozen else self.broker.down)()
        end = time.monotonic() + seconds
        meanwhile()
        time.sleep(max(0.0, end - time.monotonic()))
        self.broker.freeze(thaw=True) if frozen else self.broker.up()
        self.send(100)


@pytest.fixture
def world(spark: SparkSession, tmp_path: Path) -> Iterator[World]:
    with Outages() as broker:
        yield World(spark, broker, tmp_path)


def test_a_job_waits_for_its_cluster_and_loses_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_watch, "AWAY_SECONDS", 3.0)
    world.send(300)
    job = world.start(SMALL)
    try:
        world.check(job)
        world.outage(0, lambda: _waits(job) or _fails(job))
        world.check(job)
        assert bool(job.restarts) == bool(job.last_failure)  # a query that was just asking for offsets goes on waiting
        assert job.waiting == ""
        lines = [line for line in world.told if "discovery" not in line]
        assert [line.split("'")[2].split(" since ")[0].rsplit(" after ")[0] for line in lines] == [
            " does not answer",
            " is back",
        ], world.told
        world.send(100)
        world.broker.down()
        _waits(job)
        began = time.monotonic()
        job.stop()
        assert time.monotonic() - began < 10
        assert job.status == "stopped"
    finally:
        job.stop()
    world.broker.up()
    world.send(10)
    again = world.start()
    try:
        world.check(again)
    finally:
        again.stop()


@pytest.mark.slow
@pytest.mark.parametrize(("seconds", "frozen"), [(5, False), (30, False), (90, False), (40, True), (240, False)])
def test_with_kafkas_own_patience(world: World, seconds: float, frozen: bool) -> None:
    world.send(300)
    job = world.start(short=False)
    try:
        world.check(job)
        world.outage(seconds, frozen=frozen)
        world.check(job)
        _is_back(world.told)
    finally:
        job.stop()
    about_kafka = [line for line in world.told if "Kafka at" in line]
    # a broker takes seconds to come up, so the shortest outage may be told too: once away, once back
    assert len(about_kafka) in ((2,) if seconds > 10 else (0, 2)), world.told
    assert len(world.told) - len(about_kafka) <= 1, world.told
    print(f"{seconds} s: {job.restarts} restarts, {world.told}")


def _is_back(told: list[str]) -> None:
    """What the watch says comes with its own next question, which may be after the last row."""
    end = time.monotonic() + 30
    while sum("does not answer" in line for line in told) > sum("is back" in line for line in told):
        assert time.monotonic() < end, told
        time.sleep(0.1)


def _fails(job: Job) -> None:
    end = time.monotonic() + 15
    while not job.last_failure and time.monotonic() < end:
        time.sleep(0.1)


def _waits(job: Job) -> None:
    end = time.monotonic() + 20
    while not job.waiting and time.monotonic() < end:
        time.sleep(0.1)
    assert job.status == "running"
    assert "waiting for Kafka at '127.0.0.1:" in job.waiting
    meter = JobMeter(job._running.job)
    meter.attach(job)
    assert job.waiting.lower() in str(Panel(meter)._states()[0])


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_job_that_waits_for_its_cluster(tmp_path: Path, number: signal.Signals) -> None:
    with Outages() as broker:
        with KafkaAdmin({"bootstrap.servers": broker.bootstrap}) as admin:
            for topic in ("src", "dst", "sums"):
                admin.create_topic(topic, 2)
        send(broker.bootstrap, "src", [{"id": i, "k": "a"} for i in range(300)])
        run = Run(tmp_path, TABLES.format(servers=broker.bootstrap, short="", block="") + INSERTS)
        try:
            run.wait_until(lambda: len(run.batches("commits")) >= 1)
            broker.down()
            run.wait_until(lambda: "does not answer" in run.log.read_text())
            code, seconds, said = run.end(number)
        finally:
            run.close()
    assert (code, "Traceback" in said) == (0, False), said
    assert seconds < 30, said
    print(f"{number.name} while Kafka is away: ended after {seconds:.0f} s")
