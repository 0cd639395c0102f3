"""Every class of nodes states what the passes ask of it, and pruning works below each, over each kind of input."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any

import pytest

from flinkddl import sqltypes as T
from flinkddl.catalog import Catalog
from flinkddl.catalog.model import ObjectPath, Table
from flinkddl.plan import make
from flinkddl.plan import nodes as N
from flinkddl.plan.context import Context
from flinkddl.plan.nodes import base
from flinkddl.plan.rewrite.prune import prune
from flinkddl.plan.rewrite.pushdown import push
from flinkddl.plan.rex import AggCall, Call, InputRef, Literal, SortKey
from flinkddl.spark.batch import HANDLERS as BATCH
from flinkddl.spark.stream import HANDLERS as STREAM
from tests.plan.test_consistency import check
from tests.spark.batch.harness import Given, run

CONTEXT = Context(Catalog())
FACTS = ("changes", "upsert_keys", "requires_watermark", "on_time", "state", "detail", "form")
BASES = (base.Node, base.Unary, base.Binary)
CHILDREN = ("input", "left", "right", "parts", "table")
COUNTS = (base.Facts, base.Node)


def classes(root: type[N.Node] = base.Node) -> list[type[N.Node]]:
    """All classes of flinkddl's own below one, without those that others share."""
    own = [c for c in root.__subclasses__() if c.__module__.startswith("flinkddl.")]
    return [
        *(c for c in own if c not in BASES and not c.__name__.startswith("_")),
        *(d for c in own for d in classes(c)),
    ]


def missing(kind: type[N.Node]) -> list[str]:
    """What a class does not state: facts nobody answers, an attribute with indices that no table names, words."""
    out = [f for f in FACTS if next(c for c in kind.__mro__ if f in vars(c)) in COUNTS]
    named = {*kind.first, *kind.second, *kind.pairs, *kind.joined}
    counting = ("int", "Rex", "SortKey", "AggCall", "Window")
    for f in fields(kind):
        holds = any(word in str(f.type) for word in counting) and "WatermarkSpec" not in str(f.type)
        if holds and f.name not in named | CONSTANTS.get(kind, frozenset()) and not issubclass(kind, N.Scan):
            out.append(f"whether '{f.name}' counts fields")
    if not issubclass(kind, base.Stateless | N.Scan):
        out += [] if kind.by else ["by what its state is told from another's"]
    if kind is not N.Sink:
        out += [] if kind.sql else ["sql"]
        out += [] if kind in STREAM else ["a lowering for streams"]
        out += [] if kind in BATCH else ["a lowering for batches"]
        out += [] if kind in N.NODES else ["a place in NODES"]
    return out


# numbers that are no field of an input
CONSTANTS: dict[type[N.Node], frozenset[str]] = {
    N.Values: frozenset({"rows"}),
    N.Expand: frozenset({"masks"}),
    N.Aggregate: frozenset({"ttl"}),
    N.Rank: frozenset({"start", "end"}),
    N.Sort: frozenset({"offset", "fetch"}),
    N.Join: frozenset({"null_tests", "ttl"}),
    N.IntervalJoin: frozenset({"lower_ms", "upper_ms"}),
}
# operators of streams alone: windows of sessions and intervals become others in batch mode
ONE_MODE = {N.IntervalJoin: "a lowering for batches"}


@pytest.mark.parametrize("kind", classes(), ids=lambda c: c.__name__)
def test_a_class_states_its_facts(kind: type[N.Node]) -> None:
    assert [m for m in missing(kind) if m != ONE_MODE.get(kind)] == []


def test_what_is_missing_is_named() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Sample(N.Unary):
        share: int

    assert missing(Sample) == [
        *FACTS,
        "whether 'share' counts fields",
        "by what its state is told from another's",
        "sql",
        "a lowering for streams",
        "a lowering for batches",
        "a place in NODES",
    ]


# ---- pruning -----------------------------------------------------------------------------------------------------

