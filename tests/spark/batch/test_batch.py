"""Each batch lowering on Spark against hand-computed tables; the rules are Flink's streaming ones."""

from __future__ import annotations

from typing import Any

import pytest

from flinkddl import sqltypes as T
from flinkddl.plan import nodes as N
from flinkddl.plan.rex import InputRef, Literal, SortKey
from tests.spark.batch.harness import ROWTIME, TS, agg, equal, given, out, run

pytestmark = pytest.mark.spark
BIG = T.BIGINT
PAIRS = given("k:str v:int", ("a", 3), ("b", 1), ("a", None), ("a", 3), (None, 7))
TRUE = Literal(T.BOOLEAN.not_null(), True)
WINDOW = (("window_start", TS), ("window_end", TS), ("window_time", ROWTIME))
CLICKS = (("10:00:00",), ("10:00:20",), ("10:01:30",), ("10:00:50",), ("10:02:00",), ("10:00:05",))


def rank(node: N.Node, end: int, *, with_rank: bool = False, **more: Any) -> N.Rank:
    extra = (("rn", BIG),) if with_rank else ()
    order = (SortKey(1, True, False),)
    return N.Rank(
        input=node, partition=(0,), order=order, start=1, end=end, with_rank=with_rank, fields=out(node, *extra), **more
    )


def join(left: N.Node, right: N.Node, kind: Any, **more: Any) -> N.Join:
    fields = left.fields if kind in ("semi", "anti") else left.fields + right.fields
    condition = equal(InputRef(T.INT, 0), InputRef(T.INT, len(left.fields)))
    return N.Join(left=left, right=right, kind=kind, condition=condition, keys=((0, 0),), fields=fields, **more)


def window_count(node: N.Node, kind: Any, size: int, slide: int | None = None, **more: Any) -> N.WindowAggregate:
    fields = (N.Field("c", BIG), N.Field("s", TS), N.Field("e", TS))
    window = N.Window(kind=kind, time=0, size_ms=size, slide_ms=slide, **more)
    return N.WindowAggregate(
        input=node, window=window, keys=(), aggs=(agg("COUNT"),), properties=("start", "end"), fields=fields
    )


A = given("x:int y:str", (1, "a"), (2, "b"), (None, "n"))
B = given("x:int z:str", (1, "p"), (1, "q"), (3, "r"), (None, "m"))
NO_NULLS = given("x:int", (1,), (3,))
TIMES = given("rt:rt", *CLICKS)
LATE = given("rt:rt", *CLICKS, delay=0)
KV = given("k:str rt:rt v:int", ("a", "10:00:01", 1), ("a", "10:00:05", 2), ("a", "10:00:03", 4), ("a", "10:00:05", 8))
KV_LATE = given(
    "k:str rt:rt v:int",
    ("a", "10:00:01", 1),
    ("a", "10:00:05", 2),
    ("a", "10:00:03", 4),
    ("a", "10:00:05", 8),
    ("a", "10:00:09", 16),
    delay=0,
)


def over(node: N.Node, *calls: Any, order: int = 1, rows: bool = False, preceding: Any = None) -> N.Over:
    extra = tuple((f"o{i}", c.type) for i, c in enumerate(calls))
    return N.Over(
        input=node,
        partition=(0,),
        order=(SortKey(order),),
        calls=calls,
        rows=rows,
        preceding=preceding,
        fields=out(node, *extra),
    )


def sort(node: N.Node, *order: SortKey, fetch: int | None = None, offset: int = 0) -> N.Sort:
    return N.Sort(input=node, order=order, fetch=fetch, offset=offset, fields=node.fields)


def aggregate(node: N.Node, keys: tuple[int, ...], *aggs: Any) -> N.Aggregate:
    fields = (*(node.fields[k] for k in keys), *(N.Field(f"a{i}", a.type) for i, a in enumerate(aggs)))
    return N.Aggregate(input=node, keys=keys, aggs=aggs, fields=fields)


SUMS = aggregate(PAIRS, (0,), agg("SUM", 1, type=T.INT))
EMPTY = N.Values(rows=(), fields=PAIRS.fields)
TAGS = given("id:int t:str", (1, "x,y"), (2, None), (3, "z"))


