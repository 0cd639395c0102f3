"""Windows over processing time close by the clock, with rows and without: each row is in its windows once.

What a real Flink says of them is in the golden ``win-proctime-open`` and, for the refusals, in ``tests/plan``.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from datetime import datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pytest

from flinkddl.api import Catalog
from tests.support.nightly import nightly
from tests.support.topics import committed, send

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from flinkddl.runtime.broker.server import Broker

pytestmark = pytest.mark.kafka
TUMBLE = "TUMBLE(TABLE clicks, DESCRIPTOR(pt), INTERVAL '3' SECOND)"
HOP = "HOP(TABLE clicks, DESCRIPTOR(pt), INTERVAL '1' SECOND, INTERVAL '3' SECOND)"
CUMULATE = "CUMULATE(TABLE clicks, DESCRIPTOR(pt), INTERVAL '1' SECOND, INTERVAL '3' SECOND)"
SESSION = "SESSION(TABLE clicks PARTITION BY k, DESCRIPTOR(pt), INTERVAL '2' SECOND)"
BY_WINDOW = "SELECT k, window_start, window_end, {} FROM TABLE({}) GROUP BY k, window_start, window_end"
LEGACY = """SELECT k, TUMBLE_START(pt, INTERVAL '3' SECOND), TUMBLE_END(pt, INTERVAL '3' SECOND), COUNT(*)
  FROM clicks GROUP BY k, TUMBLE(pt, INTERVAL '3' SECOND)"""
AGAIN = """SELECT k, window_start, window_end, SUM(c) FROM TABLE(TUMBLE(TABLE counted, DESCRIPTOR(w),
  INTERVAL '4' SECOND)) GROUP BY k, window_start, window_end"""
VIEW = f"""CREATE VIEW counted AS SELECT k, window_time AS w, COUNT(*) AS c FROM TABLE({TUMBLE})
  GROUP BY k, window_start, window_end, window_time;"""


class World:
    """A topic, a sink's, and jobs over them."""

    def __init__(self, spark: SparkSession, broker: Broker, new_topic: Callable[..., str], folder: Path) -> None:
        self.spark, self.servers, self.folder = spark, broker.bootstrap, folder
        self.source, self.sink = new_topic("clicks", partitions=2), new_topic("windows")
        self.told: list[str] = []

    def start(self, query: str, sets: str = "") -> Any:
        kafka = f"'connector' = 'kafka', 'format' = 'json', 'properties.bootstrap.servers' = '{self.servers}'"
        script = f"""{sets} SET 'pipeline.name' = 'walls';
            CREATE TABLE clicks (k STRING, n INT, pt AS PROCTIME()) WITH ({kafka}, 'topic' = '{self.source}',
              'scan.startup.mode' = 'earliest-offset');
            CREATE TABLE windows (k STRING, s TIMESTAMP(3), e TIMESTAMP(3), c BIGINT) WITH ({kafka},
              'topic' = '{self.sink}');
            {VIEW} INSERT INTO windows {query};"""
        run = {"checkpoint": str(self.folder), "notice": self.told.append}
        job = Catalog(self.spark, views=False).execute_all(script, run=run)[-1].job
        assert job is not None
        return job

    def send(self, *keys: str) -> None:
        send(self.servers, self.source, [{"k": k, "n": 1} for k in keys])

    def windows(self) -> list[tuple[str, datetime, datetime, int]]:
        rows = (json.loads(r.value).values() for r in committed(self.servers, self.sink))
        return [(k, datetime.fromisoformat(s), datetime.fromisoformat(e), c) for k, s, e, c in rows]

    def await_rows(self, wanted: dict[str, int], job: Any, seconds: float = 90) -> None:
        """Wait until windows have counted so many rows of each key."""
        end = time.monotonic() + seconds
        while (found := self.counted()) != wanted:
            assert job.status == "running", job.last_failure
            assert time.monotonic() < end, (found, self.windows())
            time.sleep(0.3)

    def await_windows(self, count: int, job: Any, seconds: float = 60) -> None:
        """Wait until there are so many windows."""
        end = time.monotonic() + seconds
        while len(self.windows()) < count:
            assert job.status == "running", job.last_failure
            assert time.monotonic() < end, self.windows()
            time.sleep(0.3)

    def counted(self) -> dict[str, int]:
        found: Counter[str] = Counter()
        for k, _, _, c in self.windows():
            found[k] += c
        return dict(found)


