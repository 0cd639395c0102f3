"""Subqueries in expressions become joins, as Flink rewrites them.

IN and EXISTS as a whole conjunct of a filter are semi joins, negated anti joins (NOT IN the null-aware one). A scalar
subquery is a left join with an aggregate that has one row per correlated key. Anywhere else IN and EXISTS are a left
join with a marker.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from flinkddl import sqltypes as T
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.plan import make
from flinkddl.plan.build import decorrelate
from flinkddl.plan.expressions import resolve as expressions
from flinkddl.plan.build.joins import join_node, shift
from flinkddl.plan.nodes import Aggregate, Field, Node
from flinkddl.plan.build.placeholders import SubqueryRef, has, rewrite
from flinkddl.plan.rex import AggCall, Call, InputRef, Literal, OuterRef, Rex, conjuncts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flinkddl.plan.context import Context

_OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def filter_on(node: Node, condition: Rex, context: Context) -> Node:
    """Return a filter over ``node``; the fields stay the same, whatever joins its subqueries need."""
    plain: list[Rex] = []
    for part in conjuncts(condition):
        found = _semi(part)
        if found is None:
            plain.append(part)
        else:
            node = _semi_join(node, *found, context)
    if not plain:
        return node
    width = len(node.fields)
    node, parts = attach(node, plain, context)
    return make.keep(make.where(node, make.all_of(parts)), range(width))


def _semi(part: Rex) -> tuple[SubqueryRef, bool] | None:
    """Return (subquery, negated) when a conjunct is IN, EXISTS, = SOME, <> ALL or the negation of one."""
    negated = False
    while isinstance(part, Call) and part.function in ("NOT", "IS TRUE"):
        negated = negated if part.function == "IS TRUE" else not negated
        part = part.args[0]
    if not isinstance(part, SubqueryRef) or has(part, OuterRef):
        return None
    match part.kind, part.operator:
        case ("exists" | "in", _) | ("some", "="):
            return part, negated
        case ("all", "<>"):
            return part, not negated
        case _:
            return None


def _semi_join(node: Node, ref: SubqueryRef, negated: bool, context: Context) -> Node:
    free = decorrelate.pull(decorrelate.loosened(ref.plan), context, ref.span)
    if ref.kind == "exists" and not free.conditions:
        free = replace(free, node=decorrelate.any_row(free.node))
    width = len(node.fields)
    node, operands = attach(node, list(ref.operands), context)
    full = len(node.fields)
    tests = (
        []
        if ref.kind == "exists"
        else [expressions.call("=", [o, _right(free.node, i, full)], span=ref.span) for i, o in enumerate(operands)]
    )
    condition = make.all_of([*tests, decorrelate.over_join(free, node)])
    join = join_node(node, free.node, "anti" if negated else "semi", condition)
    aware = negated and ref.kind != "exists" and any(t.type.nullable for t in tests)
    if aware:
        join = replace(join, null_aware=True, null_tests=len(tests))
    return make.keep(replace(join, span=ref.span), range(width))


def _right(node: Node, index: int, width: int) -> Rex:
    return InputRef(node.fields[index].type, width + index)


# ---- values ------------------------------------------------------------------------------------------------------


def attach(node: Node, exprs: Sequence[Rex], context: Context) -> tuple[Node, list[Rex]]:
    """Join the subqueries of some expressions to ``node`` (new fields at the end) and return them as references."""
    out = []
    for rex in exprs:

        def change(r: Rex) -> Rex | None:
            nonlocal node
            if not isinstance(r, SubqueryRef):
                return None
            node, value = _value(node, r, context)
            return value

        out.append(rewrite(rex, change) if has(rex, SubqueryRef) else rex)
    return node, out


def _value(node: Node, ref: SubqueryRef, context: Context) -> tuple[Node, Rex]:
    match ref.kind:
        case "scalar":
            return _scalar(node, ref, context)
        case "exists":
            return _exists(node, ref, context)
        case "in":
            return _in(node, ref, context)
        case "some" if ref.operator == "=":
            return _in(node, replace(ref, kind="in"), context)
        case "all" if ref.operator == "<>":
            node, value = _in(node, replace(ref, kind="in"), context)
            return node, make.negate(value)
        case "all":
            node, value = _quantified(node, replace(ref, operator=_OPPOSITE[ref.operator]), context)
            return node, make.negate(value)
        case _:
            return _quantified(node, ref, context)


def _scalar(node: Node, ref: SubqueryRef, context: Context) -> tuple[Node, Rex]:
    plan = decorrelate.scalar(ref.plan, context, ref.span)
    width = len(node.fields)
    condition = decorrelate.over_join(plan, node)
    joined = join_node(node, plan.node, "left", condition)
    value: Rex = InputRef(ref.type, width + plan.value)
    if plan.empty is not None:
        value = expressions.call("COALESCE", [value, plan.empty])
    return replace(joined, span=ref.span), replace_type(value, ref.type)


def replace_type(rex: Rex, type_: T.DataType) -> Rex:
    """Return an expression with another nullability."""
    return replace(rex, type=rex.type.with_nullable(type_.nullable))


def _exists(node: Node, ref: SubqueryRef, context: Context) -> tuple[Node, Rex]:
    free = decorrelate.distinct_keys(ref.plan, (), context, ref.span)
    width = len(node.fields)
    joined = join_node(node, free.node, "left", decorrelate.over_join(free, node))
    mark = InputRef(T.BOOLEAN, width + free.value)
    return replace(joined, span=ref.span), make.is_not_null(mark)


def _in(node: Node, ref: SubqueryRef, context: Context) -> tuple[Node, Rex]:
    """``x IN (q)`` as a value: TRUE when a row equals, NULL when x or a row is NULL and q has rows, else FALSE."""
    if len(ref.operands) != 1:
        raise FlinkDdlError.of(
            "FD515", "IN over several columns is supported as a condition of WHERE, not as a value", ref.span
        )
    node, operands = attach(node, list(ref.operands), context)
    free = decorrelate.distinct_keys(ref.plan, (0,), context, ref.span)
    width = len(node.fields)
    test = expressions.call("=", [operands[0], InputRef(free.node.fields[0].type, width)], span=ref.span)
    joined = join_node(node, free.node, "left", make.all_of([test, decorrelate.over_join(free, node)]))
    found = make.is_not_null(InputRef(T.BOOLEAN, width + free.value))
    if not ref.type.nullable:
        return joined, found
    counts = decorrelate.counts(ref.plan, context, ref.span)
    second = len(joined.fields)
    both = join_node(joined, counts.node, "left", decorrelate.over_join(counts, joined))
    zero = Literal(T.BIGINT.not_null(), 0)
    rows, known = (expressions.call("COALESCE", [InputRef(T.BIGINT, second + counts.value + i), zero]) for i in (0, 1))
    no_rows = expressions.call("=", [rows, zero])
    some_null = expressions.call("<", [known, rows])
    unknown = expressions.call("OR", [make.is_null(operands[0]), some_null])
    true, false = (Literal(T.BOOLEAN.not_null(), v) for v in (True, False))
    null = Literal(T.BOOLEAN, None)
    value = expressions.call("CASE", [no_rows, false, found, true, unknown, null, false])
    return replace(both, span=ref.span), value


def _quantified(node: Node, ref: SubqueryRef, context: Context) -> tuple[Node, Rex]:
    """``x > SOME (q)``: compare with the smallest or largest value; NULL values of q make FALSE unknown."""
    if len(ref.operands) != 1 or ref.operator == "<>":
        raise FlinkDdlError.of(
            "FD515", f"'{ref.operator} SOME' over a subquery is not supported", ref.span, "write it with EXISTS"
        )
    if decorrelate.correlated(ref.plan):
        raise FlinkDdlError.of(
            "FD515", "a correlated subquery behind SOME or ALL is not supported", ref.span, "write it with EXISTS"
        )
    node, operands = attach(node, list(ref.operands), context)
    function = "MIN" if ref.operator in (">", ">=") else "MAX"
    type_ = ref.plan.fields[0].type.with_nullable(True).as_attribute(None)
    big = T.BIGINT.not_null()
    calls = (AggCall(function, (0,), type_), AggCall("COUNT", (), big), AggCall("COUNT", (0,), big))
    names = ("$m", "$c", "$d")
    stats = Aggregate(
        input=ref.plan, keys=(), aggs=calls, fields=tuple(Field(n, c.type) for n, c in zip(names, calls, strict=True))
    )
    width = len(node.fields)
    joined = join_node(node, stats, "left", make.TRUE)
    best = InputRef(type_, width)
    zero = Literal(big, 0)
    rows, known = (expressions.call("COALESCE", [InputRef(T.BIGINT, width + i), zero]) for i in (1, 2))
    true, false, null = Literal(big, True), Literal(big, False), Literal(T.BOOLEAN, None)
    true, false = (replace(v, type=T.BOOLEAN.not_null()) for v in (true, false))
    hit = expressions.call("IS TRUE", [expressions.call(ref.operator, [operands[0], best])])
    unknown = expressions.call("OR", [make.is_null(operands[0]), expressions.call("<", [known, rows])])
    no_rows = expressions.call("=", [rows, zero])
    value = expressions.call("CASE", [no_rows, false, hit, true, unknown, null, false])
    return replace(joined, span=ref.span), value


def map_outer(plan: Node, change: Callable[[OuterRef], Rex]) -> Node:
    """Rewrite the references of a subquery's plan to the query around it (depth 1)."""

    def in_rex(rex: Rex) -> Rex:
        return rewrite(rex, lambda r: change(r) if isinstance(r, OuterRef) and r.depth == 1 else None)

    return map_rex(plan, in_rex)


def map_rex(plan: Node, change: Callable[[Rex], Rex]) -> Node:
    """Rebuild a plan with every expression replaced."""
    changes: dict[str, Any] = {}
    for f in fields(plan):
        value = getattr(plan, f.name)
        new = _map_value(value, change)
        if new is not value:
            changes[f.name] = new
    return replace(plan, **changes) if changes else plan


def _map_value(value: Any, change: Callable[[Rex], Rex]) -> Any:
    if isinstance(value, Rex):
        new = change(value)
        return value if new == value else new
    if isinstance(value, Node):
        return map_rex(value, change)
    if isinstance(value, tuple) and value and isinstance(value[0], Rex | Node | tuple):
        new_items = tuple(_map_value(v, change) for v in value)
        return value if all(a is b for a, b in zip(new_items, value, strict=True)) else new_items
    return value


__all__ = ["attach", "filter_on", "map_outer", "map_rex", "shift"]
