"""Windows in a chain: each comes out once, in the batch in which its time comes, whatever the order of its rows.

A model goes through the batches beside the query: rows of a window whose time had come before their batch are late, the
time of a batch is the least of its senders'. Times are drawn so that a part of the rows is late.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from time import sleep
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl import sqltypes as T
from flinkddl.plan import nodes as N
from flinkddl.plan.rex import AggCall, Call, InputRef, Literal, SortKey
from flinkddl.spark.job import GroupBy
from tests.spark.stream.harness import JOB, Feed, feed, plain, write
from tests.spark.stream.stages import Staged
from tests.support.nightly import each, nightly

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TS = T.TIMESTAMP(3)
ROWTIME = TS.as_attribute("ROWTIME")
FIELDS = (N.Field("k", T.STRING), N.Field("v", T.INT), N.Field("ts", ROWTIME))
BOUNDS = (N.Field("window_start", TS), N.Field("window_end", TS))
TIME = N.Field("window_time", ROWTIME)
EPOCH = datetime(1970, 1, 1)
BEGIN = 1_709_287_200_000  # 2024-03-01 10:00
DELAY = 8_000
BATCHES = 6
NEVER = -(2**62)
FOR_EVER = 2**62
Row = tuple[str | None, int, int]  # key, value, time in ms
Window = tuple[str | None, int, int]  # key, start, end
Bounds = Callable[[int], list[tuple[int, int]]]


def at(ms: int) -> datetime:
    return EPOCH + timedelta(milliseconds=ms)


def tumble(t: int) -> list[tuple[int, int]]:
    start = (t - 5_000) // 20_000 * 20_000 + 5_000
    return [(start, start + 20_000)]


def hop(t: int) -> list[tuple[int, int]]:
    last = t // 10_000 * 10_000
    starts = (last - 10_000 * i for i in range(3))
    return [(s, s + 25_000) for s in starts if s + 25_000 > t]


def cumulate(t: int) -> list[tuple[int, int]]:
    start = t // 30_000 * 30_000
    return [(start, start + 10_000 * i) for i in (1, 2, 3) if start + 10_000 * i > t]


WINDOWS: dict[str, tuple[N.Window, Bounds]] = {
    "tumble": (N.Window(kind="TUMBLE", time=2, size_ms=20_000, offset_ms=5_000), tumble),
    "hop": (N.Window(kind="HOP", time=2, size_ms=25_000, slide_ms=10_000), hop),
    "cumulate": (N.Window(kind="CUMULATE", time=2, size_ms=30_000, slide_ms=10_000), cumulate),
}


def even_hop(t: int) -> list[tuple[int, int]]:
    last = (t - 3_000) // 10_000 * 10_000 + 3_000
    return [(last - 10_000 * i, last - 10_000 * i + 30_000) for i in range(3)]


SLICED: dict[str, tuple[N.Window, Bounds]] = {
    "hop": (N.Window(kind="HOP", time=2, size_ms=30_000, slide_ms=10_000, offset_ms=3_000), even_hop),
    "cumulate": WINDOWS["cumulate"],
}
"""Windows that are made of slices, where the calls let them be."""


@dataclass
class Source:
    """A table of two senders, and what each batch brings: of each sender the time that it has come to, and its rows."""

    node: Feed
    batches: list[list[tuple[int, Row]]]

    def times(self) -> list[int]:
        """The time after each batch, and at the end of input."""
        out, time = [], NEVER
        heard: dict[int, int] = {}
        for rows in self.batches:
            for sender, (_, _, t) in rows:
                heard[sender] = max(heard.get(sender, NEVER), t - DELAY)
            time = max(time, min(heard.values()) if len(heard) == self.node.senders else NEVER)
            out.append(time)
        return [*out, FOR_EVER]


def source(folder: Path, seed: int, every: int = 1, keys: Sequence[str | None] = "abc") -> Source:
    """Write a table: its times go on by 1.2 s a row, a row is up to 40 s behind or before, in such steps.

    It is cut into batches anywhere, and a batch brings its rows in any order: their order in the source goes with them.
    """
    r = random.Random(seed)
    spec = N.WatermarkSpec(index=2, expression=Literal(ROWTIME, None), delay_ms=DELAY)
    node = feed(folder, FIELDS, watermark=spec, senders=2)
    rows: list[tuple[int, Row]] = []
    for n in range(25 * BATCHES):
        time = BEGIN + n * 1_200 + r.randrange(-40_000, 40_000, every)
        rows.append((r.choice((0, 1)) if n > 15 else 0, (r.choice(keys), r.randrange(5), time)))
    cuts = sorted(r.sample(range(1, len(rows)), BATCHES - 1))
    for n, (start, end) in enumerate(pairwise([0, *cuts, len(rows)])):
        records = [record(row, sender, i) for i, (sender, row) in enumerate(rows[start:end], start)]
        write(node.folder, n, r.sample(records, len(records)))
    write(node.folder, BATCHES, [{"ts": "2200-01-01T00:00:00Z"}])
    return Source(node, [rows[start:end] for start, end in pairwise([0, *cuts, len(rows)])])


def record(row: Row, sender: int, number: int) -> dict[str, Any]:
    return {"k": row[0], "v": row[1], "ts": at(row[2]).isoformat() + "Z", "__seq": number, "__sender": sender}


def windows(source: Source, bounds: Bounds) -> list[dict[Window, list[int]]]:
    """Return what each batch gives: the values of the windows whose time it brings, by key and bounds."""
    open: dict[Window, list[int]] = {}
    given, time = [], NEVER
    for rows, then in zip([*source.batches, []], source.times(), strict=True):
        for _, (k, v, t) in rows:
            for start, end in bounds(t):
                if end - 1 > time:
                    open.setdefault((k, start, end), []).append(v)
        time = then
        given.append({w: open.pop(w) for w in list(open) if w[2] - 1 <= time})
    return given


def agg(function: str, *args: int, type: T.DataType = T.BIGINT, **more: Any) -> AggCall:
    return AggCall(function, args, type, **more)


CALLS = (agg("COUNT"), agg("SUM", 1, type=T.INT), agg("COUNT", 1, distinct=True), agg("MIN", 1, type=T.INT))
SHARED = (*CALLS[:2], agg("COUNT", 1), CALLS[3])
NAMED = (N.Field("n", T.BIGINT), N.Field("s", T.INT), N.Field("d", T.BIGINT), N.Field("m", T.INT))


def counted(input: N.Node, window: N.Window, calls: tuple[AggCall, ...] = CALLS) -> N.WindowAggregate:
    properties, fields = ("start", "end", "time"), (FIELDS[0], *NAMED, *BOUNDS, TIME)
    return N.WindowAggregate(fields=fields, input=input, window=window, keys=(0,), aggs=calls, properties=properties)


def row(w: Window, v: list[int]) -> tuple[Any, ...]:
    k, start, end = w
    return (k, len(v), sum(v), len(set(v)), min(v), at(start), at(end), at(end - 1))


def picked(node: N.Node, *kept: int) -> N.Node:
    fields = tuple(N.Field(f"p{i}", node.fields[i].type.as_attribute(None)) for i in kept)
    exprs = tuple(InputRef(node.fields[i].type, i) for i in kept)
    casts = (Call(f.type, "CAST", (e,)) if e.type != f.type else e for f, e in zip(fields, exprs, strict=True))
    return N.Project(fields=fields, input=node, exprs=tuple(casts))


def run(spark: SparkSession, node: N.Node, **more: Any) -> Staged:
    running = Staged(spark, node, config={"flinkddl.execution.state": "chain"}, **more)
    running.go()
    return running


def stages(running: Staged) -> int:
    found = [s for s in running.steps if isinstance(s, GroupBy)]
    assert found
    assert all(s.stage for s in found)
    return len(found)


def given(running: Staged) -> list[Counter[Any]]:
    """Return the rows of each batch, without the columns that are ours."""
    width = len(running.rel.fields)
    found = []
    for n in range(BATCHES + 1):
        rows = running.given.get(n, [Counter()])[0]
        found.append(Counter(r[:width] for r in rows.elements()))
    return found


@pytest.mark.parametrize(("name", "seed"), each(4, [(n, seed) for n in WINDOWS for seed in range(4)]))
def test_each_window_once_when_its_time_comes(spark: SparkSession, tmp_path: Path, name: str, seed: int) -> None:
    window, bounds = WINDOWS[name]
    made = source(tmp_path / "t", seed)
    running = run(spark, counted(made.node, window), accepts="append")
    model = windows(made, bounds)
    assert given(running) == [Counter(row(w, v) for w, v in batch.items()) for batch in model]
    assert len([batch for batch in model if batch]) > 3
    late = sum(len(bounds(t)) for rows in made.batches for _, (_, _, t) in rows)
    assert late > sum(len(v) for batch in model for v in batch.values())
    running.close()


def sliced(w: Window, v: list[int]) -> tuple[Any, ...]:
    k, start, end = w
    return (k, len(v), sum(v), len(v), min(v), at(start), at(end), at(end - 1))


@pytest.mark.parametrize(("name", "seed"), each(4, [(n, seed) for n in SLICED for seed in range(4)]))
def test_windows_are_made_of_slices(spark: SparkSession, tmp_path: Path, name: str, seed: int) -> None:
    """A row that is late for some of its windows counts in the others; a key without rows for a while comes again."""
    window, bounds = SLICED[name]
    made = source(tmp_path / "t", 30 + seed)
    running = run(spark, counted(made.node, window, SHARED), accepts="append")
    (call,) = (s.state_calls[0] for s in running.steps if isinstance(s, GroupBy))
    assert call.kind == "slices"
    model = windows(made, bounds)
    assert given(running) == [Counter(sliced(w, v) for w, v in batch.items()) for batch in model]
    assert len([batch for batch in model if batch]) > 3
    late = sum(len(bounds(t)) for rows in made.batches for _, (_, _, t) in rows)
    assert late > sum(len(v) for batch in model for v in batch.values())
    assert sum(running.state(stages(running)).values()) == 2
    running.close()


def test_nothing_stays_of_windows_that_are_over(spark: SparkSession, tmp_path: Path) -> None:
    """But what each partition knows of the time."""
    window, _ = WINDOWS["hop"]
    running = run(spark, counted(source(tmp_path / "t", 6).node, window), accepts="append")
    assert all("head" in key for key in running.state(stages(running)))
    assert sum(running.state(stages(running)).values()) == 2
    running.close()


def test_windows_above_windows(spark: SparkSession, tmp_path: Path) -> None:
    """The second aggregate of a window's rows, and larger windows over their times, close in the same batch."""
    window, bounds = WINDOWS["tumble"]
    made = source(tmp_path / "t", 7)
    first = counted(made.node, window)
    top = N.WindowAggregate(
        fields=(N.Field("most", T.BIGINT), *BOUNDS, TIME),
        input=first,
        window=window,
        keys=(),
        aggs=(agg("MAX", 1),),
        properties=("start", "end", "time"),
        windowed_input=(5, 6),
    )
    large = N.WindowAggregate(
        fields=(N.Field("most", T.BIGINT), N.Field("c", T.BIGINT), *BOUNDS),
        input=top,
        window=N.Window(kind="TUMBLE", time=3, size_ms=60_000),
        keys=(),
        aggs=(agg("MAX", 0), agg("COUNT")),
        properties=("start", "end"),
    )
    running = run(spark, large, accepts="append")
    assert stages(running) == 3
    open: dict[int, list[int]] = {}
    expected = []
    for batch, time in zip(windows(made, bounds), made.times(), strict=True):
        most: dict[int, int] = {}
        for (_, _, end), v in batch.items():
            most[end] = max(most.get(end, 0), len(v))
        for end, n in most.items():
            open.setdefault((end - 1) // 60_000 * 60_000, []).append(n)
        over = {s: open.pop(s) for s in list(open) if s + 60_000 - 1 <= time}
        expected.append(Counter((max(n), len(n), at(s), at(s + 60_000)) for s, n in over.items()))
    assert given(running) == expected
    running.close()


def test_rows_that_change_above_windows(spark: SparkSession, tmp_path: Path) -> None:
    """A sum over windows; below the windows rows part for a count of all of them, which waits for nothing."""
    window, bounds = WINDOWS["tumble"]
    made = source(tmp_path / "t", 8)
    first = counted(made.node, window)
    sums = N.Aggregate(
        fields=(FIELDS[0], N.Field("s", T.BIGINT)), input=picked(first, 0, 1), keys=(0,), aggs=(agg("SUM", 1),)
    )
    every = N.Aggregate(
        fields=(FIELDS[0], N.Field("s", T.BIGINT)), input=picked(made.node, 0), keys=(0,), aggs=(agg("COUNT"),)
    )
    node = N.Union(fields=sums.fields, parts=(sums, every))
    running = run(spark, node)
    assert not running.wrong
    totals: Counter[str | None] = Counter()
    for batch in windows(made, bounds):
        for (k, _, _), v in batch.items():
            totals[k] += len(v)
    rows = Counter(k for batch in made.batches for _, (k, _, _) in batch)
    assert running.table == Counter([*totals.items(), *rows.items()])
    running.close()


def test_each_table_has_a_time_of_its_own(spark: SparkSession, tmp_path: Path) -> None:
    """Windows of one table do not wait for another one's; those above both wait for the later."""
    window, bounds = WINDOWS["tumble"]
    one, two = source(tmp_path / "one", 9), source(tmp_path / "two", 10)
    old: Row = ("a", 0, BEGIN - 1_000_000)
    for n in range(2, BATCHES):  # the second one is behind until its input ends
        write(two.node.folder, n, [record(old, 0, 0)])
    two.batches = [*two.batches[:2], *[[(0, old)]] * (BATCHES - 2)]
    both = N.Union(fields=FIELDS, parts=(one.node, two.node))
    parts = tuple(picked(counted(t, window), 0, 1, 5) for t in (one.node, both))
    running = run(spark, N.Union(fields=parts[0].fields, parts=parts), accepts="append")
    met = Source(one.node, [a + b for a, b in zip(one.batches, two.batches, strict=True)])
    pairs = list(zip(one.times(), two.times(), strict=True))
    met.times = lambda: [min(p) for p in pairs]  # type: ignore[method-assign]
    expected = []
    for alone, together in zip(windows(Source(one.node, one.batches), bounds), windows(met, bounds), strict=True):
        both_of = [*alone.items(), *together.items()]
        expected.append(Counter((k, len(v), at(start)) for (k, start, _), v in both_of))
    assert given(running) == expected
    running.close()


def test_rows_with_their_windows(spark: SparkSession, tmp_path: Path) -> None:
    """The function by itself: a row comes once a window, late or not."""
    window, bounds = WINDOWS["hop"]
    made = source(tmp_path / "t", 11)
    bare = (*FIELDS[:2], N.Field("ts", TS))
    node = N.WindowTableFunction(fields=(*bare, *BOUNDS, TIME), input=made.node, window=window)
    running = run(spark, picked(node, 0, 1, 2, 3, 4), accepts="append")
    every = [(k, v, at(t), at(s), at(e)) for rows in made.batches for _, (k, v, t) in rows for s, e in bounds(t)]
    assert running.table == Counter(map(plain, every))
    running.close()


@pytest.mark.parametrize("idle", [nightly(0), 1_500])
def test_a_silent_sender_is_waited_for_no_longer_than_it_may_be_idle(
    spark: SparkSession, tmp_path: Path, idle: int
) -> None:
    """Only where the other one has rows meanwhile; when it speaks again, its rows can be late."""
    spec = N.WatermarkSpec(index=2, expression=Literal(ROWTIME, None), delay_ms=DELAY)
    node = feed(tmp_path / "t", FIELDS, watermark=spec, senders=2, idle_ms=idle)
    window, bounds = WINDOWS["tumble"]
    ((start, end),) = bounds(BEGIN)
    first = row(("a", start, end), [1, 2])
    write(node.folder, 0, [record(("a", n + 1, BEGIN), n, n) for n in (0, 1)])
    running = run(spark, counted(node, window), accepts="append")
    assert not running.table
    sleep(2)
    write(node.folder, 1, [record(("b", 1, BEGIN + 100_000), 0, 0)])
    running.go()
    assert running.table == (Counter([first]) if idle else Counter())
    write(node.folder, 2, [record(("a", 3, BEGIN), 1, 0)])
    write(node.folder, 3, [{"ts": "2200-01-01T00:00:00Z"}])
    running.go()
    ((later, over),) = bounds(BEGIN + 100_000)
    once = first if idle else row(("a", start, end), [1, 2, 3])
    assert running.table == Counter([once, row(("b", later, over), [1])])
    running.close()


def in_windows(source: Source) -> N.WindowTableFunction:
    window, _ = WINDOWS["tumble"]
    fields = (*FIELDS[:2], N.Field("ts", TS), *BOUNDS, TIME)
    return N.WindowTableFunction(fields=fields, input=source.node, window=window)


def held(source: Source, times: Sequence[int] = ()) -> list[dict[Window, list[tuple[int, int]]]]:
    """Return what each batch gives, as ``windows``: values with their times. ``times``: where they are not its own."""
    open: dict[Window, list[tuple[int, int]]] = {}
    given, time = [], NEVER
    for rows, then in zip([*source.batches, []], times or source.times(), strict=True):
        for _, (k, v, t) in rows:
            ((start, end),) = tumble(t)
            if end - 1 > time:
                open.setdefault((k, start, end), []).append((v, t))
        time = then
        given.append({w: open.pop(w) for w in list(open) if w[2] - 1 <= time})
    return given


def window_top(source: Source, order: tuple[SortKey, ...], last: int) -> N.Node:
    rows = in_windows(source)
    ranked = N.Rank(
        fields=(*rows.fields, N.Field("rn", T.BIGINT)),
        input=rows,
        partition=(0, 3, 4),
        order=order,
        start=1,
        end=last,
        with_rank=True,
        window=(3, 4),
    )
    return picked(ranked, 0, 1, 2, 3, 6)


def window_top_model(source: Source, last: int, by: Callable[[tuple[int, int]], Any]) -> list[Counter[Any]]:
    """``by``: the order of values with their times; of equal ones the one that came first is before."""
    return [
        Counter(
            (k, v, at(t), at(start), n)
            for (k, start, _), mine in batch.items()
            for n, (v, t) in enumerate(sorted(mine, key=by)[:last], 1)
        )
        for batch in held(source)
    ]


@pytest.mark.parametrize("last", [nightly(1), 3])
def test_best_rows_of_a_window(spark: SparkSession, tmp_path: Path, last: int) -> None:
    made = source(tmp_path / "t", 12)
    order = (SortKey(1, descending=True, nulls_first=False), SortKey(2))
    running = run(spark, window_top(made, order, last), accepts="append")
    assert given(running) == window_top_model(made, last, lambda r: (-r[0], r[1]))
    assert sum(running.state(stages(running)).values()) == 2
    running.close()


@pytest.mark.parametrize("keep_last", [nightly(False), True])
def test_first_and_last_row_of_a_window(spark: SparkSession, tmp_path: Path, keep_last: bool) -> None:
    made = source(tmp_path / "t", 13)
    rows = in_windows(made)
    node = N.Deduplicate(
        fields=rows.fields, input=rows, keys=(0, 3, 4), order=2, keep_last=keep_last, proctime=False, window=(3, 4)
    )
    running = run(spark, picked(node, 0, 2, 3), accepts="append")
    best = max if keep_last else min
    assert given(running) == [
        Counter((k, at(best(t for _, t in mine)), at(start)) for (k, start, _), mine in batch.items())
        for batch in held(made)
    ]
    running.close()


def both_times(left: Source, right: Source) -> list[int]:
    """The time of what reads both tables."""
    return [min(p) for p in zip(left.times(), right.times(), strict=True)]


def window_join(left: Source, right: Source, kind: Any, beyond: bool) -> N.Node:
    a, b = in_windows(left), in_windows(right)
    width = len(a.fields)
    tests = [
        Call(T.BOOLEAN, "=", (InputRef(a.fields[i].type, i), InputRef(a.fields[i].type, i + width))) for i in (0, 3, 4)
    ]
    tests += [Call(T.BOOLEAN, "<", (InputRef(T.INT, 1), InputRef(T.INT, 1 + width)))] * beyond
    half = kind in ("semi", "anti")
    joined = N.WindowJoin(
        fields=a.fields if half else (*a.fields, *b.fields),
        left=a,
        right=b,
        kind=kind,
        condition=Call(T.BOOLEAN, "AND", tuple(tests)),
        keys=((0, 0),),
        left_window=(3, 4),
        right_window=(3, 4),
    )
    return picked(joined, 0, 1) if half else picked(joined, 0, 1, 6, 7)


def window_join_model(left: Source, right: Source, kind: str, beyond: bool) -> list[Counter[Any]]:
    times = both_times(left, right)
    expected = []
    for mine, others in zip(held(left, times), held(right, times), strict=True):
        rows: Counter[Any] = Counter()
        for w in {*mine, *others}:
            rows.update(met(kind, w[0], mine.get(w, []), others.get(w, []), beyond=beyond))
        expected.append(rows)
    return expected


@pytest.mark.parametrize(
    ("kind", "beyond"),
    each(5, [(k, b) for k in ("left", "inner", "full", "right", "semi", "anti") for b in (True, False)]),
)
def test_join_within_a_window(spark: SparkSession, tmp_path: Path, kind: Any, beyond: bool) -> None:
    """With and without a condition beyond the window and the key; windows close when both tables' time has come."""
    left, right = source(tmp_path / "l", 14), source(tmp_path / "r", 15)
    running = run(spark, window_join(left, right, kind, beyond), accepts="append")
    assert given(running) == window_join_model(left, right, kind, beyond)
    running.close()


def met(
    kind: str, k: str | None, mine: list[tuple[int, int]], others: list[tuple[int, int]], *, beyond: bool
) -> list[tuple[Any, ...]]:
    """Return the rows of a join of one window and key."""
    pairs = [(x, y) for x in range(len(mine)) for y in range(len(others)) if not beyond or mine[x][0] < others[y][0]]
    pairs = [] if k is None else pairs  # NULL is equal to nothing
    hit, taken = {x for x, _ in pairs}, {y for _, y in pairs}
    if kind in ("semi", "anti"):
        return [(k, v) for x, (v, _) in enumerate(mine) if (x in hit) == (kind == "semi")]
    out: list[tuple[Any, ...]] = [(k, mine[x][0], k, others[y][0]) for x, y in pairs]
    if kind in ("left", "full"):
        out += [(k, v, None, None) for x, (v, _) in enumerate(mine) if x not in hit]
    if kind in ("right", "full"):
        out += [(None, None, k, v) for y, (v, _) in enumerate(others) if y not in taken]
    return out


GAP = 6_000


def spans(source: Source) -> list[list[tuple[str | None, list[Any]]]]:
    """Return the sessions that each batch gives, with bounds and values: of two that become one the later's first."""
    open: dict[str | None, list[list[Any]]] = {}
    given, time = [], NEVER
    for rows, then in zip([*source.batches, []], source.times(), strict=True):
        for _, (k, v, t) in rows:
            near = [s for s in open.get(k, []) if s[0] <= t + GAP and s[1] >= t]
            if not near and t + GAP - 1 <= time:
                continue
            merged = [min([t, *(s[0] for s in near)]), max([t + GAP, *(s[1] for s in near)])]
            others = [s for s in open.get(k, []) if s not in near]
            near.sort(key=lambda s: s[0])
            values = [*(x for s in [*near[-1:], *near[:-1]] for x in s[2]), v]
            open[k] = [*others, [*merged, values]]
        time = then
        over = [(k, s) for k, mine in open.items() for s in mine if s[1] - 1 <= time]
        open = {k: [s for s in mine if s[1] - 1 > time] for k, mine in open.items()}
        given.append(over)
    return given


SESSION = N.Window(kind="SESSION", time=2, size_ms=GAP, partition_keys=(0,))


def session_rows(source: Source, call: AggCall) -> N.Node:
    """A call over rows that have their value as text behind them."""
    texts = picked(source.node, 0, 1, 2)
    texts = replace(
        texts,
        fields=(*FIELDS, N.Field("x", T.STRING)),
        exprs=(*(InputRef(f.type, i) for i, f in enumerate(FIELDS)), Call(T.STRING, "CAST", (InputRef(T.INT, 1),))),
    )
    fields = (FIELDS[0], N.Field("l", call.type), *BOUNDS)
    properties = ("start", "end")
    return N.WindowAggregate(fields=fields, input=texts, window=SESSION, keys=(0,), aggs=(call,), properties=properties)


LISTED = agg("LISTAGG", 3, type=T.STRING)


def listed(source: Source) -> list[Counter[Any]]:
    """What ``LISTED`` gives of sessions."""
    return [Counter((k, ",".join(map(str, v)), at(s), at(e)) for k, (s, e, v) in batch) for batch in spans(source)]


@pytest.mark.parametrize("last", [nightly(False), True])
def test_rows_of_sessions_that_become_one(spark: SparkSession, tmp_path: Path, last: bool) -> None:
    """The later one's come first, as in Flink; the model has them so."""
    made = source(tmp_path / "t", 24, 100)
    running = run(spark, session_rows(made, agg("LAST_VALUE", 1, type=T.INT) if last else LISTED), accepts="append")
    lasts = [Counter((k, v[-1], at(s), at(e)) for k, (s, e, v) in batch) for batch in spans(made)]
    assert given(running) == (lasts if last else listed(made))
    running.close()


def session_model(source: Source) -> list[Counter[Any]]:
    """What ``counted`` gives of sessions."""
    return [
        Counter((k, len(v), sum(v), len({*v}), min(v), at(s), at(e), at(e - 1)) for k, (s, e, v) in batch)
        for batch in spans(source)
    ]


@pytest.mark.parametrize("seed", each(3, [16, 17, 18]))
def test_sessions(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    """Times of whole 100 ms: so often event time is told. What has grown since its timer was set waits on."""
    made = source(tmp_path / "t", seed, 100)
    running = run(spark, counted(made.node, SESSION), accepts="append")
    model = session_model(made)
    assert given(running) == model
    assert max(n for batch in model for (_, n, *_) in batch) > 3
    assert sum(running.state(stages(running)).values()) == 2
    running.close()


def test_a_checkpoint_keeps_its_partitions(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is told goes to those of the checkpoint, whatever number is set for new ones."""
    window, bounds = WINDOWS["tumble"]
    made = source(tmp_path / "t", 19)
    later = {n: (tmp_path / "t" / f"{n:06d}.json").rename(tmp_path / f"{n}") for n in range(3, BATCHES + 1)}
    running = run(spark, counted(made.node, window), accepts="append")
    for n, file in later.items():
        file.rename(tmp_path / "t" / f"{n:06d}.json")
    monkeypatch.setitem(JOB, "spark.sql.shuffle.partitions", "5")
    running.go()
    model = windows(made, bounds)
    assert given(running) == [Counter(row(w, v) for w, v in batch.items()) for batch in model]
    running.close()


LOWER, UPPER = -5_000, 2_000


@dataclass
class Waiting:
    """A row of an interval join: in which batch it comes, until when it waits, whether it has matched one."""

    batch: int
    row: Row
    until: int
    met: bool = False


def interval_model(left: Source, right: Source, kind: str, beyond: bool) -> list[Counter[Any]]:
    times = both_times(left, right)
    before = [NEVER, *times]
    ends = (lambda t: t - LOWER, lambda t: t + UPPER)
    lefts, rights = (
        [Waiting(n, row, end(row[2])) for n, rows in enumerate(one.batches) for _, row in rows]
        for one, end in zip((left, right), ends, strict=True)
    )
    out: list[Counter[Any]] = [Counter() for _ in times]
    for x in lefts:
        for y in rights:
            first, second = sorted((x, y), key=lambda w: w.batch)
            there = first.until > before[second.batch] or (x.batch == y.batch and second.until > before[second.batch])
            near = x.row[0] is not None and x.row[0] == y.row[0] and LOWER <= x.row[2] - y.row[2] <= UPPER
            if there and near and (not beyond or x.row[1] < y.row[1]):
                out[second.batch][(*x.row[:2], *y.row[:2])] += 1
                x.met = y.met = True
    for rows, outer, place in ((lefts, ("left", "full"), 0), (rights, ("right", "full"), 1)):
        for w in (w for w in rows if kind in outer and not w.met):
            gone = next(n for n, time in enumerate(times) if n >= w.batch and max(time, before[w.batch]) >= w.until)
            gone = w.batch if w.until <= before[w.batch] or w.row[0] is None else gone  # NULL waits for nothing
            out[gone][(None, None, *w.row[:2]) if place else (*w.row[:2], None, None)] += 1
    return out


def interval_join(left: Source, right: Source, kind: Any, beyond: bool) -> N.Node:
    tests = [Call(T.BOOLEAN, "=", (InputRef(T.STRING, 0), InputRef(T.STRING, 3)))]
    tests += [Call(T.BOOLEAN, "<", (InputRef(T.INT, 1), InputRef(T.INT, 4)))] * beyond
    joined = N.IntervalJoin(
        fields=(*FIELDS, *(N.Field(f.name + "2", f.type) for f in FIELDS)),
        left=left.node,
        right=right.node,
        kind=kind,
        condition=Call(T.BOOLEAN, "AND", tuple(tests)) if beyond else tests[0],
        keys=((0, 0),),
        left_time=2,
        right_time=2,
        lower_ms=LOWER,
        upper_ms=UPPER,
    )
    return picked(joined, 0, 1, 3, 4)


@pytest.mark.parametrize(
    ("kind", "beyond"), each(5, [(k, b) for k in ("full", "inner", "left", "right") for b in (True, False)])
)
def test_interval_join(spark: SparkSession, tmp_path: Path, kind: Any, beyond: bool) -> None:
    """A row waits until nothing can match it; one that is late meets those that wait, and does not wait itself."""
    left, right = source(tmp_path / "l", 20, 100), source(tmp_path / "r", 21, 100)
    running = run(spark, interval_join(left, right, kind, beyond), accepts="append")
    model = interval_model(left, right, kind, beyond)
    assert given(running) == model
    assert sum(bool(batch) for batch in model) > 3
    assert sum(running.state(stages(running)).values()) == 2
    running.close()
