# ruff: noqa: E501 (SQL reads better unbroken)
"""A watermark for each Kafka partition, merged by the least (connector reference, 4.8): nothing of a partition that lags is lost."""

from __future__ import annotations

import time
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.diagnostics import FlinkDdlError
from tests.e2e.tables import SECONDS, Tables
from tests.support.nightly import nightly

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from flinkddl.runtime.kafka.admin import KafkaAdmin

pytestmark = pytest.mark.kafka

COLUMNS = "k INT, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts"
ENDLESS = {"scan_bounded_mode": None, "scan_startup_mode": "earliest-offset", "format": "json"}
START = datetime(2024, 3, 1)
COUNTS = "SELECT k, window_start, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE {0}, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY k, window_start, window_end"
FAST = "SET 'table.exec.source.idle-timeout' = '1 s'"


@pytest.fixture
def db(spark: SparkSession, admin: KafkaAdmin) -> Tables:
    return Tables(spark, admin)


def rows(k: int, *minutes: float) -> list[dict[str, Any]]:
    return [{"k": k, "v": i, "ts": str(START + timedelta(minutes=m))} for i, m in enumerate(minutes)]


def at(minute: int) -> datetime:
    return START + timedelta(minutes=minute)


class Seen(list[tuple[Any, ...]]):
    """What a running query has given out; ``job`` is its handle."""

    job: Any

    def wait(self, count: int) -> list[tuple[Any, ...]]:
        """Wait until so many rows are there; return all."""
        end = time.monotonic() + SECONDS
        while len(self) < count and time.monotonic() < end:
            self.job.await_termination(0.1)
        return sorted(self)

    def reads(self, topic: str, partition: int) -> None:
        """Wait until the query has read a record of a partition."""
        end = time.monotonic() + SECONDS
        while not self.job.progress[0].ends.get(topic, {}).get(partition):
            assert time.monotonic() < end
            self.job.await_termination(0.1)

    def settled(self) -> list[tuple[Any, ...]]:
        """Return the rows that are there when the query has read all there is and given out what is over."""
        assert self.job.await_input(SECONDS)
        end, count, since = time.monotonic() + SECONDS, -1, 0.0
        while time.monotonic() < end and (time.monotonic() - since < 4 or self._busy()):
            if len(self) != count:
                count, since = len(self), time.monotonic()
            self.job.await_termination(0.1)
        return sorted(self)

    def _busy(self) -> bool:
        return "waiting for" not in self.job.progress[0].waiting.lower()


@contextmanager
def running(db: Tables, sql: str) -> Iterator[Seen]:
    seen = Seen()
    seen.job = db.catalog.execute(sql).changes(lambda batch: seen.extend(tuple(c.row) for c in batch.changes))
    try:
        yield seen
    finally:
        seen.job.stop()


def test_e16_in_many_batches(db: Tables) -> None:
    """One record a partition and batch: each partition is days apart from the others."""
    columns = "part INT, name STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts"
    topic = db.create("t", columns, db.topic(4), format="json")
    counts = {0: 5, 1: 4, 2: 3, 3: 2}
    for part, n in counts.items():
        values = [{"part": part, "name": str(i), "ts": f"2020-03-{20 - part * 5:02d} 13:12:1{i}"} for i in range(n)]
        db.send(topic, values, partition=part)
    db.run("SET 'flinkddl.execution.max-offsets-per-trigger' = '4'")
    db.run("SET 'execution.runtime-mode' = 'streaming'")
    sql = COUNTS.format("t").replace("k, window", "part, window")
    assert {part: n for part, _, n in db.rows(sql)} == counts


def test_a_partition_that_lags_behind_loses_nothing(db: Tables) -> None:
    topic = db.create("t", COLUMNS, db.topic(2), **ENDLESS)
    db.send(topic, rows(0, 0, 0.5, 600), partition=0)
    db.send(topic, rows(1, 0), partition=1)
    with running(db, COUNTS.format("t")) as seen:
        assert seen.settled() == []  # the least is minute 0
        db.send(topic, rows(1, 0.1, 0.2, 5), partition=1)
        assert seen.wait(2) == [(0, at(0), 2), (1, at(0), 3)]
        db.send(topic, rows(1, 0.3, 5.5, 700), partition=1)  # the first one is late in its own partition, in Flink too
        assert seen.wait(3)[2:] == [(1, at(5), 2)]


