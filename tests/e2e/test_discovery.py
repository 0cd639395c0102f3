"""``scan.topic-partition-discovery.interval``: new partitions and new topics are read, and not those that 0 leaves out.

One meaning for all reads (connector reference, 4.6): what is new is read from its beginning, whatever the start mode;
with 0 the partitions are those that are there when a run starts.
"""

from __future__ import annotations

import json
import time
import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.diagnostics import FlinkDdlError
from tests.e2e.tables import SECONDS, Tables
from tests.e2e.test_watermarks import COLUMNS, COUNTS, ENDLESS, _widen, at, rows, running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from flinkddl.runtime.kafka.admin import KafkaAdmin

pytestmark = pytest.mark.kafka

SOON = {"scan_topic__partition__discovery_interval": "1 s"}
NEVER = {"scan_topic__partition__discovery_interval": "0"}


@pytest.fixture
def db(spark: SparkSession, admin: KafkaAdmin) -> Tables:
    return Tables(spark, admin)


def stem() -> str:
    return f"found{uuid.uuid4().hex[:6]}"


def test_partition_is_read_from_its_beginning_whatever_the_start(db: Tables) -> None:
    topic = db.topic(1)
    db.send(topic, [{"k": 0}])
    db.create("t", "k INT", topic, **ENDLESS | SOON | {"scan_startup_mode": "latest-offset"})
    with running(db, "SELECT k FROM t") as seen:
        _until(seen, lambda: db.send(topic, [{"k": 1}]), (1,))
        _widen(db, topic, 2)
        db.send(topic, [{"k": 2}, {"k": 3}], partition=1)
        assert {(2,), (3,)} <= set(seen.wait(len(seen) + 2))
    assert (0,) not in seen


def _until(seen: Any, again: Any, row: tuple[int]) -> None:
    """Send until it arrives: what is sent before the query has looked up the latest offset is not read."""
    end = time.monotonic() + SECONDS
    while row not in seen and time.monotonic() < end:
        again()
        seen.job.await_termination(1)


def test_topic_that_matches_is_read(db: Tables) -> None:
    name = stem()
    db.send(db.topic(name=name), [{"k": 0}])
    db.create("t", "k INT", "", **ENDLESS | SOON | {"topic__pattern": f"{name}.*"})
    with running(db, "SELECT k FROM t") as seen:
        assert seen.wait(1) == [(0,)]
        db.send(db.topic(name=f"other-{name}"), [{"k": 9}])
        db.send(db.topic(name=name), [{"k": 1}])
        assert seen.wait(2) == [(0,), (1,)]


def test_topic_that_matches_has_a_watermark_of_its_own(db: Tables) -> None:
    name = stem()
    first = db.topic(name=name)
    db.send(first, rows(0, 0, 10))
    db.create("t", COLUMNS, "", **ENDLESS | SOON | {"topic__pattern": f"{name}.*"})
    with running(db, COUNTS.format("t")) as seen:
        assert seen.wait(1) == [(0, at(0), 1)]
        db.send(second := db.topic(name=name), rows(1, 10.5, 90))
        seen.reads(second, 0)
        db.send(first, rows(0, 11, 80))
        assert seen.wait(4) == [(0, at(0), 1), (0, at(10), 1), (0, at(11), 1), (1, at(10), 1)]


def test_0_keeps_to_the_partitions_of_the_start_and_the_next_run_takes_the_new_one(db: Tables, tmp_path: Path) -> None:
    topic = db.create("t", "k INT", db.topic(1), **ENDLESS | NEVER)
    db.create("target", "k INT", target := db.topic(), format="json")
    db.run(f"SET 'execution.checkpointing.dir' = '{tmp_path}'")
    with _inserting(db, "INSERT INTO target SELECT k FROM t"):
        db.send(topic, [{"k": 0}])
        _await_values(db, target, 1)
        _widen(db, topic, 2)
        db.send(topic, [{"k": 7}], partition=1)
        for k in (1, 2):  # two batches after it
            db.send(topic, [{"k": k}])
            assert _await_values(db, target, k + 1) == list(range(k + 1))
    with _inserting(db, "INSERT INTO target SELECT k FROM t"):
        assert _await_values(db, target, 4) == [0, 1, 2, 7]


def test_0_counts_for_its_own_table_where_another_discovers(db: Tables) -> None:
    """Both have watermarks a partition; only the table that discovers gets a branch more."""
    fixed = db.create("a", COLUMNS, db.topic(1), **ENDLESS | NEVER)
    grows = db.create("b", COLUMNS, db.topic(1), **ENDLESS | SOON)
    db.run("CREATE TEMPORARY VIEW united AS SELECT * FROM a UNION ALL SELECT * FROM b")
    db.send(fixed, rows(0, 0, 10))
    db.send(grows, rows(1, 0, 10))
    with running(db, COUNTS.format("united")) as seen:
        assert seen.wait(2) == [(0, at(0), 1), (1, at(0), 1)]
        _widen(db, fixed, 2)
        db.send(fixed, rows(8, 20, 90), partition=1)
        _widen(db, grows, 2)
        db.send(grows, rows(2, 20, 90), partition=1)
        seen.reads(grows, 1)
        db.send(fixed, rows(0, 80))
        db.send(grows, rows(1, 80))
        assert seen.wait(5) == [(0, at(0), 1), (0, at(10), 1), (1, at(0), 1), (1, at(10), 1), (2, at(20), 1)]


def test_0_with_a_pattern_that_nothing_matches_is_refused(db: Tables) -> None:
    name = stem()
    db.create("t", "k INT", "", **ENDLESS | NEVER | {"topic__pattern": f"{name}.*"})
    with pytest.raises(FlinkDdlError, match=f"FD860: no topic matches .*{name}"):
        db.catalog.execute("SELECT k FROM t").changes(lambda batch: None)


def test_real_time_mode_takes_a_new_partition_with_its_next_batch(db: Tables) -> None:
    """Two partitions are two tasks, as many as the tests' session has cores; a batch lasts 5 s at least."""
    topic = db.create("t", "k INT", db.topic(1), **ENDLESS | SOON)
    db.create("target", "k INT", target := db.topic(), format="json")
    db.run("SET 'flinkddl.execution.mode' = 'realtime'")
    db.run("SET 'execution.checkpointing.interval' = '5 s'")
    insert = "INSERT INTO target SELECT k FROM t"
    assert "new partitions with the next real-time batch, once in 5000 ms, not in 1000" in db.catalog.explain(insert)
    with _inserting(db, insert):
        db.send(topic, [{"k": 0}])
        _await_values(db, target, 1)
        _widen(db, topic, 2)
        db.send(topic, [{"k": 1}], partition=1)
        assert _await_values(db, target, 2) == [0, 1]


@contextmanager
def _inserting(db: Tables, sql: str) -> Iterator[None]:
    job = db.catalog.execute(sql).job
    assert job is not None
    try:
        yield
    finally:
        job.stop()


def _await_values(db: Tables, topic: str, count: int) -> list[int]:
    end = time.monotonic() + SECONDS
    while len(found := db.records(topic)) < count and time.monotonic() < end:
        time.sleep(0.2)
    return sorted(json.loads(record.value)["k"] for record in found)