CASES: dict[str, tuple[N.Node, list[tuple[Any, ...]]]] = {
    "group by with count and sum": (
        aggregate(PAIRS, (0,), agg("COUNT"), agg("SUM", 1, type=T.INT)),
        [("a", 3, 6), ("b", 1, 1), (None, 1, 7)],
    ),
    "filter of an aggregate": (
        aggregate(
            given("k:str v:int f:int", ("a", 3, 1), ("a", 4, 0)),
            (0,),
            agg("SUM", 1, type=T.INT),
        ),
        [("a", 7)],
    ),
    "select distinct": (aggregate(PAIRS, (0, 1)), [("a", 3), ("a", None), ("b", 1), (None, 7)]),
    "global aggregate over nothing gives no row": (aggregate(EMPTY, (), agg("COUNT")), []),
    "first and last follow arrival and skip NULL": (
        aggregate(PAIRS, (0,), agg("FIRST_VALUE", 1, type=T.INT), agg("LAST_VALUE", 1, type=T.INT)),
        [("a", 3, 3), ("b", 1, 1), (None, 7, 7)],
    ),
    # a's sum changed last with its fourth row, b's with the second: so b arrived before a, and NULL last
    "an aggregate arrives with its last change": (
        sort(SUMS, fetch=2),
        [("a", 6), ("b", 1)],
    ),
    "limit follows arrival": (sort(PAIRS, fetch=2, offset=1), [("a", None), ("b", 1)]),
    "order by with limit, ties by arrival": (
        sort(given("v:int w:int", (2, 1), (1, 2), (1, 3), (1, 4)), SortKey(0), fetch=2),
        [(1, 2), (1, 3)],
    ),
    "top 2, earlier row ranks better": (
        rank(given("k:str v:int w:int", ("a", 5, 1), ("a", 7, 2), ("a", 5, 3)), 2, with_rank=True),
        [("a", 5, 1, 2), ("a", 7, 2, 1)],
    ),
    "keep first by arrival": (
        N.Deduplicate(input=PAIRS, keys=(0,), order=0, keep_last=False, proctime=True, fields=PAIRS.fields),
        [("a", 3), ("b", 1), (None, 7)],
    ),
    "keep last by time, later of equals wins": (
        N.Deduplicate(input=KV, keys=(0,), order=1, keep_last=True, proctime=False, fields=KV.fields),
        [("a", "10:00:05", 8)],
    ),
    "inner join": (join(A, B, "inner"), [(1, "a", 1, "p"), (1, "a", 1, "q")]),
    "full join pads both sides": (
        join(A, B, "full"),
        [
            (1, "a", 1, "p"),
            (1, "a", 1, "q"),
            (2, "b", None, None),
            (None, "n", None, None),
            (None, None, 3, "r"),
            (None, None, None, "m"),
        ],
    ),
    "semi join": (join(A, B, "semi"), [(1, "a")]),
    "anti join keeps NULL": (join(A, B, "anti"), [(2, "b"), (None, "n")]),
    "not in with a NULL keeps nothing": (join(A, B, "anti", null_aware=True, null_tests=1), []),
    "not in without NULLs": (join(A, NO_NULLS, "anti", null_aware=True, null_tests=1), [(2, "b")]),
    "tumble": (
        window_count(TIMES, "TUMBLE", 60_000),
        [(1, "10:01:00", "10:02:00"), (1, "10:02:00", "10:03:00"), (4, "10:00:00", "10:01:00")],
    ),
    "tumble drops late rows": (
        window_count(LATE, "TUMBLE", 60_000),
        [(1, "10:01:00", "10:02:00"), (1, "10:02:00", "10:03:00"), (2, "10:00:00", "10:01:00")],
    ),
    "hop with offset": (
        window_count(given("rt:rt", ("10:00:20",)), "HOP", 60_000, 30_000, offset_ms=15_000),
        [(1, "09:59:45", "10:00:45"), (1, "10:00:15", "10:01:15")],
    ),
    "cumulate": (
        window_count(given("rt:rt", ("10:01:10",), ("10:00:00",)), "CUMULATE", 120_000, 60_000),
        [(1, "10:00:00", "10:01:00"), (2, "10:00:00", "10:02:00")],
    ),
    "session": (
        window_count(TIMES, "SESSION", 30_000),
        [(2, "10:01:30", "10:02:30"), (4, "10:00:00", "10:01:20")],
    ),
    # 10:00:50 is behind the watermark 10:01:30 and its session is closed; 10:02:00 touches the open one
    "session drops late rows": (
        window_count(LATE, "SESSION", 30_000),
        [(2, "10:00:00", "10:00:50"), (2, "10:01:30", "10:02:30")],
    ),
    "over range takes peers in": (
        over(KV, agg("SUM", 2, type=T.INT), agg("RANK")),
        [
            ("a", "10:00:01", 1, 1, 1),
            ("a", "10:00:03", 4, 5, 2),
            ("a", "10:00:05", 2, 15, 4),
            ("a", "10:00:05", 8, 15, 4),
        ],
    ),
    "over rows goes by arrival": (
        over(KV, agg("SUM", 2, type=T.INT), rows=True, preceding=1),
        [("a", "10:00:01", 1, 1), ("a", "10:00:03", 4, 5), ("a", "10:00:05", 2, 6), ("a", "10:00:05", 8, 10)],
    ),
    "over bounded range": (
        over(KV, agg("COUNT"), preceding=2000),
        [("a", "10:00:01", 1, 1), ("a", "10:00:03", 4, 2), ("a", "10:00:05", 2, 3), ("a", "10:00:05", 8, 3)],
    ),
    "over drops late rows": (
        over(KV_LATE, agg("SUM", 2, type=T.INT)),
        [("a", "10:00:01", 1, 1), ("a", "10:00:05", 2, 3), ("a", "10:00:09", 16, 19)],
    ),
    # 10:00:03 is behind the watermark, but its key had nothing computed beyond it yet
    "over with a lower bound keeps a row that its key can still take": (
        over(
            given("k:str rt:rt v:int", ("a", "10:00:01", 1), ("b", "10:00:05", 2), ("a", "10:00:03", 4), delay=0),
            agg("COUNT"),
            rows=True,
            preceding=1,
        ),
        [("a", "10:00:01", 1, 1), ("a", "10:00:03", 4, 2), ("b", "10:00:05", 2, 1)],
    ),
    "lag gives all rows of one time the value of the last": (
        over(KV, agg("LAG", 2, type=T.INT)),
        [("a", "10:00:01", 1, None), ("a", "10:00:03", 4, 1), ("a", "10:00:05", 2, 2), ("a", "10:00:05", 8, 2)],
    ),
    "over distinct": (
        over(KV, agg("COUNT", 2, distinct=True), rows=True),
        [("a", "10:00:01", 1, 1), ("a", "10:00:03", 4, 2), ("a", "10:00:05", 2, 3), ("a", "10:00:05", 8, 4)],
    ),
    "expand": (
        N.Expand(input=PAIRS, keys=(0,), sets=((0,), ()), masks=(0, 1), fields=out(PAIRS, ("$e", BIG))),
        [
            ("a", 3, 0),
            ("a", 3, 0),
            ("a", None, 0),
            ("b", 1, 0),
            (None, 1, 1),
            (None, 3, 1),
            (None, 3, 1),
            (None, 7, 0),
            (None, 7, 1),
            (None, None, 1),
        ],
    ),
    "union all": (N.Union(parts=(NO_NULLS, NO_NULLS), fields=NO_NULLS.fields), [(1,), (1,), (3,), (3,)]),
}


@pytest.mark.parametrize("name", CASES)
def test_table(spark: Any, name: str) -> None:
    node, expected = CASES[name]
    assert run(spark, node) == sorted(expected, key=repr)


def test_global_aggregate_over_nothing_gives_one_row_in_batch_mode(spark: Any) -> None:
    node = aggregate(EMPTY, (), agg("COUNT"))
    assert run(spark, node, **{"execution.runtime-mode": "batch"}) == [(0,)]


def test_null_rowtime_fails_at_the_window(spark: Any) -> None:
    with pytest.raises(Exception, match="RowTime field should not be null"):
        run(spark, window_count(given("rt:rt", (None,)), "TUMBLE", 1000))


def test_windows_of_an_instant_align_to_the_session_zone(spark: Any) -> None:
    time = given("rt:rt", ("23:30:00",))
    ltz = N.Project(input=time, exprs=(InputRef(T.TIMESTAMP_LTZ(3), 0),), fields=(N.Field("t", T.TIMESTAMP_LTZ(3)),))
    rows = run(spark, window_count(ltz, "TUMBLE", 86_400_000), zone="Asia/Shanghai")
    assert rows == [(1, "2024-03-02T00:00:00", "2024-03-03T00:00:00")]