def test_a_silent_partition_holds_all_back_until_it_is_idle(db: Tables) -> None:
    topic = db.create("t", COLUMNS, db.topic(3), **ENDLESS)
    db.send(topic, rows(0, 0, 10), partition=0)
    db.send(topic, rows(1, 0, 3, 7), partition=1)
    with running(db, COUNTS.format("t")) as seen:
        assert seen.settled() == []
    db.run(FAST)
    with running(db, COUNTS.format("t")) as seen:
        # all are idle now: the largest holds
        assert seen.wait(4) == [(0, at(0), 1), (1, at(0), 1), (1, at(3), 1), (1, at(7), 1)]
        db.send(topic, rows(2, 8, 20), partition=2)  # the first one is behind the watermark: late, as in Flink
        assert sorted(seen.wait(5)) == [(0, at(0), 1), (0, at(10), 1), (1, at(0), 1), (1, at(3), 1), (1, at(7), 1)]


def test_an_idle_partition_counts_again_when_it_has_records(db: Tables) -> None:
    topic = db.create("t", COLUMNS, db.topic(2), scan_watermark_idle__timeout="3 s", **ENDLESS)
    db.send(topic, rows(0, 0, 10), partition=0)
    with running(db, COUNTS.format("t")) as seen:
        assert seen.wait(1) == [(0, at(0), 1)]
        db.send(topic, rows(1, 11), partition=1)
        db.send(topic, rows(0, 100), partition=0)
        assert seen.wait(2) == [(0, at(0), 1), (0, at(10), 1)]
        db.send(topic, rows(1, 11.5), partition=1)
        assert (1, at(11), 2) in seen.wait(3)


@pytest.mark.parametrize(
    ("state", "kept", "readers"),
    [nightly("aggregate", (), {}), nightly("auto", (5, 6), {}), ("auto", (5, 6), {"scan_parallelism": "1"})],
)
def test_a_run_resumes_and_takes_a_new_partition(
    db: Tables, tmp_path: Path, state: str, kept: tuple[int, ...], readers: dict[str, str]
) -> None:
    """A chain keeps how far each partition has come; else, as in Flink, one that has shown nothing since holds all back."""
    db.run(f"SET 'flinkddl.execution.state' = '{state}'")
    topic = db.create("t", COLUMNS, db.topic(2), **ENDLESS, **readers)
    db.create("target", "k INT, window_start TIMESTAMP(3), n BIGINT", target := db.topic(), format="json")
    db.run(f"SET 'execution.checkpointing.dir' = '{tmp_path}'")

    def once(*, until: int) -> list[tuple[int, str, int]]:
        job = db.catalog.execute(f"INSERT INTO target {COUNTS.format('t')}").job
        assert job is not None
        try:
            assert job.await_input(SECONDS)
            end = time.monotonic() + SECONDS
            while len(db.records(target)) < until and time.monotonic() < end:
                time.sleep(0.5)
        finally:
            job.stop()
        return sorted((r["k"], r["window_start"], r["n"]) for r in map(_json, db.records(target)))

    first = [(0, str(at(0)), 1), (1, str(at(0)), 1)]
    db.send(topic, rows(0, 0, 100), partition=0)
    db.send(topic, rows(1, 0, 5), partition=1)
    assert once(until=2) == first
    db.send(topic, rows(1, 6, 7), partition=1)
    assert once(until=2 + len(kept)) == [*first, *((1, str(at(m)), 1) for m in kept)]
    _widen(db, topic, 3)
    db.send(topic, rows(0, 120), partition=0)
    db.send(topic, rows(1, 50), partition=1)
    db.send(topic, rows(2, 30, 40), partition=2)
    assert once(until=6) == [*first[:1], first[1], *((1, str(at(m)), 1) for m in (5, 6, 7)), (2, str(at(30)), 1)]


def test_a_partition_that_comes_while_the_job_runs_is_read(db: Tables) -> None:
    topic = db.create("t", COLUMNS, db.topic(1), scan_topic__partition__discovery_interval="1 s", **ENDLESS)
    db.send(topic, rows(0, 0, 10), partition=0)
    with running(db, COUNTS.format("t")) as seen:
        assert seen.wait(1) == [(0, at(0), 1)]
        _widen(db, topic, 2)
        db.send(topic, rows(1, 10.5, 90), partition=1)
        seen.reads(topic, 1)  # before that the old partition's time alone would hold, as in Flink
        db.send(topic, rows(0, 11, 80), partition=0)
        assert seen.wait(4) == [(0, at(0), 1), (0, at(10), 1), (0, at(11), 1), (1, at(10), 1)]


def test_too_many_partitions_are_refused_and_one_watermark_can_be_chosen(db: Tables) -> None:
    db.create("t", COLUMNS, db.topic(3), **ENDLESS)
    db.run("SET 'flinkddl.watermark.partitions' = '2'")
    with pytest.raises(FlinkDdlError, match="FD816: 't' has 3 partitions"):
        db.catalog.execute(COUNTS.format("t")).changes(lambda batch: None)
    db.run("SET 'flinkddl.watermark.partitions' = '1'")
    assert "one for all partitions" in db.catalog.explain(COUNTS.format("t"))


