"""Calls whose value depends on the query around them: aggregates, OVER, subqueries, group windows as placeholders."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from flinkddl import sqltypes as T
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.plan.expressions import resolve as expressions
from flinkddl.plan.build.placeholders import (
    AggRef,
    GroupingRef,
    GroupWindowRef,
    OverRef,
    SubqueryRef,
    WindowPropertyRef,
    WindowSpec,
    has,
)
from flinkddl.plan.rex import Literal, Rex

if TYPE_CHECKING:
    from collections.abc import Callable

    from flinkddl.plan.build.names import NameScope
    from flinkddl.plan.nodes import Node
    from flinkddl.plan.build.placeholders import SubqueryKind
    from flinkddl.plan.scope import AggregateUse
    from flinkddl.sqltypes import DataType

GROUP_WINDOWS = ("TUMBLE", "HOP", "SESSION")
_PROPERTIES = {"START": "start", "END": "end", "ROWTIME": "time", "PROCTIME": "proctime"}
AUXILIARY = {f"{kind}_{word}": (kind, prop) for kind in GROUP_WINDOWS for word, prop in _PROPERTIES.items()}
_GROUPING = ("GROUPING", "GROUPING_ID", "GROUP_ID")
_QUANTIFIED: dict[Any, str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}


def function_name(node: exp.Expression) -> str:
    """Return the upper-case name of a function call, or an empty string."""
    match node:
        case exp.Anonymous():
            return str(node.this).upper()
        case exp.Func():
            return node.sql_name().upper()
        case _:
            return ""


def resolve(node: exp.Expression, scope: NameScope) -> Rex | None:
    """Return the placeholder for a special call, or None for an ordinary expression."""
    match node:
        case exp.Window():
            return _over(node, scope)
        case exp.Subquery() if isinstance(node.this, exp.Query):
            return _scalar(node, scope)
        case exp.Select() | exp.SetOperation():
            return _scalar(node, scope)
        case exp.In() if node.args.get("query") is not None:
            return _in(node, scope)
        case exp.Exists():
            return _exists(node, scope)
        case exp.Binary() if isinstance(node.expression, (exp.Any, exp.All)) and type(node) in _QUANTIFIED:
            return _quantified(node, scope)
    name = function_name(node)
    special = _NAMED.get(name)
    if special is not None:
        return special(node, scope)
    if expressions.is_aggregate(node):
        return _aggregate(node, scope)
    return None


def _aggregate(node: exp.Expression, scope: NameScope) -> Rex:
    if not scope.aggregates:
        raise _misplaced(node, scope, "aggregate function")
    inner = scope.within("an aggregate's argument")
    use = expressions.resolve_aggregate(node, inner, scope.grouped)
    return AggRef(use.type, use)


def _misplaced(node: exp.Expression, scope: NameScope, what: str) -> Exception:
    if scope.clause == "an aggregate's argument":
        return scope.context.error("FD456", f"{what}s cannot be nested", node, "compute the inner one in a subquery")
    helps = {
        "WHERE": "filter on aggregates with HAVING, on window functions with QUALIFY",
        "GROUP BY": "group in an outer query",
    }
    return scope.context.error("FD455", f"{what} is not allowed in {scope.clause}", node, helps.get(scope.clause))


# ---- OVER --------------------------------------------------------------------------------------------------------


def _over(node: exp.Window, scope: NameScope) -> Rex:
    if not scope.overs:
        raise _misplaced(node, scope, "window function")
    inner = scope.within("a window function", aggregates=scope.aggregates)
    window = _window_spec(_definition(node, scope), inner)
    # over a bounded frame Flink types SUM and the like as if there might be no row
    use = expressions.resolve_aggregate(node.this, inner, window.preceding is None)
    use = _with_default(use, scope)
    return OverRef(use.type, use, window)


def _with_default(use: AggregateUse, scope: NameScope) -> AggregateUse:
    """LAG and LEAD with a default: it must have the value's type; a NOT NULL one makes the result NOT NULL."""
    if use.function not in ("LAG", "LEAD") or len(use.args) < 3:
        return use
    value, default = use.args[0].type, use.args[2].type
    if scope.session.streaming and value.with_nullable(True) != default.with_nullable(True):
        raise FlinkDdlError.of(
            "FD504",
            f"the default of {use.function} is {default.summary}, its value {value.summary}",
            use.span,
            f"write CAST(... AS {value.summary})",
        )
    return replace(use, type=use.type.with_nullable(default.nullable))