INT, BIG = T.INT.with_nullable(True), T.BIGINT.not_null()
TIME = T.TIMESTAMP(3).as_attribute("ROWTIME")
NAMES = ("k", "v", "ts", "xs", "s", "e", "unread")
ROW = (INT, INT, TIME, T.ARRAY(INT), T.TIMESTAMP(3), T.TIMESTAMP(3), T.STRING)
FIELDS = tuple(N.Field(n, t) for n, t in zip(NAMES, ROW, strict=True))
WIDE = len(FIELDS)


def row(k: int | None, v: int | None, hour: int, *xs: int) -> tuple[Any, ...]:
    at = [datetime(2024, 3, 1, h) for h in (hour, hour // 2 * 2, hour // 2 * 2 + 2)]
    elements = Call(T.ARRAY(INT), "ARRAY", tuple(Literal(INT, x) for x in xs))
    return (k, v, at[0], elements, at[1], at[2], f"row {k} {v}")


ROWS = (row(1, 1, 1, 1, 2), row(1, 2, 2, 1), row(2, 2, 3, 2), row(2, 1, 5, 3), row(3, 3, 6, 1), row(None, 1, 7, 1))


def scan(name: str = "t", last: str = "unread") -> N.Scan:
    fields = (*FIELDS[:-1], N.Field(last, T.STRING))
    return Given(fields=fields, table=Table(ObjectPath("c", "d", name), (), {}), options=None, rows=ROWS)


def same(node: N.Node, a: int, b: int) -> Call:
    f = [*node.fields, *FIELDS]
    return Call(T.BOOLEAN, "=", (InputRef(f[a].type, a), InputRef(f[b].type, b)))


def every(node: N.Node) -> N.Node:
    exprs = tuple(InputRef(f.type, i) for i, f in enumerate(node.fields))
    return N.Project(input=node, fields=node.fields, exprs=exprs)


COUNT = AggCall("COUNT", (1,), BIG)
TUMBLE = N.Window(kind="TUMBLE", time=2, size_ms=1000)
OWN = N.Field("own", BIG)
BOUNDS = tuple(N.Field(n, T.TIMESTAMP(3)) for n in ("window_start", "window_end", "window_time"))


def joined(kind: type[N.Node], node: N.Node, how: str = "inner", **more: Any) -> N.Node:
    """A join of a node with a second table by their first fields."""
    other: N.Node = scan("u", "spare") if kind is N.LookupJoin else scan("u")  # what is looked up stays as it is
    if kind is N.TemporalJoin:
        other = N.Deduplicate(input=other, fields=other.fields, keys=(0,), order=2, keep_last=True, proctime=False)
    both = node.fields if how == "semi" else (*node.fields, *other.fields)
    condition = same(node, 0, len(node.fields))
    inputs: dict[str, Any] = {"input": node, "table": other}
    if kind is not N.LookupJoin:
        inputs = {"left": node, "right": other}
    return kind(fields=both, kind=how, condition=condition, keys=((0, 0),), **inputs, **more)


UNREAD = WIDE - 1
BY_K = (SortKey(1),)
MADE: dict[str, Any] = {
    "Project": every,
    "Filter": lambda n: N.Filter(input=n, fields=n.fields, condition=same(n, 0, 1)),
    "Union": lambda n: N.Union(parts=(make.keep(n, range(WIDE)), scan("u")), fields=FIELDS),
    "Unnest": lambda n: N.Unnest(
        input=n,
        fields=(*n.fields, N.Field("x", INT)),
        collection=InputRef(n.fields[3].type, 3),
        condition=Call(T.BOOLEAN, "=", (InputRef(INT, 0), InputRef(INT, len(n.fields)))),
    ),
    "Expand": lambda n: N.Expand(input=n, fields=(*n.fields, OWN), keys=(0, 1), sets=((0,), (1,)), masks=(1, 2)),
    "WindowTableFunction": lambda n: N.WindowTableFunction(input=n, fields=(*n.fields, *BOUNDS), window=TUMBLE),
    "WindowAggregate": lambda n: N.WindowAggregate(
        input=n,
        fields=(n.fields[0], OWN, OWN, BOUNDS[0]),
        window=TUMBLE,
        keys=(0,),
        aggs=(COUNT, COUNT),
        properties=("start",),
        windowed_input=(4, 5),
    ),
    "Aggregate": lambda n: N.Aggregate(input=n, fields=(n.fields[0], OWN, OWN), keys=(0,), aggs=(COUNT, COUNT)),
    "Rank": lambda n: N.Rank(
        input=n,
        fields=(*n.fields, OWN),
        partition=(0,),
        order=BY_K,
        start=1,
        end=2**63 - 1,
        with_rank=True,
        window=(4, 5),
        end_field=1,
    ),
    "Deduplicate": lambda n: N.Deduplicate(
        input=n, fields=n.fields, keys=(0,), order=2, keep_last=True, proctime=False, window=(4, 5)
    ),
    "Over": lambda n: N.Over(
        input=n, fields=(*n.fields, OWN, OWN), partition=(0,), order=(SortKey(2),), calls=(COUNT, COUNT), rows=True
    ),
    "Sort": lambda n: N.Sort(input=n, fields=n.fields, order=BY_K, fetch=3),
    "Join": lambda n: joined(N.Join, n, null_safe=(False,)),
    "Join semi": lambda n: joined(N.Join, n, "semi", null_safe=(False,)),
    "IntervalJoin": lambda n: joined(N.IntervalJoin, n, left_time=2, right_time=2, lower_ms=0, upper_ms=1),
    "WindowJoin": lambda n: joined(N.WindowJoin, n, left_window=(4, 5), right_window=(4, 5)),
    "TemporalJoin": lambda n: joined(N.TemporalJoin, n, left_time=2, right_time=2),
    "LookupJoin": lambda n: joined(N.LookupJoin, n),
}
BELOW = {"Scan": lambda: scan(), "Values": lambda: N.Values(fields=FIELDS, rows=())}
BELOW |= {name: lambda made=made: made(scan()) for name, made in MADE.items()}


def test_each_node_is_built() -> None:
    assert {name.partition(" ")[0] for name in [*MADE, *BELOW]} == {kind.__name__ for kind in N.NODES}


def wide(node: N.Node) -> N.Node:
    """Give a node that makes rows of its own the fields that the nodes above read."""
    if node.fields[:WIDE] == FIELDS:
        return node
    joined_ = joined(N.Join, scan("w"), null_safe=(False,))
    assert isinstance(joined_, N.Join)
    condition = Call(T.BOOLEAN, "=", (InputRef(INT, 0), InputRef(node.fields[0].type, WIDE)))
    return N.Join(
        left=joined_.left, right=node, kind="inner", condition=condition, keys=((0, 0),), fields=(*FIELDS, *node.fields)
    )


def kept(node: N.Node) -> set[str]:
    """Fields that are sent on, copied or kept anywhere: a filter right over its table does none of it."""
    own = set() if isinstance(node, N.Scan | N.Values | N.Filter) else {f.name for f in node.fields}
    return own.union(*map(kept, node.inputs))


@pytest.mark.parametrize("below", BELOW)
@pytest.mark.parametrize("above", MADE)
def test_pruning_goes_on_below(above: str, below: str) -> None:
    node = MADE[above](wide(BELOW[below]()))
    check(node)
    for index in (0, len(node.fields) - 1):
        f = node.fields[index]
        top = N.Project(input=node, fields=(f,), exprs=(InputRef(f.type, index),))
        found = prune(top, CONTEXT)
        check(found)
        assert found.fields == (f,)
        assert f.name == "unread" or "unread" not in kept(found), found


# ---- filters -----------------------------------------------------------------------------------------------------

ALL = frozenset(NAMES)
THROUGH: dict[str, frozenset[str]] = {
    **dict.fromkeys(("Project", "Filter", "Union", "Unnest", "WindowTableFunction", "TemporalJoin"), ALL),
    **dict.fromkeys(("Join", "Join semi"), ALL | {"spare"}),
    **dict.fromkeys(("Aggregate", "Over"), frozenset({"k"})),
}
"""Fields of which a filter goes below a class: of the others none does."""


def filtered(node: N.Node, index: int, value: Any) -> N.Node:
    f = node.fields[index]
    condition = Call(T.BOOLEAN, "=", (InputRef(f.type, index), Literal(f.type.as_attribute(None), value)))
    return N.Filter(input=node, fields=node.fields, condition=condition)


def stays(node: N.Node, index: int) -> bool:
    """Whether a filter on a field stays above the node."""
    found = push(filtered(node, index, 1), CONTEXT)
    check(found)
    return isinstance(found, N.Filter) and type(found.input) is type(node) and node.inputs == found.input.inputs


@pytest.mark.parametrize("name", MADE)
def test_filters_go_below_where_they_may(name: str) -> None:
    node = MADE[name](scan())
    own = {f.name for i, f in enumerate(node.fields) if not stays(node, i)}
    assert own == {f.name for f in node.fields} & THROUGH.get(name, frozenset())


def test_sessions_are_made_of_all_rows() -> None:
    """A filter on what they are not built by stays above, as in Flink 2.3's plan; below it would cut them apart."""
    sessions = replace(TUMBLE, kind="SESSION", partition_keys=(0,))
    node = N.WindowTableFunction(input=scan(), fields=(*FIELDS, *BOUNDS), window=sessions)
    assert [i for i in range(len(node.fields)) if not stays(node, i)] == [0]


def test_a_class_that_does_not_say_lets_nothing_through() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Silent(N.Unary):
        passes = 1

    node = Silent(input=scan(), fields=FIELDS)
    assert all(stays(node, i) for i in range(WIDE))
    assert (node.unique_key(), node.windowed, node.versioned) == (None, None, False)
    assert list(node.timeless()[0]) == list(range(WIDE))


@pytest.mark.spark
@pytest.mark.parametrize("name", [n for n in MADE if THROUGH.get(n)])
def test_a_filter_below_gives_the_same_rows(name: str, spark: Any) -> None:
    node = MADE[name](scan())
    rows = run(spark, node)
    for index, f in enumerate(node.fields):
        if f.name in ("k", "v") and f.name in THROUGH[name]:
            expected = [r for r in rows if r[index] == 1]
            assert 0 < len(expected) < len(rows)
            assert run(spark, push(filtered(node, index, 1), CONTEXT)) == expected


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["left", "right", "full", "inner", "semi", "anti"])
def test_a_filter_over_a_join_gives_the_same_rows(kind: str, spark: Any) -> None:
    """Padded rows meet their fate: a condition decides whether the join becomes an inner one."""
    one, two = filtered(scan(), 1, 1), filtered(scan("u"), 0, 1)
    fields = one.fields if kind in ("semi", "anti") else (*one.fields, *two.fields)
    condition = Call(T.BOOLEAN, "AND", (same(one, 0, WIDE), filtered_by(WIDE + 1, 2), filtered_by(1, 1)))
    node = N.Join(
        left=one, right=two, kind=kind, condition=condition, keys=((0, 0),), fields=fields, null_safe=(False,)
    )
    rows = run(spark, node)
    for index in range(0, len(fields), WIDE):
        for value in (1, None):
            test = filtered_by(index, value)
            found = push(N.Filter(input=node, fields=fields, condition=test), CONTEXT)
            assert run(spark, found) == [r for r in rows if r[index] == value], (index, value)


def filtered_by(index: int, value: int | None) -> Call:
    ref = InputRef(INT, index)
    return Call(T.BOOLEAN, "=", (ref, Literal(INT, value))) if value is not None else Call(T.BOOLEAN, "IS NULL", (ref,))
