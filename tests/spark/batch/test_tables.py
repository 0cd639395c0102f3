"""Changes folded into tables, versions for temporal joins, unnesting, and what an upsert sink is handed."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from flinkddl import sqltypes as T
from flinkddl.catalog.model import Column, ObjectPath, PrimaryKey, Table
from flinkddl.plan import nodes as N
from flinkddl.plan.rex import Call, InputRef, Literal
from flinkddl.spark.batch.tables import finished
from flinkddl.spark.context import Lowering, Rel
from flinkddl.spark.job import Rows
from tests.spark.batch.harness import agg, equal, frames, given, out, run

K = (N.Field("k", T.STRING), N.Field("v", T.INT))
UPSERTS = """
SELECT * FROM VALUES ('a', 1, 1L, false, 1L), ('b', 5, 2L, false, 2L), ('a', 2, 3L, false, 3L), ('b', 5, 4L, false, 4L),
('c', 7, 5L, false, 5L), ('c', CAST(NULL AS INT), 6L, true, 6L), ('a', 2, 7L, false, 7L)
AS t(k, v, __version, __deleted, __seq)
"""
DELTAS = """
SELECT * FROM VALUES ('a', 1, 1, 1L), ('a', 1, 1, 2L), ('a', 1, -1, 3L), ('b', 2, 1, 4L), ('b', 2, -1, 5L),
('a', 1, 1, 6L)
AS t(k, v, __w, __seq)
"""


def folded(spark: Any, query: str, kind: Any, *, sequence: bool) -> list[tuple[Any, ...]]:
    ctx = Lowering(streaming=False)
    step = ctx.add(Rows(name="given", query=query))
    rel = finished(Rel(step.name, ("k", "v"), K, kind=kind, key=(0,), sequence=sequence), ctx)
    assert rel.kind == "append"
    columns = ["k", "v", "__seq"] if sequence else ["k", "v"]
    return sorted(map(tuple, frames(spark, ctx)[rel.step].select(columns).collect()))


@pytest.mark.spark
def test_newest_row_per_key_without_deleted_ones(spark: Any) -> None:
    assert folded(spark, UPSERTS, "upsert", sequence=False) == [("a", 2), ("b", 5)]


@pytest.mark.spark
def test_an_update_that_changes_nothing_is_no_arrival(spark: Any) -> None:
    assert folded(spark, UPSERTS, "upsert", sequence=True) == [("a", 2, 3), ("b", 5, 2)]


@pytest.mark.spark
def test_rows_stay_as_often_as_their_weights_say(spark: Any) -> None:
    assert folded(spark, DELTAS, "delta", sequence=False) == [("a", 1), ("a", 1)]
    assert folded(spark, DELTAS, "delta", sequence=True) == [("a", 1, 2), ("a", 1, 6)]


LEFT = given("k:str rt:rt", ("a", "10:00:01"), ("a", "10:00:05"), ("b", "10:00:05"), (None, "10:00:09"))
RATES = given(
    "k:str rt:rt r:int", ("a", "10:00:02", 10), ("a", "10:00:05", 20), ("a", "10:00:05", 21), (None, "10:00:01", 1)
)


def temporal(kind: Any) -> N.TemporalJoin:
    right = N.Deduplicate(input=RATES, keys=(0,), order=1, keep_last=True, proctime=False, fields=RATES.fields)
    return N.TemporalJoin(
        left=LEFT,
        right=right,
        kind=kind,
        condition=equal(InputRef(T.STRING, 0), InputRef(T.STRING, 2)),
        keys=((0, 0),),
        left_time=1,
        right_time=1,
        fields=LEFT.fields + RATES.fields,
    )


@pytest.mark.spark
def test_temporal_join_takes_the_version_of_its_moment(spark: Any) -> None:
    matched = ("a", "10:00:05", "a", "10:00:05", 21)
    assert run(spark, temporal("inner")) == [matched]
    alone = [("a", "10:00:01"), ("b", "10:00:05"), (None, "10:00:09")]
    padded = [(*row, None, None, None) for row in alone]
    assert run(spark, temporal("left")) == sorted([matched, *padded], key=repr)


NEST = given("id:int", (1,), (2,))


def unnest(**more: Any) -> N.Unnest:
    element = T.ROW(("a", T.INT))
    one = Call(element, "ROW", (InputRef(T.INT, 0),))
    none = Literal(element, None)
    rows = Call(T.ARRAY(element), "ARRAY", (one, none))
    condition = Call(T.BOOLEAN, ">", (InputRef(T.INT, 1), Literal(T.INT, 1)))
    return N.Unnest(
        input=NEST,
        collection=rows,
        fields=out(NEST, ("a", T.INT)),
        condition=condition if more.get("outer") else None,
        **more,
    )


@pytest.mark.spark
def test_unnest_skips_null_rows_and_filters_before_padding(spark: Any) -> None:
    assert run(spark, unnest()) == [(1, 1), (2, 2)]
    assert run(spark, unnest(outer=True)) == [(1, None), (2, 2)]


def sink(node: N.Node, connector: str, conflict: str | None = None) -> N.Sink:
    columns = tuple(Column(f.name, type=f.type) for f in node.fields)
    table = Table(ObjectPath("c", "d", "s"), columns, {}, primary_key=PrimaryKey((node.fields[0].name,)))
    options: Any = SimpleNamespace(connector=connector, value_format=None)
    return N.Sink(input=node, table=table, options=options, conflict=conflict, fields=node.fields)


PAIRS = given("k:str v:int", ("a", 1), ("b", 2), ("a", 3))


@pytest.mark.spark
@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (sink(PAIRS, "upsert-kafka"), [("a", 3), ("b", 2)]),
        (sink(PAIRS, "upsert-kafka", "NOTHING"), [("a", 1), ("b", 2)]),
        (sink(PAIRS, "kafka"), [("a", 1), ("a", 3), ("b", 2)]),
    ],
    ids=["last", "first", "all"],
)
def test_upsert_sink_gets_one_row_per_key(spark: Any, node: N.Node, expected: list[tuple[Any, ...]]) -> None:
    assert run(spark, node) == expected


def test_unique_keys_are_seen_through_projections() -> None:
    grouped = N.Aggregate(input=PAIRS, keys=(0,), aggs=(agg("COUNT"),), fields=(K[0], N.Field("c", T.BIGINT)))
    swapped = N.Project(
        input=grouped, exprs=(InputRef(T.BIGINT, 1), InputRef(T.STRING, 0)), fields=tuple(reversed(grouped.fields))
    )
    assert swapped.unique_key(declared=False) == (1,)
    assert replace(grouped, keys=(0, 1)).unique_key(declared=False) == (0, 1)
