"""Rows that part and meet again: an operator that others read twice runs once, to the same table."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl import sqltypes as T
from flinkddl.plan import nodes as N
from flinkddl.plan.rex import AggCall, Call, InputRef, Literal, SortKey
from flinkddl.spark.job import GroupBy, Read
from tests.spark.stream.stages import FIELDS, KEYED, Row, expected, forget_commit, run
from tests.spark.stream.test_stages import Query, groups, made
from tests.support.nightly import nightly

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

T_FIELD, K_FIELD, V_FIELD = FIELDS[0], FIELDS[2], FIELDS[3]
COUNTS = (T_FIELD, K_FIELD, V_FIELD, N.Field("n", T.BIGINT))


def ref(node: N.Node, index: int) -> InputRef:
    return InputRef(node.fields[index].type, index)


def counts(input: N.Node) -> N.Node:
    """How many rows of each k and v."""
    return N.Aggregate(fields=COUNTS, input=input, keys=(0, 2, 3), aggs=(AggCall("COUNT", (1,), T.BIGINT),))


def per_key(input: N.Node, name: str, function: str, arg: int) -> N.Node:
    fields = (T_FIELD, K_FIELD, N.Field(name, T.BIGINT))
    return N.Aggregate(fields=fields, input=input, keys=(0, 1), aggs=(AggCall(function, (arg,), T.BIGINT),))


def joined(left: N.Node, right: N.Node, kind: Any = "inner", more: tuple[tuple[str, int, int], ...] = ()) -> N.Node:
    """Join by trial and k, and what else must hold; without trials: they are NULL on a side that is padded."""
    width = len(left.fields)
    both = (*left.fields, *right.fields)

    def beside(sql: str, a: int, b: int) -> Call:
        return Call(T.BOOLEAN, sql, (InputRef(both[a].type, a), InputRef(both[width + b].type, width + b)))

    tests = (beside("=", 0, 0), beside("=", 1, 1), *(beside(*m) for m in more))
    fields = left.fields if kind in ("semi", "anti") else tuple(N.Field(f"c{i}", f.type) for i, f in enumerate(both))
    condition = Call(T.BOOLEAN, "AND", tests)
    return N.Join(fields=fields, left=left, right=right, kind=kind, condition=condition, keys=((0, 0), (1, 1)))


def picked(node: N.Node, *kept: int) -> N.Node:
    fields = tuple(N.Field(f"p{i}", node.fields[i].type) for i in kept)
    return N.Project(fields=fields, input=node, exprs=tuple(ref(node, i) for i in kept))


def above(node: N.Node, index: int, bound: int) -> N.Node:
    least = Literal(T.BIGINT, bound)
    return N.Filter(fields=node.fields, input=node, condition=Call(T.BOOLEAN, ">", (ref(node, index), least)))


# ---- queries: each mentions its table, or what is made of it, several times -----------------------------------------


def hottest(table: N.Node) -> N.Node:
    """q5: the most frequent values of each k."""
    most = per_key(counts(table), "m", "MAX", 3)
    return picked(joined(counts(table), most, more=((">=", 3, 2),)), 0, 1, 2, 3)


def hottest_model(rows: list[Row]) -> list[Row]:
    found = Counter((r[1], r[2]) for r in rows)
    return [
        (k, v, n)
        for (k, v), n in found.items()
        if k is not None and n == max(m for (j, _), m in found.items() if j == k)
    ]


def beside_itself(table: N.Node) -> N.Node:
    return picked(joined(counts(table), above(counts(table), 3, 1), "left"), 0, 1, 2, 3, 6, 7)


def beside_itself_model(rows: list[Row]) -> list[Row]:
    found = [(k, v, n) for (k, v), n in Counter((r[1], r[2]) for r in rows).items()]
    out: list[Row] = []
    for a in found:
        hits = [b for b in found if a[0] is not None and a[0] == b[0] and b[2] > 1]
        out += [(*a, *b[1:]) for b in hits] or [(*a, None, None)]
    return out


def two_above_one(table: N.Node) -> N.Node:
    """Two operators of one depth, whose results meet the rows of the one that they read."""
    low, high = per_key(counts(table), "lo", "MIN", 3), per_key(counts(table), "hi", "MAX", 3)
    both = picked(joined(low, high), 0, 1, 2, 5)
    return picked(joined(both, counts(table), "full"), 1, 2, 3, 5, 6, 7)


def two_above_one_model(rows: list[Row]) -> list[Row]:
    found = Counter((r[1], r[2]) for r in rows)
    per = {k: [n for (j, _), n in found.items() if j == k] for k, _ in found}
    out: list[Row] = [(k, min(per[k]), max(per[k]), k, v, n) for (k, v), n in found.items() if k is not None]
    # NULL meets nothing: the minimum of its counts neither, before there is a pair
    return out + [(None, None, None, k, v, n) for (k, v), n in found.items() if k is None]


def outer_beyond(table: N.Node) -> N.Node:
    """Two joins that test a condition, of one depth, in a stage that rows pass; rows of one table on both sides."""
    most = per_key(counts(table), "m", "MAX", 3)
    fewer = picked(joined(counts(table), most, "full", more=(("<", 3, 2),)), 1, 2, 3, 6)
    kept = picked(joined(counts(table), most, "anti", more=(("<", 3, 2),)), 1, 2, 3, 3)
    fields = tuple(N.Field(f"u{i}", f.type) for i, f in enumerate(fewer.fields))
    return N.Union(fields=fields, parts=(fewer, kept, picked(counts(table), 1, 2, 3, 3)))


def outer_beyond_model(rows: list[Row]) -> list[Row]:
    found = [(k, v, n) for (k, v), n in Counter((r[1], r[2]) for r in rows).items()]
    most = {k: max(n for j, _, n in found if j == k) for k, *_ in found}
    fewer = [(*a, most[a[0]]) for a in found if a[0] is not None and a[2] < most[a[0]]]
    others = [a for a in found if a[0] is None or a[2] == most[a[0]]]
    alone = [m for k, m in most.items() if k is None or all(n == m for j, _, n in found if j == k)]
    out: list[Row] = [*fewer, *((*a, None) for a in others), *((None, None, None, m) for m in alone)]
    return out + [(*a, a[2]) for a in (*others, *found)]


def parts_of_one(table: N.Node) -> N.Node:
    """UNION ALL: rows of one operator as they are, of one above it, and again."""
    first = picked(above(counts(table), 3, 1), 0, 1, 3)
    second = per_key(counts(table), "s", "SUM", 3)
    fields = tuple(N.Field(f"u{i}", f.type) for i, f in enumerate(first.fields))
    return N.Union(fields=fields, parts=(first, second, picked(counts(table), 0, 1, 3)))


def parts_of_one_model(rows: list[Row]) -> list[Row]:
    found = Counter((r[1], r[2]) for r in rows)
    totals = Counter(r[1] for r in rows)
    return (
        [(k, n) for (k, _), n in found.items() if n > 1] + [(k, n) for (k, _), n in found.items()] + [*totals.items()]
    )


def with_its_top(table: N.Node) -> N.Node:
    """A table beside the first of its rows: those pass, and the table is an upsert one."""
    fields = FIELDS
    first = N.Rank(
        fields=fields, input=table, partition=(0, 2), order=(SortKey(3), SortKey(1)), start=1, end=1, with_rank=False
    )
    left, right = picked(table, 0, 2, 1, 3), picked(first, 0, 2, 1)
    return picked(joined(left, right), 1, 2, 3, 6)


def with_its_top_model(rows: list[Row]) -> list[Row]:
    out: list[Row] = []
    for k, members in groups(rows).items():
        if k is not None:
            first = min(members, key=lambda r: (r[2] is not None, r[2] or 0, r[0]))
            out += [(k, r[0], r[2], first[0]) for r in members]
    return out


def last_place(table: N.Node) -> N.Node:
    """Rows with their places, of which the largest one is kept."""
    order, calls = (SortKey(3),), (AggCall("ROW_NUMBER", (), T.BIGINT),)
    fields = (*FIELDS, N.Field("rn", T.BIGINT))
    places = N.Over(fields=fields, input=table, partition=(0, 2), order=order, calls=calls, rows=True)
    kept = picked(places, 0, 2, 1, 4)
    return picked(joined(kept, per_key(kept, "m", "MAX", 3), more=(("=", 3, 2),)), 0, 1, 2, 3)


def last_place_model(rows: list[Row]) -> list[Row]:
    ordered = {k: sorted(g, key=lambda r: (r[2] is not None, r[2] or 0)) for k, g in groups(rows).items()}
    return [(k, g[-1][0], len(g)) for k, g in ordered.items() if k is not None]


def three_deep(table: N.Node) -> N.Node:
    """Rows pass two stages; a join becomes many rows in the middle."""
    most = per_key(counts(table), "m", "MAX", 3)
    hot = picked(joined(counts(table), most, more=((">=", 3, 2),)), 0, 1, 2, 3)
    how_many = per_key(hot, "h", "COUNT", 3)
    return picked(joined(counts(table), how_many, "anti"), 0, 1, 2, 3)


def three_deep_model(rows: list[Row]) -> list[Row]:
    return [(k, v, n) for (k, v), n in Counter((r[1], r[2]) for r in rows).items() if k is None]


def from_the_sides(table: N.Node, x: N.Node, y: N.Node) -> N.Node:
    """Two joins of one depth, each with a table that nothing else reads: three ways into their stage."""
    sum_, most = per_key(counts(x), "s", "SUM", 3), per_key(counts(y), "m", "MAX", 3)
    left, right = (picked(joined(counts(table), other), 0, 1, 2, 3, 6) for other in (sum_, most))
    return picked(joined(left, right, more=(("=", 2, 2),)), 0, 1, 2, 3, 4, 9)


def from_the_sides_model(rows: list[Row], x: list[Row], y: list[Row]) -> list[Row]:
    found, most = Counter((r[1], r[2]) for r in rows), Counter((r[1], r[2]) for r in y)
    out: list[Row] = []
    for (k, v), n in found.items():
        sum_, best = sum(r[1] == k for r in x), max((m for (j, _), m in most.items() if j == k), default=0)
        out += [(k, v, n, sum_, best)] if k is not None and v is not None and sum_ and best else []
    return out


# ---- tables of changes: read, and their newest rows kept, once, whatever is asked of a mention -----------------------


def by_k(table: N.Node) -> N.Node:
    """A projection that keeps the key of an upsert table: t, k, id, v."""
    return picked(table, 0, 2, 1, 3)


def with_itself(table: N.Node) -> N.Node:
    return picked(joined(by_k(table), picked(above(table, 3, 1), 0, 2, 1)), 0, 1, 2, 3, 6)


def with_itself_model(rows: list[Row]) -> list[Row]:
    return [
        (k, id, v, other)
        for id, k, v in rows
        for other, j, w in rows
        if k is not None and j == k and w is not None and w > 1
    ]


def kept_where(table: N.Node) -> N.Node:
    """EXISTS over the same table."""
    return joined(by_k(table), picked(above(table, 3, 1), 0, 2), "semi")


def kept_where_model(rows: list[Row]) -> list[Row]:
    found = {k for _, k, v in rows if k is not None and v is not None and v > 1}
    return [(k, id, v) for id, k, v in rows if k in found]


def put_together(table: N.Node) -> N.Node:
    parts = picked(table, 0, 1, 3), picked(above(table, 3, 1), 0, 1, 3), picked(above(table, 3, 2), 0, 3, 3)
    fields = tuple(N.Field(f"u{i}", f.type) for i, f in enumerate(parts[0].fields))
    return N.Union(fields=fields, parts=parts)


def put_together_model(rows: list[Row]) -> list[Row]:
    big = [(id, v) for id, _, v in rows if v is not None and v > 1]
    return [*((id, v) for id, _, v in rows), *big, *((v, v) for _, v in big if v > 2)]


def with_its_last(table: N.Node) -> N.Node:
    """A join that asks for no order, with an aggregate that does."""
    calls = (AggCall("LAST_VALUE", (2,), T.INT), AggCall("FIRST_VALUE", (2,), T.INT))
    fields = (T_FIELD, K_FIELD, N.Field("last", T.INT), N.Field("first", T.INT))
    ends = N.Aggregate(fields=fields, input=by_k(table), keys=(0, 1), aggs=calls)
    return picked(joined(by_k(table), ends), 0, 1, 2, 3, 6, 7)


def with_its_last_model(rows: list[Row]) -> list[Row]:
    ids = {k: [r[0] for r in members] for k, members in groups(rows).items()}
    return [(k, id, v, ids[k][-1], ids[k][0]) for id, k, v in rows if k is not None]


# ---- tables of inserts: read once, whatever operators by key lie between their mentions -----------------------------


def distinct(table: N.Node, key: int, arg: int) -> N.Node:
    """How many values of a field each key has: t, key, n."""
    calls = (AggCall("COUNT", (arg,), T.BIGINT, distinct=True),)
    fields = (T_FIELD, table.fields[key], N.Field("n", T.BIGINT))
    return N.Aggregate(fields=fields, input=table, keys=(0, key), aggs=calls)


def united(*parts: N.Node) -> N.Node:
    return N.Union(fields=tuple(N.Field(f"u{i}", f.type) for i, f in enumerate(parts[0].fields)), parts=parts)


def two_distinct(table: N.Node) -> N.Node:
    return united(picked(distinct(table, 2, 3), 0, 2), picked(distinct(above(table, 3, 0), 3, 1), 0, 2))


def two_distinct_model(rows: list[Row]) -> list[Row]:
    of_v = {v: len(g) for v, g in groups(rows, 2).items() if v is not None and v > 0}
    return [(n,) for n in [*of_k(rows).values(), *of_v.values()]]


def of_k(rows: list[Row]) -> dict[Any, int]:
    """How many values each k has."""
    return {k: len({r[2] for r in g if r[2] is not None}) for k, g in groups(rows).items()}


def beside_distinct(table: N.Node) -> N.Node:
    """Rows of the table pass the stage of the totals with which they are joined."""
    return picked(joined(by_k(table), distinct(table, 2, 3)), 0, 1, 2, 3, 6)


def beside_distinct_model(rows: list[Row]) -> list[Row]:
    return [(k, id, v, of_k(rows)[k]) for id, k, v in rows if k is not None]


def per_size(table: N.Node) -> N.Node:
    """A group above that join."""
    found = joined(by_k(table), distinct(table, 2, 3))
    calls = (AggCall("COUNT", (2,), T.BIGINT), AggCall("MAX", (2,), T.INT))
    fields = (T_FIELD, N.Field("n", T.BIGINT), N.Field("rows", T.BIGINT), N.Field("last", T.INT))
    return N.Aggregate(fields=fields, input=found, keys=(0, 6), aggs=calls)


def per_size_model(rows: list[Row]) -> list[Row]:
    found = groups(beside_distinct_model(rows), 3)
    return [(n, len(g), max(r[1] for r in g)) for n, g in found.items()]


def outer_two(table: N.Node) -> N.Node:
    """A join of two aggregates by other keys, that tests a condition, beside rows of the table."""
    left = picked(distinct(table, 3, 1), 0, 2, 1)
    right = picked(distinct(table, 2, 3), 0, 2, 2)
    by_size = picked(joined(left, right, "left", (("<", 2, 2),)), 0, 1, 2, 5)
    return picked(joined(by_size, picked(counts(table), 0, 3, 3), "semi"), 0, 1, 2, 3)


def outer_two_model(rows: list[Row]) -> list[Row]:
    sizes = set(Counter((r[1], r[2]) for r in rows).values())
    out: list[Row] = []
    for v, g in groups(rows, 2).items():
        hits = [n for n in of_k(rows).values() if n == len(g) and v is not None and v < n]
        out += [(len(g), v, n) for n in hits] or [(len(g), v, None)]
    return [row for row in out if row[0] in sizes]


def beside_the_most(table: N.Node) -> N.Node:
    """Rows of the table pass two stages."""
    return picked(joined(by_k(table), per_key(counts(table), "m", "MAX", 3)), 0, 1, 2, 3, 6)


def beside_the_most_model(rows: list[Row]) -> list[Row]:
    found = Counter((r[1], r[2]) for r in rows)
    return [(k, id, v, max(n for (j, _), n in found.items() if j == k)) for id, k, v in rows if k is not None]


def too_deep(table: N.Node) -> N.Node:
    """They would pass three, and are read once more."""
    how_many = N.Aggregate(
        fields=(T_FIELD, K_FIELD, N.Field("n", T.BIGINT), N.Field("c", T.BIGINT)),
        input=counts(table),
        keys=(0, 1, 3),
        aggs=(AggCall("COUNT", (3,), T.BIGINT),),
    )
    return picked(joined(by_k(table), per_key(how_many, "m", "MAX", 3)), 0, 1, 2, 3, 6)


def too_deep_model(rows: list[Row]) -> list[Row]:
    found = Counter((r[1], r[2]) for r in rows)
    same = Counter((k, n) for (k, _), n in found.items())
    return [(k, id, v, max(c for (j, _), c in same.items() if j == k)) for id, k, v in rows if k is not None]


def with_another(table: N.Node, other: N.Node) -> N.Node:
    """Rows of one table meet each other, and those of another one that changes, in two joins of one depth."""
    inner = picked(joined(by_k(table), by_k(other)), 0, 1, 2, 6)
    left = picked(joined(by_k(table), picked(above(other, 3, 1), 0, 2, 1), "anti"), 0, 1, 2, 3)
    return united(inner, left, picked(distinct(table, 2, 3), 0, 1, 2, 2))


def with_another_model(rows: list[Row], others: list[Row]) -> list[Row]:
    inner = [(k, id, other) for id, k, _ in rows for other, j, _ in others if k is not None and j == k]
    found = {k for _, k, v in others if k is not None and v is not None and v > 1}
    left = [(k, id, v) for id, k, v in rows if k not in found]
    return [*inner, *left, *((k, n, n) for k, n in of_k(rows).items())]


def rows_beside(table: N.Node) -> N.Node:
    """Rows that go out one by one pass no stage: they are read for themselves."""
    return united(picked(distinct(table, 2, 3), 0, 2, 2), picked(table, 0, 1, 3))


def rows_beside_model(rows: list[Row]) -> list[Row]:
    return [*((n, n) for n in of_k(rows).values()), *((id, v) for id, _, v in rows)]


def in_parts(table: N.Node) -> N.Node:
    """Two ways of rows, and an aggregate of them, below another."""
    parts = picked(table, 0, 1), picked(above(table, 3, 1), 0, 3), picked(distinct(table, 2, 3), 0, 2)
    whole = united(*parts)
    fields = (T_FIELD, N.Field("v", T.INT), N.Field("c", T.BIGINT))
    return N.Aggregate(fields=fields, input=whole, keys=(0, 1), aggs=(AggCall("COUNT", (1,), T.BIGINT),))


def in_parts_model(rows: list[Row]) -> list[Row]:
    values = [r[0] for r in rows] + [r[2] for r in rows if r[2] is not None and r[2] > 1] + [*of_k(rows).values()]
    return [*Counter(values).items()]


QUERIES: dict[str, Query] = {
    "two-distinct": Query("", ("append",), two_distinct, two_distinct_model, 1),
    "beside-distinct": Query("", ("append",), beside_distinct, beside_distinct_model, 2),
    "per-size": Query("", ("append",), per_size, per_size_model, 3),
    "outer-two": Query("", ("append",), outer_two, outer_two_model, 3),
    "beside-the-most": Query("", ("append",), beside_the_most, beside_the_most_model, 3),
    "too-deep": Query("", ("append",), too_deep, too_deep_model, 4),
    "rows-beside": Query("", ("append",), rows_beside, rows_beside_model, 1),
    "in-parts": Query("", ("append",), in_parts, in_parts_model, 2),
    "with-its-last-append": Query("", ("append",), with_its_last, with_its_last_model, 2),
    "three-of-them": Query("", ("append", "upsert"), with_another, with_another_model, 2),
    "hottest-append": Query("", ("append",), hottest, hottest_model, 3),
    "hottest-delta": Query("", ("delta",), hottest, hottest_model, 3),
    "hottest-upsert": Query("", ("upsert",), hottest, hottest_model, 4),
    "beside-itself": Query("", ("delta",), beside_itself, beside_itself_model, 2),
    "two-above-one": Query("", ("upsert",), two_above_one, two_above_one_model, 5, False),
    "outer-beyond": Query("", ("delta",), outer_beyond, outer_beyond_model, 3, False),
    "parts-of-one": Query("", ("delta",), parts_of_one, parts_of_one_model, 2),
    "with-its-top": Query("", ("upsert",), with_its_top, with_its_top_model, 3, False),
    "with-itself-upsert": Query("", ("upsert",), with_itself, with_itself_model, 2),
    "with-itself-delta": Query("", ("delta",), with_itself, with_itself_model),
    "kept-where-upsert": Query("", ("upsert",), kept_where, kept_where_model, 2),
    "kept-where-delta": Query("", ("delta",), kept_where, kept_where_model),
    "put-together-upsert": Query("", ("upsert",), put_together, put_together_model),
    "with-its-last-upsert": Query("", ("upsert",), with_its_last, with_its_last_model, 3),
    "with-its-last-delta": Query("", ("delta",), with_its_last, with_its_last_model, 2),
    "from-the-sides": Query("", ("delta", "append", "upsert"), from_the_sides, from_the_sides_model, 8),
    "last-place": Query("", ("delta",), last_place, last_place_model, 3),
    "three-deep": Query("", ("append",), three_deep, three_deep_model, 5),
}
TTL = {"table.exec.state.ttl": "1 d"}
IN_CI = (
    "hottest-upsert", "two-above-one", "outer-beyond", "with-its-last-upsert", "per-size",
)  # fmt: skip
MORE = {"too-deep": 2, "rows-beside": 2}
"""Where a table is read once more."""


@pytest.mark.spark
@pytest.mark.parametrize("name", [n if n in IN_CI else nightly(n) for n in QUERIES])
def test_order_of_delivery_and_batches_change_nothing(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """As in test_stages: in any order, cut into batches anywhere, and a batch that runs again gives the same."""
    query = QUERIES[name]
    node, rows = made(query, tmp_path)
    running = run(spark, node, config=KEYED | (TTL if name == "two-above-one" else {}))
    assert set(running.forms) == {"keyed"}
    assert running.table == expected(rows, query.by_trial)
    assert not running.wrong
    assert sum(isinstance(s, GroupBy) for s in running.steps) == query.operators
    assert sum(isinstance(s, Read) for s in running.steps) == MORE.get(name, len(query.inputs))
    calls = [c for s in running.steps if isinstance(s, GroupBy) for c in s.state_calls]
    assert sum(c.kind == "latest" for c in calls) == query.inputs.count("upsert")
    last, state = max(running.given), running.state(query.operators)
    assert state
    forget_commit(running.checkpoint, last)
    running.go()
    assert running.given[last][0] == running.given[last][1]
    assert running.state(query.operators) == state
    running.close()
