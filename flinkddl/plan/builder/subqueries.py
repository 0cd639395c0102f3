"""Subqueries in expressions: first placeholders, then joins, as Flink rewrites them.

IN and EXISTS as a whole conjunct of a filter are semi joins, negated anti joins (NOT IN the null-aware one). A scalar
subquery is a left join with an aggregate that has one row per correlated key. Anywhere else IN and EXISTS are a left
join with a marker.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from flinkddl import sqltypes as T
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.plan import expressions, make
from flinkddl.plan.builder import decorrelate
from flinkddl.plan.builder.base import CALLS, NameScope
from flinkddl.plan.builder.placeholders import SubqueryRef, has, rewrite
from flinkddl.plan.nodes import Node
from flinkddl.plan.rex import AggCall, Call, InputRef, Literal, OuterRef, Rex, conjuncts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_QUANTIFIED: dict[type, str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


# ---- as they are written -----------------------------------------------------------------------------------------


@CALLS(exp.Subquery, exp.Select, exp.SetOperation)
def _scalar_ref(scope: NameScope, tree: exp.Expression) -> Rex | None:
    if isinstance(tree, exp.Subquery) and not isinstance(tree.this, exp.Query):
        return None
    plan = scope.query(tree)
    if len(plan.fields) != 1:
        raise scope.error("FD464", f"a scalar subquery returns one column, this one has {len(plan.fields)}", tree)
    type_ = plan.fields[0].type.with_nullable(True).as_attribute(None)
    return SubqueryRef(type_, "scalar", plan, span=scope.span(tree))


@CALLS(exp.In)
def _in_ref(scope: NameScope, tree: exp.In) -> Rex | None:
    query = tree.args.get("query")
    return None if query is None else _compared(scope, tree, "in", query)


@CALLS(exp.Exists)
def _exists_ref(scope: NameScope, tree: exp.Exists) -> Rex:
    return SubqueryRef(T.BOOLEAN.not_null(), "exists", scope.query(tree.this), span=scope.span(tree))


@CALLS(*_QUANTIFIED)
def _quantified_ref(scope: NameScope, tree: Any) -> Rex | None:
    right, kinds = tree.expression, {exp.Any: "some", exp.All: "all"}
    if type(right) not in kinds or not isinstance(right.this, exp.Query):
        return None
    ref = _compared(scope, tree, kinds[type(right)], tree.expression.this)
    return replace(ref, operator=_QUANTIFIED[type(tree)])


def _compared(scope: NameScope, tree: exp.Expression, kind: Any, query: exp.Expression) -> SubqueryRef:
    left = tree.this
    operands = tuple(map(scope.value, left.expressions if isinstance(left, exp.Tuple) else [left]))
    plan = scope.query(query)
    if len(operands) != len(plan.fields):
        message = f"the subquery returns {len(plan.fields)} columns where {len(operands)} are compared"
        raise scope.error("FD464", message, tree)
    nullable = any(o.type.nullable for o in operands) or any(f.type.nullable for f in plan.fields)
    return SubqueryRef(T.BOOLEAN.with_nullable(nullable), kind, plan, operands, span=scope.span(tree))


# ---- as conditions -----------------------------------------------------------------------------------------------


def filter_on(node: Node, condition: Rex) -> Node:
    """Return a filter over ``node``; the fields stay the same, whatever joins its subqueries need."""
    plain: list[Rex] = []
    for part in conjuncts(condition):
        found = _semi(part)
        if found is None:
            plain.append(part)
        else:
            node = _semi_join(node, *found)
    if not plain:
        return node
    width = len(node.fields)
    node, parts = attach(node, plain)
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


def _semi_join(node: Node, ref: SubqueryRef, negated: bool) -> Node:
    free = decorrelate.pull(decorrelate.loosened(ref.plan), ref.span)
    if ref.kind == "exists" and not free.conditions:
        free = replace(free, node=decorrelate.any_row(free.node))
    width = len(node.fields)
    node, operands = attach(node, list(ref.operands))
    right = [InputRef(f.type, len(node.fields) + i) for i, f in enumerate(free.node.fields)]
    tests = [expressions.call("=", [o, r], span=ref.span) for o, r in zip(operands, right, strict=False)]
    condition = make.all_of([*tests, decorrelate.over_join(free, node)])
    join = make.join(node, free.node, "anti" if negated else "semi", condition, ref.span)
    if negated and any(t.type.nullable for t in tests):
        join = replace(join, null_aware=True, null_tests=len(tests))
    return make.keep(join, range(width))


# ---- values ------------------------------------------------------------------------------------------------------


def attach(node: Node, exprs: Sequence[Rex]) -> tuple[Node, list[Rex]]:
    """Join the subqueries of some expressions to ``node`` (new fields at the end) and return them as references."""
    out = []
    for rex in exprs:

        def change(r: Rex) -> Rex | None:
            nonlocal node
            if not isinstance(r, SubqueryRef):
                return None
            node, value = _value(node, r)
            return value

        out.append(rewrite(rex, change) if has(rex, SubqueryRef) else rex)
    return node, out


def _value(node: Node, ref: SubqueryRef) -> tuple[Node, Rex]:
    match ref.kind:
        case "scalar":
            return _scalar(node, ref)
        case "exists":
            return _exists(node, ref)
        case "in":
            return _in(node, ref)
        case "some" if ref.operator == "=":
            return _in(node, replace(ref, kind="in"))
        case "all" if ref.operator == "<>":
            node, value = _in(node, replace(ref, kind="in"))
            return node, make.negate(value)
        case "all":
            node, value = _quantified(node, replace(ref, operator=_OPPOSITE[ref.operator]))
            return node, make.negate(value)
        case _:
            return _quantified(node, ref)


def _scalar(node: Node, ref: SubqueryRef) -> tuple[Node, Rex]:
    plan = decorrelate.scalar(ref.plan, ref.span)
    width = len(node.fields)
    condition = decorrelate.over_join(plan, node)
    joined = make.join(node, plan.node, "left", condition, ref.span)
    value: Rex = InputRef(ref.type, width + plan.value)
    if plan.empty is not None:
        value = expressions.call("COALESCE", [value, plan.empty])
    return joined, replace(value, type=value.type.with_nullable(ref.type.nullable))


def _exists(node: Node, ref: SubqueryRef) -> tuple[Node, Rex]:
    free = decorrelate.distinct_keys(ref.plan, (), ref.span)
    width = len(node.fields)
    joined = make.join(node, free.node, "left", decorrelate.over_join(free, node), ref.span)
    return joined, make.is_not_null(InputRef(T.BOOLEAN, width + free.value))


def _in(node: Node, ref: SubqueryRef) -> tuple[Node, Rex]:
    """``x IN (q)`` as a value: TRUE when a row equals, NULL when x or a row is NULL and q has rows, else FALSE."""
    if len(ref.operands) != 1:
        raise FlinkDdlError.of(
            "FD515", "IN over several columns is supported as a condition of WHERE, not as a value", ref.span
        )
    node, operands = attach(node, list(ref.operands))
    free = decorrelate.distinct_keys(ref.plan, (0,), ref.span)
    width = len(node.fields)
    test = expressions.call("=", [operands[0], InputRef(free.node.fields[0].type, width)], span=ref.span)
    joined = make.join(node, free.node, "left", make.all_of([test, decorrelate.over_join(free, node)]))
    found = make.is_not_null(InputRef(T.BOOLEAN, width + free.value))
    if not ref.type.nullable:
        return joined, found
    counts = decorrelate.counts(ref.plan, ref.span)
    both = make.join(joined, counts.node, "left", decorrelate.over_join(counts, joined))
    return replace(both, span=ref.span), _or_unknown(found, operands[0], len(joined.fields) + counts.value)


def _or_unknown(hit: Rex, operand: Rex, counts: int) -> Rex:
    """Return ``hit``, or FALSE over no rows, or NULL where the operand or some row is NULL.

    ``counts`` is the field with the number of rows; behind it is how many of them have a value.
    """
    zero = Literal(T.BIGINT.not_null(), 0)
    rows, known = (expressions.call("COALESCE", [InputRef(T.BIGINT, counts + i), zero]) for i in (0, 1))
    no_rows, some_null = expressions.call("=", [rows, zero]), expressions.call("<", [known, rows])
    unknown = expressions.call("OR", [make.is_null(operand), some_null])
    true, false = (Literal(T.BOOLEAN.not_null(), v) for v in (True, False))
    return expressions.call("CASE", [no_rows, false, hit, true, unknown, Literal(T.BOOLEAN, None), false])


def _quantified(node: Node, ref: SubqueryRef) -> tuple[Node, Rex]:
    """``x > SOME (q)``: compare with the smallest or largest value; NULL values of q make FALSE unknown."""
    if len(ref.operands) != 1 or ref.operator == "<>":
        raise FlinkDdlError.of(
            "FD515", f"'{ref.operator} SOME' over a subquery is not supported", ref.span, "write it with EXISTS"
        )
    if decorrelate.correlated(ref.plan):
        raise FlinkDdlError.of(
            "FD515", "a correlated subquery behind SOME or ALL is not supported", ref.span, "write it with EXISTS"
        )
    node, operands = attach(node, list(ref.operands))
    function = "MIN" if ref.operator in (">", ">=") else "MAX"
    best = AggCall(function, (0,), ref.plan.fields[0].type.with_nullable(True).as_attribute(None))
    stats = make.aggregate(ref.plan, (), (best, *decorrelate.COUNTS), ("$m", "$c", "$d"))
    width = len(node.fields)
    joined = make.join(node, stats, "left", make.TRUE, ref.span)
    hit = expressions.call("IS TRUE", [expressions.call(ref.operator, [operands[0], InputRef(best.type, width)])])
    return joined, _or_unknown(hit, operands[0], width + 1)


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
