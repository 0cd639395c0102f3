"""Event-time operators in append mode: what comes out once the watermark, and at last the end of input, passes."""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl import sqltypes as T
from flinkddl.plan import nodes as N
from flinkddl.plan.rex import AggCall, Call, InputRef, Literal, Rex, SortKey
from tests.spark.stream.harness import Feed, Running, feed, write
from tests.support.nightly import each

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TS = T.TIMESTAMP(3)
ROWTIME = TS.as_attribute("ROWTIME")
FIELDS = (N.Field("k", T.STRING), N.Field("v", T.INT), N.Field("ts", ROWTIME))
BOUNDS = (N.Field("window_start", TS), N.Field("window_end", TS))
START = datetime(2024, 3, 1, 10)
Row = tuple[Any, ...]


def table(folder: Path, kind: Any = "append", key: tuple[int, ...] = ()) -> Feed:
    spec = N.WatermarkSpec(index=2, expression=Literal(ROWTIME, None), delay_ms=150_000)
    return feed(folder, FIELDS, kind, key, watermark=spec)


def fill(node: Feed, seed: int, count: int = 30, keys: str = "ab") -> list[Row]:
    """Write two files of rows, none late, and return them; times are unique."""
    r = random.Random(seed)
    seconds = r.sample(range(120), count)
    rows = [(r.choice(keys), r.randrange(9), START + timedelta(seconds=s)) for s in seconds]
    for n, part in enumerate((rows[: count // 2], rows[count // 2 :])):
        write(node.folder, n, [record(row, n * count + i) for i, row in enumerate(part)])
    return rows


def record(row: Row, seq: int) -> dict[str, Any]:
    return {"k": row[0], "v": row[1], "ts": row[2].isoformat() + "Z", "__seq": seq}


def finish(*nodes: Feed) -> None:
    for node in nodes:
        write(node.folder, 99, [{"ts": "2200-01-01T00:00:00Z"}])


def run(spark: SparkSession, node: N.Node, *feeds: Feed) -> Counter[Any]:
    running = Running(spark, node, "append").go()
    finish(*feeds)
    running.go()
    running.close()
    assert not running.wrong
    return running.table


def floor(t: datetime, step: int, offset: int = 0) -> datetime:
    seconds = int((t - START).total_seconds())
    return START + timedelta(seconds=(seconds - offset) // step * step + offset)


def tumble(t: datetime) -> list[tuple[datetime, datetime]]:
    s = floor(t, 20, 5)
    return [(s, s + timedelta(seconds=20))]


def hop(t: datetime) -> list[tuple[datetime, datetime]]:
    last = floor(t, 10)
    return [(last - timedelta(seconds=10 * i), last + timedelta(seconds=30 - 10 * i)) for i in range(3)]


def cumulate(t: datetime) -> list[tuple[datetime, datetime]]:
    s = floor(t, 30)
    ends = [s + timedelta(seconds=10 * i) for i in (1, 2, 3)]
    return [(s, e) for e in ends if e > t]


WINDOWS: dict[str, tuple[N.Window, Callable[[datetime], list[tuple[datetime, datetime]]]]] = {
    "tumble": (N.Window(kind="TUMBLE", time=2, size_ms=20_000, offset_ms=5_000), tumble),
    "hop": (N.Window(kind="HOP", time=2, size_ms=30_000, slide_ms=10_000), hop),
    "cumulate": (N.Window(kind="CUMULATE", time=2, size_ms=30_000, slide_ms=10_000), cumulate),
}


def agg(function: str, *args: int, type: T.DataType = T.BIGINT, **more: Any) -> AggCall:
    return AggCall(function, args, type, **more)


@pytest.mark.parametrize(("name", "own"), each(2, [(n, own) for own in (False, True) for n in WINDOWS]))
def test_window_aggregate(spark: SparkSession, tmp_path: Path, name: str, own: bool) -> None:
    """With Spark's own aggregates, and with ours (DISTINCT)."""
    window, windows = WINDOWS[name]
    source = table(tmp_path / "t")
    rows = fill(source, 1)
    calls = (agg("COUNT"), agg("SUM", 1, type=T.INT, distinct=own))
    named = (FIELDS[0], N.Field("n", T.BIGINT), N.Field("s", T.INT), *BOUNDS)
    node = N.WindowAggregate(
        fields=named, input=source, window=window, keys=(0,), aggs=calls, properties=("start", "end")
    )
    expected: dict[Any, list[int]] = {}
    for k, v, t in rows:
        for w in windows(t):
            expected.setdefault((k, *w), []).append(v)
    model = Counter((k, len(v), sum(set(v)) if own else sum(v), s, e) for (k, s, e), v in expected.items())
    assert run(spark, node, source) == model


def test_two_levels_of_windows(spark: SparkSession, tmp_path: Path) -> None:
    source = table(tmp_path / "t")
    rows = fill(source, 2)
    small = N.WindowAggregate(
        fields=(FIELDS[0], N.Field("n", T.BIGINT), N.Field("rt", ROWTIME)),
        input=source,
        window=N.Window(kind="TUMBLE", time=2, size_ms=10_000),
        keys=(0,),
        aggs=(agg("COUNT"),),
        properties=("time",),
    )
    large = N.WindowAggregate(
        fields=(N.Field("n", T.BIGINT), N.Field("c", T.BIGINT), *BOUNDS),
        input=small,
        window=N.Window(kind="TUMBLE", time=2, size_ms=30_000),
        keys=(),
        aggs=(agg("SUM", 1), agg("COUNT")),
        properties=("start", "end"),
    )
    first = Counter((k, floor(t, 10)) for k, _, t in rows)
    expected: dict[datetime, list[int]] = {}
    for (_, s), n in first.items():
        expected.setdefault(floor(s, 30), []).append(n)
    model = Counter((sum(n), len(n), s, s + timedelta(seconds=30)) for s, n in expected.items())
    assert run(spark, large, source) == model


def test_session_aggregate(spark: SparkSession, tmp_path: Path) -> None:
    source = table(tmp_path / "t")
    rows = fill(source, 3, 24)
    window = N.Window(kind="SESSION", time=2, size_ms=8_000, partition_keys=(0,))
    named = (FIELDS[0], N.Field("n", T.BIGINT), *BOUNDS)
    node = N.WindowAggregate(
        fields=named, input=source, window=window, keys=(0,), aggs=(agg("COUNT"),), properties=("start", "end")
    )
    model: Counter[Any] = Counter()
    for key in "ab":
        session: list[datetime] = []
        for t in [*sorted(t for k, _, t in rows if k == key), None]:
            if session and (t is None or t - session[-1] > timedelta(seconds=8)):
                model[(key, len(session), session[0], session[-1] + timedelta(seconds=8))] += 1
                session = []
            session += [t] if t else []
    assert run(spark, node, source) == model


def windowed(source: Feed) -> N.WindowTableFunction:
    window = N.Window(kind="TUMBLE", time=2, size_ms=30_000)
    plain = (*FIELDS[:2], N.Field("ts", TS))
    return N.WindowTableFunction(fields=(*plain, *BOUNDS, N.Field("window_time", ROWTIME)), input=source, window=window)


def test_window_top(spark: SparkSession, tmp_path: Path) -> None:
    source = table(tmp_path / "t")
    rows = fill(source, 4)
    ranked = N.Rank(
        fields=(*windowed(source).fields, N.Field("rn", T.BIGINT)),
        input=windowed(source),
        partition=(0, 3, 4),
        order=(SortKey(1, descending=True, nulls_first=False), SortKey(2)),
        start=1,
        end=2,
        with_rank=True,
        window=(3, 4),
    )
    picked = (0, 1, 3, 6)
    node = N.Project(
        fields=tuple(ranked.fields[i] for i in picked),
        input=ranked,
        exprs=tuple(InputRef(ranked.fields[i].type, i) for i in picked),
    )
    model: Counter[Any] = Counter()
    for key, start in {(k, floor(t, 30)) for k, _, t in rows}:
        mine = sorted((-v, t) for k, v, t in rows if (k, floor(t, 30)) == (key, start))
        model.update((key, -v, start, n) for n, (v, _) in enumerate(mine[:2], 1))
    assert run(spark, node, source) == model


@pytest.mark.parametrize("kind", each(2, ["inner", "left", "full", "semi", "anti"]))
def test_window_join(spark: SparkSession, tmp_path: Path, kind: Any) -> None:
    left, right = table(tmp_path / "l"), table(tmp_path / "r")
    one, two = fill(left, 5, 8, "abc"), fill(right, 6, 8, "bcd")
    a, b = windowed(left), windowed(right)
    condition: Rex = Call(T.BOOLEAN, "AND", tuple(_equal(a.fields[i].type, i, i + 6) for i in (0, 3, 4)))
    joined = N.WindowJoin(
        fields=a.fields if kind in ("semi", "anti") else (*a.fields, *b.fields),
        left=a,
        right=b,
        kind=kind,
        condition=condition,
        keys=((0, 0),),
        left_window=(3, 4),
        right_window=(3, 4),
    )
    picked = (0, 1) if kind in ("semi", "anti") else (0, 1, 6, 7)
    node = N.Project(
        fields=tuple(N.Field(f"c{i}", joined.fields[i].type) for i in picked),
        input=joined,
        exprs=tuple(InputRef(joined.fields[i].type, i) for i in picked),
    )
    pairs = [(x, y) for x in one for y in two if x[0] == y[0] and floor(x[2], 30) == floor(y[2], 30)]
    assert run(spark, node, left, right) == Counter(_joined(kind, pairs, one, two))


def _equal(t: T.DataType, a: int, b: int) -> Call:
    return Call(T.BOOLEAN, "=", (InputRef(t, a), InputRef(t, b)))


def _joined(kind: str, pairs: list[tuple[Row, Row]], one: list[Row], two: list[Row]) -> list[Row]:
    hit, met = {x for x, _ in pairs}, {y for _, y in pairs}
    if kind in ("semi", "anti"):
        return [x[:2] for x in one if (x in hit) == (kind == "semi")]
    out = [(*x[:2], *y[:2]) for x, y in pairs]
    out += [(*x[:2], None, None) for x in one if x not in hit and kind != "inner"]
    return out + [(None, None, *y[:2]) for y in two if y not in met and kind == "full"]


@pytest.mark.parametrize("kind", each(2, ["inner", "left", "full"]))
def test_interval_join(spark: SparkSession, tmp_path: Path, kind: Any) -> None:
    left, right = table(tmp_path / "l"), table(tmp_path / "r")
    one, two = fill(left, 7, 12), fill(right, 8, 12)
    joined = N.IntervalJoin(
        fields=(*FIELDS, *(N.Field(f.name + "2", f.type) for f in FIELDS)),
        left=left,
        right=right,
        kind=kind,
        condition=_equal(T.STRING, 0, 3),
        keys=((0, 0),),
        left_time=2,
        right_time=2,
        lower_ms=-5_000,
        upper_ms=2_000,
    )
    node = N.Project(
        fields=tuple(joined.fields[i] for i in (0, 1, 3, 4)),
        input=joined,
        exprs=tuple(InputRef(joined.fields[i].type, i) for i in (0, 1, 3, 4)),
    )
    low, high = timedelta(seconds=-5), timedelta(seconds=2)
    pairs = [(x, y) for x in one for y in two if x[0] == y[0] and low <= x[2] - y[2] <= high]
    assert run(spark, node, left, right) == Counter(_joined(kind, pairs, one, two))


@pytest.mark.parametrize(("kind", "mode"), each(3, [(k, m) for k in ("inner", "left") for m in ("append", "update")]))
def test_temporal_join(spark: SparkSession, tmp_path: Path, kind: Any, mode: str) -> None:
    left, right = table(tmp_path / "l"), table(tmp_path / "r")
    one, two = fill(left, 9, 14, "abc"), fill(right, 10, 14, "ab")
    versions = N.Deduplicate(fields=FIELDS, input=right, keys=(0,), order=2, keep_last=True, proctime=False)
    joined = N.TemporalJoin(
        fields=(*FIELDS, *(N.Field(f.name + "2", f.type) for f in FIELDS)),
        left=left,
        right=versions,
        kind=kind,
        condition=_equal(T.STRING, 0, 3),
        keys=((0, 0),),
        left_time=2,
        right_time=2,
    )
    pairs = []
    for x in one:
        older = [y for y in two if y[0] == x[0] and y[2] <= x[2]]
        pairs += [(x, max(older, key=lambda y: y[2]))] if older else []
    node: N.Node = N.Project(
        fields=tuple(joined.fields[i] for i in (0, 1, 3, 4)),
        input=joined,
        exprs=tuple(InputRef(joined.fields[i].type, i) for i in (0, 1, 3, 4)),
    )
    expected = Counter(_joined(kind, pairs, one, two))
    if mode == "append":
        assert run(spark, node, left, right) == expected
        return
    node = N.Aggregate(
        fields=(*node.fields, N.Field("n", T.BIGINT)), input=node, keys=(0, 1, 2, 3), aggs=(agg("COUNT"),)
    )
    running = Running(spark, node).go()
    running.close()
    assert running.table == Counter((*r, n) for r, n in expected.items())


@pytest.mark.parametrize("by_rows", [False, True])
def test_over(spark: SparkSession, tmp_path: Path, by_rows: bool) -> None:
    source = table(tmp_path / "t")
    rows = fill(source, 11)
    node = N.Over(
        fields=(*FIELDS[:2], N.Field("ts", ROWTIME), N.Field("s", T.INT)),
        input=source,
        partition=(0,),
        order=(SortKey(2),),
        calls=(agg("SUM", 1, type=T.INT),),
        rows=by_rows,
        preceding=2 if by_rows else 15_000,
    )
    running = Running(spark, node).go()
    running.close()
    model: Counter[Any] = Counter()
    for k, v, t in rows:
        before = sorted((u, w) for j, w, u in rows if j == k and u <= t)
        frame = before[-3:] if by_rows else [b for b in before if b[0] >= t - timedelta(seconds=15)]
        model[(k, v, sum(w for _, w in frame))] += 1
    assert Counter((r[0], r[1], r[3]) for r in running.table.elements()) == model