def _definition(node: exp.Window, scope: NameScope) -> exp.Window:
    alias = node.args.get("alias")
    if alias is None:
        return node
    named = scope.windows.get(alias.name)
    if not isinstance(named, exp.Window):
        raise scope.context.error("FD504", f"window '{alias.name}' is not defined in the WINDOW clause", node)
    base = _definition(named, scope)
    merged = exp.Window(
        this=node.this,
        partition_by=node.args.get("partition_by") or base.args.get("partition_by"),
        order=node.args.get("order") or base.args.get("order"),
        spec=node.args.get("spec") or base.args.get("spec"),
    )
    merged.parent = node.parent
    return merged


def _window_spec(node: exp.Window, scope: NameScope) -> WindowSpec:
    partition = tuple(expressions.resolve_expression(e, scope) for e in node.args.get("partition_by") or ())
    order_node = node.args.get("order")
    order = tuple(ordered(o, scope) for o in order_node.expressions) if order_node else ()
    spec = node.args.get("spec")
    if spec is None:
        return WindowSpec(partition, order, following=0 if order else None)
    rows = str(spec.args.get("kind") or "RANGE").upper() == "ROWS"
    preceding = _bound(spec, "start", scope)
    following = _bound(spec, "end", scope)
    return WindowSpec(partition, order, rows, None if preceding is None else -preceding, following)


def _bound(spec: exp.Expression, which: str, scope: NameScope) -> Any:
    """Return a frame bound as a signed distance from the current row: None = unbounded, negative = preceding."""
    value = spec.args.get(which)
    if value is None or value == "CURRENT ROW":
        return 0
    if value == "UNBOUNDED":
        return None
    rex = expressions.resolve_expression(value, scope)
    if not isinstance(rex, Literal) or rex.value is None:
        raise scope.context.error("FD504", "the bound of a window frame must be a constant", spec)
    preceding = spec.args.get(f"{which}_side") == "PRECEDING"
    return -rex.value if preceding else rex.value


def ordered(node: exp.Expression, scope: NameScope) -> tuple[Rex, bool, bool]:
    """Resolve one ORDER BY item: (expression, descending, NULLs first)."""
    if not isinstance(node, exp.Ordered):
        return expressions.resolve_expression(node, scope), False, True
    descending = bool(node.args.get("desc"))
    return expressions.resolve_expression(node.this, scope), descending, nulls_first(node)


def nulls_first(node: exp.Ordered) -> bool:
    """Whether NULLs come first: as written, else first ascending and last descending."""
    written = node.args.get("nulls_first")
    return bool(written) if written is not None else not node.args.get("desc")


# ---- subqueries --------------------------------------------------------------------------------------------------


def _plan(tree: exp.Expression, scope: NameScope) -> Node:
    from flinkddl.plan.build.query import build_query

    return build_query(tree, scope.context, outer=scope, ctes=scope.ctes)


def _scalar(node: exp.Expression, scope: NameScope) -> Rex:
    plan = _plan(node, scope)
    if len(plan.fields) != 1:
        raise scope.context.error(
            "FD464", f"a scalar subquery returns one column, this one has {len(plan.fields)}", node
        )
    return SubqueryRef(
        plan.fields[0].type.with_nullable(True).as_attribute(None), "scalar", plan, span=scope.span(node)
    )


def _operands(node: exp.Expression, scope: NameScope) -> tuple[Rex, ...]:
    items = node.expressions if isinstance(node, exp.Tuple) else [node]
    return tuple(expressions.resolve_expression(i, scope) for i in items)


def _predicate_type(operands: tuple[Rex, ...], plan: Node) -> DataType:
    nullable = any(o.type.nullable for o in operands) or any(f.type.nullable for f in plan.fields)
    return T.BOOLEAN.with_nullable(nullable)


def _compare(kind: Any, node: Any, left: Any, tree: Any, scope: NameScope) -> SubqueryRef:
    operands = _operands(left, scope)
    plan = _plan(tree, scope)
    if len(operands) != len(plan.fields):
        raise scope.context.error(
            "FD464", f"the subquery returns {len(plan.fields)} columns where {len(operands)} are compared", node
        )
    return SubqueryRef(_predicate_type(operands, plan), kind, plan, operands, span=scope.span(node))


def _in(node: exp.In, scope: NameScope) -> Rex:
    return _compare("in", node, node.this, node.args["query"], scope)