def test_tables_and_topics_merge_by_the_least(db: Tables) -> None:
    one, two, three = (db.topic() for _ in range(3))
    db.create("a", COLUMNS, f"{one};{two}", **ENDLESS)
    db.create("b", COLUMNS, three, **ENDLESS)
    db.run("CREATE TEMPORARY VIEW united AS SELECT * FROM a UNION ALL SELECT * FROM b")
    for k, topic in enumerate((one, two, three)):
        db.send(topic, rows(k, 0, 100 - 40 * k))
    with running(db, COUNTS.format("united")) as seen:
        assert seen.wait(3) == [(k, at(0), 1) for k in range(3)]
        db.send(three, rows(2, 20.5, 90))
        assert seen.wait(4)[3:] == [(2, at(20), 2)]


def test_joins_by_time_wait_for_the_partition_that_lags(db: Tables) -> None:
    left, right = db.topic(2), db.topic(2)
    db.create("l", COLUMNS, left, **ENDLESS)
    db.create("r", COLUMNS, right, **ENDLESS)
    sql = "SELECT l.k, l.v, r.v FROM l JOIN r ON l.k = r.k AND r.ts BETWEEN l.ts - INTERVAL '1' MINUTE AND l.ts"
    db.send(left, rows(0, 0, 1000), partition=0)
    db.send(right, rows(0, 0, 1000), partition=0)
    with running(db, sql) as seen:
        assert seen.wait(2) == [(0, 0, 0), (0, 1, 1)]
        db.send(left, rows(1, 5), partition=1)
        assert seen.settled() == [(0, 0, 0), (0, 1, 1)]
        db.send(right, rows(1, 5, 4.5), partition=1)
        assert seen.wait(4)[2:] == [(1, 0, 0), (1, 0, 1)]


def test_a_temporal_join_waits_for_the_partition_that_lags(db: Tables, tmp_path: Path) -> None:
    """It reads its left side by two ways, so its sources have no names."""
    orders, versions = db.topic(2), db.topic()
    db.create("l", COLUMNS, orders, **ENDLESS)
    db.declare(
        "r",
        f"{COLUMNS}, PRIMARY KEY (k) NOT ENFORCED",
        {
            "connector": "upsert-kafka",
            "topic": versions,
            "properties.bootstrap.servers": db.admin.servers,
            "key.format": "json",
            "value.format": "json",
        },
    )
    db.create("target", "k INT, v INT, w INT", target := db.topic(), format="json")
    db.run(f"SET 'execution.checkpointing.dir' = '{tmp_path}'")
    for i, minute in enumerate((0, 10, 2000)):
        [row] = rows(0, minute)
        db.send(versions, [row | {"v": i}], key=b'{"k":0}')
    db.send(orders, rows(0, 5, 1000), partition=0)
    db.send(orders, [r | {"v": 7} for r in rows(0, 12, 900)], partition=1)
    sql = "INSERT INTO target SELECT l.k, l.v, r.v FROM l JOIN r FOR SYSTEM_TIME AS OF l.ts ON l.k = r.k"
    job = db.catalog.execute(sql).job
    assert job is not None
    try:
        assert job.await_input(SECONDS)
        end = time.monotonic() + SECONDS
        while len(db.records(target)) < 2 and time.monotonic() < end:
            time.sleep(0.5)
    finally:
        job.stop()
    assert {(r["v"], r["w"]) for r in map(_json, db.records(target))} == {(0, 0), (7, 1)}


def test_explain_says_how_the_watermark_is_kept(db: Tables) -> None:
    db.create("t", COLUMNS, "t", **ENDLESS)
    text = db.catalog.explain(COUNTS.format("t"))
    assert "one a partition (a scan each, up to 64), the least holds; one without records holds all back" in text
    db.run(FAST)
    assert "one without records for 1000 ms does not count" in db.catalog.explain(COUNTS.format("t"))
    assert "one a partition" not in db.catalog.explain("SELECT k, COUNT(*) FROM t GROUP BY k")


def _json(record: Any) -> Any:
    import json

    return json.loads(record.value)


def _widen(db: Tables, topic: str, count: int) -> None:
    """Raise the number of a topic's partitions."""
    from kafka import KafkaAdminClient
    from kafka.admin import NewPartitions

    client = KafkaAdminClient(bootstrap_servers=db.admin.servers)
    client.create_partitions({topic: NewPartitions(count)})
    client.close()
