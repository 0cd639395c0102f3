"""Temporal joins in a chain: a row comes out once, when its time comes, with the version that holds then.

A model goes through the batches beside the query, as Flink does: nothing is too late, it waits for the next step of
event time; of the versions that were passed before, the newest is there. Times are drawn so that a part of rows and
versions is late.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl import sqltypes as T
from flinkddl.plan import nodes as N
from flinkddl.plan.rex import AggCall, Call, InputRef, Literal
from flinkddl.spark.job import GroupBy
from tests.spark.stream.harness import Feed, feed, write
from tests.spark.stream.stages import Staged, forget_commit
from tests.support.nightly import each

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.spark.stream.harness import Kind

pytestmark = pytest.mark.spark

ROWTIME = T.TIMESTAMP(3).as_attribute("ROWTIME")
FIELDS = (N.Field("k", T.STRING), N.Field("v", T.INT), N.Field("ts", ROWTIME))
EQUAL = Call(T.BOOLEAN, "=", (InputRef(T.STRING, 0), InputRef(T.STRING, 3)))
BEYOND = Call(T.BOOLEAN, "<", (InputRef(T.INT, 1), InputRef(T.INT, 4)))
BEGIN = 1_709_287_200_000  # 2024-03-01 10:00
DELAY = 8_000
BATCHES = 6
NEVER = -(2**62)
FOR_EVER = 2**62


@dataclass(frozen=True)
class Event:
    """A row of a table, by whom it is sent, in which order; a weight of a row, of a version whether it is gone."""

    k: str | None
    v: int
    t: int
    sender: int
    seq: int
    weight: int = 1

    def record(self, kind: Kind) -> dict[str, Any]:
        at = {"ts": f"{stamp(self.t)}Z", "k": self.k, "v": self.v, "__seq": self.seq, "__sender": self.sender}
        if kind == "delta":
            return at | {"__w": self.weight}
        return at | ({"__version": self.seq, "__deleted": self.weight < 0} if kind == "upsert" else {})


def stamp(ms: int) -> str:
    from datetime import datetime, timedelta

    return (datetime(1970, 1, 1) + timedelta(milliseconds=ms)).isoformat()


@dataclass
class Source:
    """A table of two senders, and what each batch brings of it."""

    node: Feed
    batches: list[list[Event]] = field(default_factory=list)

    def times(self) -> list[int]:
        """The time after each batch, and at the end of input."""
        out, time = [], NEVER
        heard: dict[int, int] = {}
        for rows in self.batches:
            for event in rows:
                heard[event.sender] = max(heard.get(event.sender, NEVER), event.t - DELAY)
            time = max(time, min(heard.values()) if len(heard) == self.node.senders else NEVER)
            out.append(time)
        return [*out, FOR_EVER]


def source(folder: Path, seed: int, kind: Kind = "append", keys: str = "abc") -> Source:
    """Write a table: its times go on by 30 s a batch, an event is up to 40 s behind or before; some are equal."""
    r = random.Random(seed)
    spec = N.WatermarkSpec(index=2, expression=Literal(ROWTIME, None), delay_ms=DELAY)
    key = (0,) if kind == "upsert" else ()
    made = Source(feed(folder, FIELDS, kind, key, watermark=spec, senders=2))
    seq = 0
    for n in range(BATCHES):
        events = []
        for _ in range(25):
            seq += 1
            t = BEGIN + n * 30_000 + r.randrange(-40_000, 40_000, 1_000)
            weight = -1 if kind == "upsert" and r.random() < 0.2 else 1
            k = None if kind != "upsert" and r.random() < 0.1 else r.choice(keys)
            events.append(Event(k, r.randrange(9), t, r.choice((0, 1)) if n else seq % 2, seq, weight))
            if kind == "delta" and r.random() < 0.4:  # and it is taken back
                events.append(replace(events[-1], seq=(seq := seq + 1), weight=-1))
        made.batches.append(events)
        mixed = r.sample(events, len(events))
        write(made.node.folder, n, [event.record(kind) for event in mixed])
    end = {"ts": "2200-01-01T00:00:00Z"} | ({"__w": 1} if kind == "delta" else {})
    end |= {"__version": 10**6, "__deleted": False} if kind == "upsert" else {}
    write(made.node.folder, BATCHES, [end])
    return made


class Key:
    """A key's rows and versions, as Flink's TemporalRowTimeJoinOperator has them: its one timer too."""

    def __init__(self) -> None:
        self.rows: list[Event] = []
        self.versions: dict[int, Event] = {}
        self.timer = FOR_EVER + 1

    def add(self, event: Event, *, version: bool) -> None:
        if version:
            self.versions[event.t] = event
        else:
            self.rows.append(event)
        self.timer = min(self.timer, event.t)

    def step(self, now: int) -> list[tuple[Event, Event | None]]:
        if self.timer > now:
            return []
        due = [row for row in self.rows if row.t <= now]
        self.rows = [row for row in self.rows if row.t > now]
        out = []
        for row in due:
            newest = max((t for t in self.versions if t <= row.t), default=None)
            out.append((row, None if newest is None or self.versions[newest].weight < 0 else self.versions[newest]))
        passed = sorted(t for t in self.versions if t <= now)
        for t in passed[:-1]:
            del self.versions[t]
        self.timer = min((row.t for row in self.rows), default=FOR_EVER + 1)
        return out


def met(left: Source, right: Source) -> list[list[tuple[Event, Event | None]]]:
    """Return the rows whose time comes with each batch, and their versions."""
    keys: dict[str | None, Key] = {}
    out = []
    before = NEVER
    for n, now in enumerate(times(left, right)):
        for one, version in ((left, False), (right, True)):
            for event in one.batches[n] if n < BATCHES else []:
                if not version or event.k is not None:
                    keys.setdefault(event.k, Key()).add(event, version=version)
        out.append([pair for key in keys.values() for pair in key.step(now)] if now > before else [])
        before = max(before, now)
    return out


def times(left: Source, right: Source) -> list[int]:
    return [min(p) for p in zip(left.times(), right.times(), strict=True)]


def model(left: Source, right: Source, kind: str, *, beyond: bool) -> list[Counter[Any]]:
    """Return what each batch gives: key, value, the version's value, weight."""
    out = []
    for pairs in met(left, right):
        given: Counter[Any] = Counter()
        for row, version in pairs:
            holds = version is not None and (not beyond or row.v < version.v)
            if holds or kind == "left":
                given[(row.k, row.v, version.v if version is not None and holds else None)] += row.weight
        out.append(Counter({row: n for row, n in given.items() if n}))
    return out


