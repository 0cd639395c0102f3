"""Restarts by ``restart-strategy.*``: of the query that failed alone, with its state, until the strategy is used up."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.api import Catalog
from flinkddl.diagnostics import FlinkDdlError
from tests.e2e import support
from tests.support.topics import committed, send

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from flinkddl.api import Job
    from flinkddl.runtime.broker.server import Broker

pytestmark = pytest.mark.kafka

TABLES = """
CREATE TEMPORARY FUNCTION flaky AS 'tests.support.flaky.flaky' LANGUAGE PYTHON;
CREATE TABLE src (id INT, k STRING) WITH ('connector' = 'kafka', 'topic' = '{src}', 'format' = 'json',
  'properties.bootstrap.servers' = '{servers}', 'scan.startup.mode' = 'earliest-offset');
CREATE TABLE dst (id INT) WITH ('connector' = 'kafka', 'topic' = '{dst}', 'format' = 'json',
  'properties.bootstrap.servers' = '{servers}');
CREATE TABLE sums (k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'upsert-kafka',
  'topic' = '{sums}', 'properties.bootstrap.servers' = '{servers}', 'key.format' = 'json', 'value.format' = 'json',
  'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = '{sums}');
EXECUTE STATEMENT SET BEGIN
  INSERT INTO dst SELECT id FROM src;
  INSERT INTO sums SELECT k, SUM({sum}) FROM src GROUP BY k;
END;
"""
FIXED = "SET 'restart-strategy.type' = 'fixed-delay'; SET 'restart-strategy.fixed-delay.{}' = '{}';"


class World:
    """Two queries over one topic, of which the one that sums up fails as long as a file is there."""

    def __init__(self, spark: SparkSession, servers: str, new_topic: Callable[..., str], folder: Path) -> None:
        self.spark, self.servers, self.down, self.folder = spark, servers, folder / "down", folder
        self.topics = {name: new_topic(name) for name in ("src", "dst", "sums")}
        self.told: list[str] = []

    def start(self, settings: str, sum: str = "flaky(id, '{}')", **run: Any) -> Job:
        catalog = Catalog(self.spark, views=False, allow_python=["tests"])
        text = TABLES.format(servers=self.servers, sum=sum.format(self.down), **self.topics)
        job = catalog.execute_all(settings + text, run={"notice": self.told.append, **run})[-1].job
        assert job is not None
        return job

    def send(self, first: int, end: int) -> None:
        send(self.servers, self.topics["src"], ({"id": i, "k": "ab"[i % 2]} for i in range(first, end)))

    def sums(self) -> dict[bytes, bytes]:
        return support.upserted(committed(self.servers, self.topics["sums"]))

    def copied(self) -> int:
        return len(committed(self.servers, self.topics["dst"]))


@pytest.fixture
def world(spark: SparkSession, broker: Broker, new_topic: Callable[..., str], tmp_path: Path) -> World:
    return World(spark, broker.bootstrap, new_topic, tmp_path)


def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


def sums(end: int) -> dict[bytes, bytes]:
    return {b'{"k":"%s"}' % k: b'{"k":"%s","n":%d}' % (k, sum(range(i, end, 2))) for i, k in enumerate((b"a", b"b"))}


def test_only_the_query_that_failed_is_restarted_and_its_state_is_kept(world: World) -> None:
    world.send(0, 40)
    job = world.start("", checkpoint=str(world.folder / "state"))  # by default, as there is a folder
    try:
        assert job.await_input(60)
        assert world.sums() == sums(40)
        world.down.touch()
        world.send(40, 60)
        until(lambda: job.restarts >= 2)
        world.send(60, 70)
        until(lambda: world.copied() == 70)  # the other one goes on
        assert world.sums() == sums(40)
        assert "the service is down" in job.last_failure
        world.down.unlink()
        assert job.await_input(60)
        assert (world.sums(), world.copied()) == (sums(70), 70)
        assert (job.status, job.waiting) == ("running", "")
    finally:
        job.stop()
    failures = [line for line in world.told if "the service is down" in line]
    assert "; restarting in 1 s (1st); the whole error is in" in failures[0]
    assert len(failures) in (job.restarts, job.restarts + 1)


def test_a_strategy_that_is_used_up_ends_the_job(world: World) -> None:
    world.send(0, 4)
    world.down.touch()
    job = world.start(FIXED.format("attempts", 2) + FIXED.format("delay", "200 ms"))
    with pytest.raises(FlinkDdlError, match=r"FD830: .*service is down.*'fixed-delay' is used up after 2 restarts"):
        job.await_termination(60)
    assert (job.status, job.restarts) == ("failed", 2)
    assert not any(query.isActive for query in job._running._held.queries.running.values())


def test_without_a_strategy_and_for_a_record_that_does_not_fit_nothing_is_restarted(world: World) -> None:
    world.send(0, 4)
    for run in ({}, {"checkpoint": str(world.folder / "state")}):
        with pytest.raises(FlinkDdlError, match=r"FD830: .*Division by zero"):
            world.start("", sum="10 / (id - 2)", **run).await_termination(60)
    chosen = world.start(FIXED.format("attempts", 1) + FIXED.format("delay", "0"), sum="10 / (id - 2)")
    with pytest.raises(FlinkDdlError, match=r"Division by zero.*used up after 1 restart;"):
        chosen.await_termination(60)


def test_a_wait_for_a_restart_ends_at_once_when_it_is_asked_to(world: World) -> None:
    world.send(0, 4)
    world.down.touch()
    job = world.start(FIXED.format("attempts", 3) + FIXED.format("delay", "10 min"))
    until(lambda: job.waiting.startswith("restarting in"))
    assert job.waiting.endswith("(1st of 3)")
    until(lambda: world.copied() == 4)
    began = time.monotonic()
    job.stop()
    assert job.status == "stopped"
    assert time.monotonic() - began < 10
