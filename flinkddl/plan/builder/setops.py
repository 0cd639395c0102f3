"""Queries beside SELECT: in parentheses, TABLE t, VALUES, and set operations as Flink rewrites them.

UNION ALL is a node; UNION a DISTINCT above it; INTERSECT and EXCEPT are semi and anti joins on all columns (NULL equals
NULL) below a DISTINCT; their ALL forms count the rows of both sides and repeat each as often as it is left.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from sqlglot import exp

from flinkddl import sqltypes as T
from flinkddl.diagnostics import chain
from flinkddl.functions.typing import common_type
from flinkddl.plan import expressions, make
from flinkddl.plan.builder.base import QUERIES, Builder
from flinkddl.plan.builder.names import ONE_ROW
from flinkddl.plan.builder.ordering import output
from flinkddl.plan.nodes import Aggregate, Field, Join, Union, Unnest, Values
from flinkddl.plan.rex import AggCall, Call, InputRef, Literal, Rex

if TYPE_CHECKING:
    from flinkddl.plan.nodes import JoinKind, Node

_WORDS: dict[type[exp.Expression], str] = {exp.Union: "UNION", exp.Intersect: "INTERSECT", exp.Except: "EXCEPT"}


@QUERIES(exp.Subquery)
def _in_parentheses(build: Builder, tree: exp.Subquery) -> Node:
    return output(build, build.query(tree.this), tree)


@QUERIES(exp.Table)
def _table(build: Builder, tree: exp.Table) -> Node:
    return output(build, build.relation(tree).node, tree)


@QUERIES(exp.Values)
def _values(build: Builder, tree: exp.Values) -> Node:
    """VALUES: each row becomes constants; columns take their common type and are called EXPR$0, EXPR$1, ..."""
    scope = build.scope(ONE_ROW, "VALUES")
    rows: list[tuple[Rex, ...]] = []
    for row in tree.expressions:
        items = row.expressions if isinstance(row, exp.Tuple) else [row]
        rows.append(tuple(map(scope.typed, items)))
        if len(rows[-1]) != len(rows[0]):
            raise build.error("FD463", f"VALUES rows differ in length: {len(rows[0])} and {len(rows[-1])}", row)
    fields = []
    for i, column in enumerate(zip(*rows, strict=True)):
        common = common_type([v.type for v in column])
        if common is None:
            types = " and ".join(dict.fromkeys(v.type.summary for v in column))
            message = f"column {i + 1} of VALUES mixes types: {types}"
            raise build.error("FD463", message, tree, "cast them to one type")
        fields.append(Field(f"EXPR${i}", common))
    values = tuple(tuple(expressions.cast(v, f.type) for v, f in zip(row, fields, strict=True)) for row in rows)
    return output(build, Values(fields=tuple(fields), rows=values), tree)


# ---- set operations --------------------------------------------------------------------------------------------------


@QUERIES(exp.SetOperation)
def _set_operation(build: Builder, tree: exp.SetOperation) -> Node:
    """Build a set operation; column names come from the first branch."""
    spine = [tree]
    while isinstance(below := spine[-1].this, exp.SetOperation) and not _has_clauses(below):
        spine.append(below)
    steps = [(partial(build.query, t.expression), partial(_joined, build, t)) for t in reversed(spine)]
    return output(build, chain(partial(build.query, spine[-1].this), steps), tree)


def _has_clauses(tree: exp.SetOperation) -> bool:
    return any(tree.args.get(clause) is not None for clause in ("with_", "order", "limit", "offset"))


def _joined(build: Builder, tree: exp.SetOperation, left: Node, right: Node) -> Node:
    word = next(w for kind, w in _WORDS.items() if isinstance(tree, kind))
    all_ = tree.args.get("distinct") is False
    shown = word + (" ALL" if all_ else "")
    left, right = _aligned(build, shown, tree, left, right)
    match word, all_:
        case "UNION", True:
            return union((left, right))
        case "UNION", False:
            return make.distinct(union((_undistinct(left), right)))
        case "INTERSECT", False:
            return make.distinct(_matched(left, right, "semi"))
        case "EXCEPT", False:
            return make.distinct(_matched(left, right, "anti"))
        case _:
            return _counted(left, right, word)


def _undistinct(node: Node) -> Node:
    """A UNION below a UNION need not be made distinct twice (Calcite's UnionMergeRule)."""
    if isinstance(node, Aggregate) and isinstance(node.input, Union) and node.fields == node.input.fields:
        return node.input if node.keys == tuple(range(len(node.fields))) else node
    return node


def union(parts: tuple[Node, ...]) -> Node:
    """Return UNION ALL of nodes with equal types, nested ones flattened."""
    flat: list[Node] = []
    for p in parts:
        flat += p.parts if isinstance(p, Union) and p.fields == parts[0].fields else (p,)
    return Union(parts=tuple(flat), fields=parts[0].fields)


def _aligned(build: Builder, shown: str, tree: exp.SetOperation, left: Node, right: Node) -> tuple[Node, Node]:
    if len(left.fields) != len(right.fields):
        message = f"the branches of {shown} have {len(left.fields)} and {len(right.fields)} columns"
        raise build.error("FD458", message, tree.expression)
    types = []
    for i, (a, b) in enumerate(zip(left.fields, right.fields, strict=True)):
        common = a.type if a.type == b.type else common_type([a.type, b.type])
        if common is None:
            message = f"column {i + 1} of {shown} is {a.type.summary} on the left and {b.type.summary} on the right"
            raise build.error("FD459", message, tree.expression, "cast one of them")
        types.append(common)
    names = [f.name for f in left.fields]
    return _as(left, types, names), _as(right, types, names)


def _as(node: Node, types: list[T.DataType], names: list[str]) -> Node:
    """Cast a branch to the common types; equal types but for nullability and time attribute need no expression."""
    exprs = [expressions.cast(r, t) for r, t in zip(make.refs(node), types, strict=True)]
    if not all(isinstance(e, InputRef) for e in exprs):
        node = make.project(node, exprs, names)
    return replace(node, fields=tuple(Field(n, t) for n, t in zip(names, types, strict=True)))


def _matched(left: Node, right: Node, kind: JoinKind) -> Node:
    width = len(left.fields)
    pairs = [(make.ref(left, i), InputRef(right.fields[i].type, width + i)) for i in range(width)]
    tests = [expressions.call("IS NOT DISTINCT FROM", list(p)) for p in pairs]
    keys = tuple((i, i) for i in range(width))
    return Join(left=left, right=right, kind=kind, condition=make.all_of(tests), keys=keys, fields=left.fields)


def _counted(left: Node, right: Node, word: str) -> Node:
    """INTERSECT ALL and EXCEPT ALL: count each row per side, then repeat it min(l, r) or l - r times."""
    width = len(left.fields)
    one, zero = (Literal(T.BIGINT.not_null(), n) for n in (1, 0))
    names = [f.name for f in left.fields]
    marked = tuple(
        make.project(side, [*make.refs(side), *mark], [*names, "$l", "$r"])
        for side, mark in ((left, (one, zero)), (right, (zero, one)))
    )
    both = union(marked)
    sums = [AggCall("SUM", (width + i,), T.BIGINT.not_null()) for i in range(2)]
    counted = make.aggregate(both, range(width), sums, ("$l", "$r"))
    lefts, rights = make.ref(counted, width), make.ref(counted, width + 1)
    if word == "INTERSECT":
        less = expressions.call("<", [lefts, rights])
        times: Rex = expressions.call("CASE", [less, lefts, rights])
    else:
        times = expressions.call("-", [lefts, rights])
    wanted = make.where(counted, expressions.call(">", [times, zero]))
    # a multiset that holds one element that many times: UNNEST repeats by multiplicity
    one_int = Literal(T.INT.not_null(), 1)
    repeat = Call(T.MULTISET(T.INT.not_null()).not_null(), "MAP", (one_int, expressions.cast(times, T.INT)))
    element = Field("$n", T.INT.not_null())
    repeated = Unnest(input=wanted, collection=repeat, fields=(*wanted.fields, element))
    return make.keep(repeated, range(width))
