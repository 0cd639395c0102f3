"""Joins as they are written: kinds, ON, USING, NATURAL, comma; subqueries behind LATERAL; FOR SYSTEM_TIME AS OF.

What kind of operator a join becomes (interval, window, temporal, lookup, regular) is decided later, on the finished
tree, when the time attributes are known to have survived.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.dialect import nodes as tree_nodes
from flinkddl.plan import expressions, make
from flinkddl.plan.builder import decorrelate, tvf
from flinkddl.plan.builder.base import JOINED, TABLES, Builder
from flinkddl.plan.builder.names import Place, Relation
from flinkddl.plan.builder.placeholders import has
from flinkddl.plan.nodes import TemporalJoin
from flinkddl.plan.nodes.values import padded
from flinkddl.plan.rex import InputRef, OuterRef, Rex, references, shift, transform

if TYPE_CHECKING:
    from flinkddl.plan.nodes import JoinKind


@JOINED(object)
def _regular(build: Builder, target: exp.Expression, place: Place) -> Relation:
    right = build.relation(target)
    condition, both = _sides(build, target, place, right)
    return both.over(make.join(place.left.node, right.node, place.kind, condition, build.span(place.join)))


@JOINED(tree_nodes.TableFunction)
def _function(build: Builder, target: tree_nodes.TableFunction, place: Place) -> Relation:
    return (_regular if tvf.is_built_in(target) else tvf.lateral_function)(build, target, place)


def _sides(build: Builder, target: exp.Expression, place: Place, right: Relation) -> tuple[Rex, Relation]:
    """Return the join condition over left and right fields, and both sides' names, USING columns merged."""
    left, width = place.left, len(place.left.fields)
    names = {e.alias for e in left.entries if e.alias}
    for e in right.entries:
        if e.alias in names:
            raise build.error("FD453", f"two tables are called '{e.alias}' in FROM", target, "give one an alias")
    entries = (*left.entries, *(e.shifted(width) for e in right.entries))
    merged = (*left.merged, *((n, shift(r, width), frozenset(i + width for i in s)) for n, r, s in right.merged))
    both = Relation(make.join(left.node, right.node, "inner", make.TRUE), entries, merged)
    assert place.join is not None
    using = [i.name for i in place.join.args.get("using") or ()]
    if (place.join.method or "").upper() == "NATURAL":
        rights = [n for e in right.entries for n in e.names]
        using = [n for e in left.entries for n in e.names if n in rights]
    if using:
        return _using(build, using, place, right, both)
    return build.on(place.on, both), both


def _using(build: Builder, names: list[str], place: Place, right: Relation, both: Relation) -> tuple[Rex, Relation]:
    left, width = place.left, len(place.left.fields)
    assert place.join is not None
    lefts, rights = (build.apart.scope(side, "USING") for side in (left, right))
    tests: list[Rex] = []
    merged = []
    for name in dict.fromkeys(names):
        first, second = lefts.path((name,), place.join), shift(rights.path((name,), place.join), width)
        try:
            tests.append(expressions.call("=", [first, second]))
        except FlinkDdlError:
            types = f"{first.type.summary} on the left and {second.type.summary} on the right"
            raise build.error("FD467", f"column '{name}' is {types}", place.join) from None
        earlier = frozenset(i for n, _, s in left.merged if n == name for i in s)
        merged.append((name, _merged(place.kind, first, second), references(first) | references(second) | earlier))
    kept = tuple(m for m in both.merged if m[0] not in {n for n, _, _ in merged})
    return make.all_of(tests), replace(both, merged=(*kept, *merged))


def _merged(kind: JoinKind, left: Rex, right: Rex) -> Rex:
    if kind == "full":
        return expressions.call("COALESCE", [_nullable(v) for v in (left, right)])
    return right if kind == "right" else left


def _nullable(rex: Rex) -> Rex:
    return transform(rex, lambda r: replace(r, type=r.type.with_nullable(True)) if isinstance(r, InputRef) else None)


# ---- LATERAL -----------------------------------------------------------------------------------------------------


@TABLES(exp.Lateral)
def _first(build: Builder, tree: exp.Lateral) -> Relation:
    return build.relation(_aliased(tree))


def _aliased(tree: exp.Expression) -> exp.Expression:
    """Return what stands behind LATERAL or before FOR SYSTEM_TIME, with the alias that follows."""
    inner: exp.Expression = tree.this.copy()
    if tree.args.get("alias") is not None:
        inner.set("alias", tree.args["alias"].copy())
    return inner


@JOINED(exp.Lateral)
def _lateral(build: Builder, target: exp.Lateral, place: Place) -> Relation:
    inner, left = target.this, place.left
    if isinstance(inner, exp.Unnest):
        return tvf.unnest(build, inner, place)
    if place.kind not in ("inner", "left"):
        message = f"LATERAL takes INNER, CROSS or LEFT JOIN, not {place.kind.upper()}"
        raise build.error("FD516", message, place.join)
    if isinstance(inner, exp.Func) and not isinstance(inner, exp.Query):
        return tvf.lateral_function(build, tvf.as_table_function(target), place)
    plan = build.scope(left, "LATERAL").query(inner.this if isinstance(inner, exp.Subquery) else inner)
    free = decorrelate.pull(plan, build.span(target))
    right = build.named(plan, _aliased(target))
    condition = decorrelate.over_join(free, left.node)
    names = (*left.entries, *(e.shifted(len(left.fields)) for e in right.entries))
    both = Relation(make.join(left.node, free.node, "inner", make.TRUE), names, left.merged)
    condition = make.all_of((condition, build.on(place.on, both)))
    if has(condition, OuterRef):
        raise build.error("FD515", "LATERAL may only refer to the tables before it", target)
    return both.over(make.join(left.node, free.node, place.kind, condition, build.span(place.join)))


# ---- FOR SYSTEM_TIME AS OF ---------------------------------------------------------------------------------------


@JOINED(tree_nodes.TemporalTable)
def _temporal(build: Builder, target: tree_nodes.TemporalTable, place: Place) -> Relation:
    left, kind = place.left, place.kind
    if kind not in ("inner", "left"):
        raise build.error("FD509", f"a temporal join is INNER or LEFT, not {kind.upper()}", target)
    time = build.scope(left, "FOR SYSTEM_TIME AS OF").value(target.expression)
    if not isinstance(time, InputRef) or time.type.time_attribute is None:
        raise build.error(
            "FD509",
            "FOR SYSTEM_TIME AS OF takes a time attribute of the left table",
            target.expression,
            "declare a WATERMARK on the column, or a computed column AS PROCTIME()",
        )
    right = build.relation(_aliased(target))
    condition, both = _sides(build, target, place, right)
    out = TemporalJoin(
        left=left.node,
        right=right.node,
        kind=kind,
        condition=condition,
        keys=(),
        left_time=time.index,
        right_time=None,
        fields=(*left.fields, *padded(right.fields, kind == "left")),
        span=build.span(target),
    )
    return both.over(out)