def joined(left: Source, right: Source, kind: Any, *, beyond: bool = False) -> N.Node:
    versions: N.Node = right.node
    if right.node.kind == "append":
        versions = N.Deduplicate(fields=FIELDS, input=versions, keys=(0,), order=2, keep_last=True, proctime=False)
    node = N.TemporalJoin(
        fields=(*FIELDS, *(N.Field(f.name + "2", f.type) for f in FIELDS)),
        left=left.node,
        right=versions,
        kind=kind,
        condition=Call(T.BOOLEAN, "AND", (EQUAL, BEYOND)) if beyond else EQUAL,
        keys=((0, 0),),
        left_time=2,
        right_time=2,
    )
    fields = tuple(node.fields[i] for i in (0, 1, 4))
    return N.Project(fields=fields, input=node, exprs=tuple(InputRef(node.fields[i].type, i) for i in (0, 1, 4)))


def run(spark: SparkSession, node: N.Node) -> Staged:
    running = Staged(spark, node, config={"flinkddl.execution.state": "chain"})
    running.go()
    assert all(s.stage for s in running.steps if isinstance(s, GroupBy))
    return running


def given(running: Staged) -> list[Counter[Any]]:
    """Return the rows that each batch gives, those that cancel each other not."""
    out = []
    names = (*running.rel.columns, *running.rel.reserved)
    for n in range(BATCHES + 1):
        rows: Counter[Any] = Counter()
        for row, count in running.given.get(n, [Counter()])[0].items():
            rows[row[:3]] += count * (row[names.index("__w")] if running.rel.kind == "delta" else 1)
        out.append(Counter({row: n for row, n in rows.items() if n}))
    return out


CASES: dict[str, tuple[Any, bool, Kind, Kind]] = {
    "inner": ("inner", False, "append", "append"),
    "left": ("left", False, "append", "append"),
    "left of upserts, with a condition": ("left", True, "append", "upsert"),
    "inner of upserts": ("inner", False, "append", "upsert"),
    "left rows that are taken back": ("left", False, "delta", "append"),
    "inner with a condition, taken back, of upserts": ("inner", True, "delta", "upsert"),
}


@pytest.mark.parametrize(("name", "seed"), each(6, [(name, seed) for seed in (1, 3, 5) for name in CASES]))
def test_a_row_comes_out_once_with_the_version_of_its_time(
    spark: SparkSession, tmp_path: Path, name: str, seed: int
) -> None:
    kind, beyond, one, two = CASES[name]
    left, right = source(tmp_path / "l", seed, one), source(tmp_path / "r", seed + 1, two, "ab")
    running = run(spark, joined(left, right, kind, beyond=beyond))
    expected = model(left, right, kind, beyond=beyond)
    assert given(running) == expected
    assert sum(bool(batch) for batch in expected) > 3
    assert not running.wrong
    for one in (left, right):
        late = (
            e
            for before, batch in zip(times(left, right), one.batches[1:], strict=False)
            for e in batch
            if e.t <= before
        )
        assert len(list(late)) > 5
    running.close()