def _exists(node: exp.Exists, scope: NameScope) -> Rex:
    plan = _plan(node.this, scope)
    return SubqueryRef(T.BOOLEAN.not_null(), "exists", plan, span=scope.span(node))


def _quantified(node: Any, scope: NameScope) -> Rex | None:
    right = node.expression
    if not isinstance(right.this, (exp.Query, exp.Subquery)):
        return None
    kind: SubqueryKind = "some" if isinstance(right, exp.Any) else "all"
    ref = _compare(kind, node, node.this, right.this, scope)
    return SubqueryRef(ref.type, kind, ref.plan, ref.operands, _QUANTIFIED[type(node)], ref.span)


# ---- groups ------------------------------------------------------------------------------------------------------


def _grouping(node: exp.Expression, scope: NameScope) -> Rex:
    if not scope.aggregates:
        raise _misplaced(node, scope, "grouping function")
    name = function_name(node)
    args = [*([node.this] if isinstance(node.this, exp.Expression) else []), *node.expressions]
    if args and name == "GROUP_ID":
        raise scope.context.error("FD401", "GROUP_ID takes no arguments", node, "write GROUPING_ID(..) for the bits")
    inner = scope.within("an aggregate's argument")
    resolved = tuple(expressions.resolve_expression(a, inner) for a in args)
    return GroupingRef(T.BIGINT.not_null(), resolved, name, scope.span(node))


def _group_window(node: exp.Expression, scope: NameScope) -> Rex:
    if scope.clause != "GROUP BY":
        name = function_name(node)
        raise scope.context.error(
            "FD503", f"group window '{name}' may only stand in GROUP BY", node, f"use {name}_START or {name}_END"
        )
    return group_window(function_name(node), node, scope)


def group_window(kind: str, node: exp.Expression, scope: NameScope) -> GroupWindowRef:
    """Resolve ``KIND(time, interval, ...)`` or an auxiliary function with the same arguments."""
    count = 3 if kind == "HOP" else 2
    args = list(node.expressions)
    if len(args) not in ((count, count + 1) if kind != "SESSION" else (count,)):
        raise scope.context.error("FD503", f"{kind} takes a time attribute and {count - 1} interval(s)", node)
    inner = scope.within("an aggregate's argument")
    resolved = [expressions.resolve_expression(a, inner) for a in args]
    sizes = tuple(_interval(r, a, scope) for r, a in zip(resolved[1:], args[1:], strict=True))
    return GroupWindowRef(resolved[0].type, kind, resolved[0], sizes, scope.span(node))


def _interval(rex: Rex, node: exp.Expression, scope: NameScope) -> int:
    if isinstance(rex, Literal) and rex.type.root is T.Root.INTERVAL_DAY_TIME:
        return int(rex.value)
    if isinstance(rex, Literal) and rex.type.root is T.Root.TIME:
        return int(rex.value)
    if rex.type.root is T.Root.INTERVAL_YEAR_MONTH:
        raise scope.context.error("FD502", "a window takes days or smaller units, not months or years", node)
    raise scope.context.error("FD503", "the size of a group window must be a constant interval", node)


def _auxiliary(node: exp.Expression, scope: NameScope) -> Rex:
    name = function_name(node)
    if not scope.aggregates:
        raise _misplaced(node, scope, f"group window function '{name}'")
    kind, prop = AUXILIARY[name]
    window = group_window(kind, node, scope)
    return WindowPropertyRef(_property_type(window.time.type, prop), window, prop, scope.span(node))


def _property_type(time: DataType, prop: str) -> DataType:
    if prop == "proctime":
        return T.PROCTIME
    if prop == "time":
        ltz = time.root is T.Root.TIMESTAMP_LTZ
        kind = T.TIMESTAMP_LTZ(3) if ltz else T.TIMESTAMP(3)
        return kind.with_nullable(time.nullable).as_attribute("ROWTIME")
    return T.TIMESTAMP(3).not_null()


_NAMED: dict[str, Callable[[exp.Expression, NameScope], Rex]] = {
    **dict.fromkeys(_GROUPING, _grouping),
    **dict.fromkeys(GROUP_WINDOWS, _group_window),
    **dict.fromkeys(AUXILIARY, _auxiliary),
}

__all__ = ["AUXILIARY", "GROUP_WINDOWS", "function_name", "group_window", "has", "nulls_first", "ordered", "resolve"]