@pytest.fixture
def world(spark: SparkSession, broker: Broker, new_topic: Callable[..., str], tmp_path: Path) -> World:
    return World(spark, broker, new_topic, tmp_path / "state")


@pytest.mark.parametrize(
    ("query", "times", "length"),
    [
        nightly(BY_WINDOW.format("COUNT(*)", TUMBLE), 1, 3),
        (BY_WINDOW.format("COUNT(n)", HOP), 3, 3),
        nightly(BY_WINDOW.format("COUNT(DISTINCT n)", HOP), 3, 3),
        (LEGACY, 1, 3),
        (AGAIN, 1, 4),
    ],
    ids=["tumble", "hop in slices", "hop", "legacy", "again"],
)
def test_each_row_is_in_its_windows(world: World, query: str, times: int, length: int) -> None:
    """Rows come in three parts; behind the last of them nothing comes any more, and all windows close."""
    job = world.start(query)
    try:
        for part in (["a"], ["b", "a"] * 2, ["a"]):
            world.send(*part)
            time.sleep(2.5)
        if "DISTINCT" in query:
            world.await_windows(9, job)
            assert {c for _, _, _, c in world.windows()} == {1}
        else:
            world.await_rows({"a": 4 * times, "b": 2 * times}, job)
    finally:
        job.stop()
    found = world.windows()
    assert {e - s for _, s, e, _ in found} == {timedelta(seconds=length)}
    assert len({(k, s) for k, s, _, _ in found}) == len(found)  # each once


def test_windows_that_grow_count_their_rows_again(world: World) -> None:
    job = world.start(BY_WINDOW.format("COUNT(*)", CUMULATE))
    try:
        world.send("a", "a")
        world.await_windows(1, job)
        time.sleep(3)
    finally:
        job.stop()
    found = sorted(world.windows(), key=lambda w: w[2])
    assert {c for *_, c in found} == {2}
    assert len({s for _, s, _, _ in found}) == 1
    assert [e - found[0][1] for _, _, e, _ in found] == [timedelta(seconds=n) for n in range(4 - len(found), 4)]


def test_sessions_end_after_their_gap_without_rows(world: World) -> None:
    """Two bursts of a key that are one session, and one behind them that is another."""
    job = world.start(BY_WINDOW.format("COUNT(*)", SESSION))
    try:
        world.send("a", "b")
        world.await_rows({"a": 1, "b": 1}, job)  # the first batch takes its time
        for _ in range(3):
            world.send("a")
            time.sleep(0.5)
        world.await_rows({"a": 4, "b": 1}, job)
    finally:
        job.stop()
    found = world.windows()
    assert all(e - s >= timedelta(seconds=2) for _, s, e, _ in found)
    spans = sorted((s, e) for k, s, e, _ in found if k == "a")
    assert all(one[1] < other[0] for one, other in pairwise(spans))


def test_what_is_over_after_a_restart_comes_out_at_once(world: World) -> None:
    """A run that ends, or is cut off, with a window open; the next one has no rows to read."""
    query = BY_WINDOW.format("COUNT(*)", TUMBLE.replace("'3' SECOND", "'20' SECOND"))
    job = world.start(query)
    world.send("a", "b", "a")
    assert job.await_input(60)
    job.stop()
    open_until = time.time() // 20 * 20 + 20
    before = world.counted()
    time.sleep(max(0.0, open_until - time.time()) + 0.5)
    assert world.counted() == before
    job = world.start(query)
    try:
        world.await_rows({"a": 2, "b": 1}, job)
    finally:
        job.stop()
    assert len(world.windows()) <= 3  # of two windows at most, each once


def test_its_bounds_show_the_clock_of_the_sessions_zone(world: World) -> None:
    zone = ZoneInfo("Asia/Kathmandu")
    job = world.start(BY_WINDOW.format("COUNT(*)", TUMBLE), "SET 'table.local-time-zone' = 'Asia/Kathmandu';")
    try:
        world.send("a")
        world.await_rows({"a": 1}, job)
    finally:
        job.stop()
    ((_, start, end, _),) = world.windows()
    now = datetime.now(zone).replace(tzinfo=None)
    assert now - timedelta(seconds=120) < start < end <= now