STEPS = (
    ([(100, 15), (101, 25)], [(1, 10), (2, 20)], 30),
    ([(102, 12), (103, 23)], [(3, 22)], 40),
    ([(104, 12)], [(4, 11)], 50),
    ([(105, 12)], [], 60),
)
"""Rows and versions (value, second), and the time that both tables have come to then."""
ORDERS: dict[tuple[int, ...], list[set[tuple[int, int | None]]]] = {
    (0, 1, 2, 3): [{(100, 1), (101, 2)}, {(102, None), (103, 3)}, {(104, 4)}, {(105, None)}],
    # recorded of a Flink 2.3 that read them so: debezium-json versions, a left join
    (1, 0, 2, 3): [{(102, None), (103, 3)}, set(), {(100, 4), (101, 3), (104, 4)}, {(105, None)}],
}


@pytest.mark.parametrize("order", ORDERS)
def test_what_is_late_waits_for_the_next_step(spark: SparkSession, tmp_path: Path, order: tuple[int, ...]) -> None:
    """Late rows and versions are taken; of the versions that were passed before only the newest is there."""
    spec = N.WatermarkSpec(index=2, expression=Literal(ROWTIME, None), delay_ms=0)
    left, right = (Source(feed(tmp_path / n, FIELDS, watermark=spec)) for n in "lr")
    for n, step in enumerate(order):
        lefts, versions, until = STEPS[step]
        for one, events in ((left, lefts), (right, versions)):
            told = [*(("a", v, t) for v, t in events), ("b", n, until)]
            made = (Event(k, v, BEGIN + 1000 * t, 0, 10 * n + i) for i, (k, v, t) in enumerate(told))
            write(one.node.folder, n, [event.record("append") for event in made])
    running = run(spark, joined(left, right, "left"))
    got = [{(v, found) for k, v, found in batch if k == "a"} for batch in given(running)[: len(order)]]
    assert got == ORDERS[order]
    running.close()


def test_of_a_key_the_newest_version_stays(spark: SparkSession, tmp_path: Path) -> None:
    """When all is over: no row, a version a key, and what each partition knows of the time."""
    left, right = source(tmp_path / "l", 7), source(tmp_path / "r", 8, keys="ab")
    running = run(spark, joined(left, right, "left"))
    assert all("head" in key for key in running.state(1))
    assert sum(running.state(1).values()) == 2 + 2
    running.close()


def test_windows_above(spark: SparkSession, tmp_path: Path) -> None:
    """What the join gives as time goes on is in time for windows above it, which close in the same batch."""
    left, right = source(tmp_path / "l", 9), source(tmp_path / "r", 10, keys="ab")
    node = joined(left, right, "left")
    assert isinstance(node, N.Project)
    below = node.input
    picked = tuple(below.fields[i] for i in (0, 4, 2))
    exprs = tuple(InputRef(f.type, i) for f, i in zip(picked, (0, 4, 2), strict=True))
    rows = N.Project(fields=picked, input=below, exprs=exprs)
    counted = N.WindowAggregate(
        fields=(FIELDS[0], N.Field("n", T.BIGINT), N.Field("m", T.BIGINT)),
        input=rows,
        window=N.Window(kind="TUMBLE", time=2, size_ms=20_000),
        keys=(0,),
        aggs=(AggCall("COUNT", (), T.BIGINT), AggCall("COUNT", (1,), T.BIGINT)),
        properties=(),
    )
    running = run(spark, counted)
    expected: list[Counter[Any]] = []
    open: dict[tuple[str | None, int], list[int | None]] = {}
    before = NEVER
    for now, pairs in zip(times(left, right), met(left, right), strict=True):
        for row, version in pairs:
            start = row.t // 20_000 * 20_000
            if start + 20_000 - 1 > before:
                open.setdefault((row.k, start), []).append(None if version is None else version.v)
        over = {w: open.pop(w) for w in list(open) if w[1] + 20_000 - 1 <= now}
        expected.append(Counter((w[0], len(v), sum(x is not None for x in v)) for w, v in over.items()))
        before = max(before, now)
    assert given(running) == expected
    assert sum(bool(batch) for batch in expected) > 3
    running.close()


def test_a_batch_that_runs_again_gives_the_same(spark: SparkSession, tmp_path: Path) -> None:
    """Its state and its rows, and those of the batches behind it are what they are without that."""
    left, right = source(tmp_path / "l", 11), source(tmp_path / "r", 12, "upsert", "ab")
    node = joined(left, right, "left")
    whole = run(spark, node)
    later = {f / f"{n:06d}.json": f / f".{n}" for f in (tmp_path / "l", tmp_path / "r") for n in range(4, BATCHES + 1)}
    for file, aside in later.items():
        file.rename(aside)
    running = run(spark, node)
    state = running.state(1)
    assert running.given[3][0]
    forget_commit(running.checkpoint, 3)
    running.go()
    assert running.given[3][0] == running.given[3][1]
    assert running.state(1) == state
    for file, aside in later.items():
        aside.rename(file)
    running.go()
    assert given(running) == given(whole)
    running.close()
    whole.close()
