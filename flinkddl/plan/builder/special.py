"""Calls whose value depends on the query around them, as placeholders: aggregates, GROUPING, group windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from flinkddl import sqltypes as T
from flinkddl.plan import expressions
from flinkddl.plan.builder.base import CALLS, NameScope
from flinkddl.plan.builder.placeholders import AggRef, GroupingRef, GroupWindowRef, WindowPropertyRef
from flinkddl.plan.rex import Literal, Rex

if TYPE_CHECKING:
    from collections.abc import Callable

    from flinkddl.sqltypes import DataType

_GROUP_WINDOWS = ("TUMBLE", "HOP", "SESSION")
_PROPERTIES = {"START": "start", "END": "end", "ROWTIME": "time", "PROCTIME": "proctime"}
_AUXILIARY = {f"{kind}_{word}": (kind, prop) for kind in _GROUP_WINDOWS for word, prop in _PROPERTIES.items()}


@CALLS(object)
def _call(scope: NameScope, node: exp.Expression) -> Rex | None:
    special = _NAMED.get(_function_name(node))
    if special is not None:
        return special(scope, node)
    return _aggregate(scope, node) if expressions.is_aggregate(node, scope) else None


def is_known(node: exp.Expression) -> bool:
    """Whether a call has a rule here: it means something only to the query around it."""
    return _function_name(node) in _NAMED


def _function_name(node: exp.Expression) -> str:
    """Return the upper-case name of a function call, or an empty string."""
    match node:
        case exp.Anonymous():
            return str(node.this).upper()
        case exp.Func():
            return node.sql_name().upper()
        case _:
            return ""


def _aggregate(scope: NameScope, node: exp.Expression) -> Rex:
    if not scope.aggregates:
        raise scope.misplaced(node, "aggregate function")
    use = expressions.resolve_aggregate(node, scope.within("an aggregate's argument"), scope.grouped)
    return AggRef(use.type, use)


def _grouping(scope: NameScope, node: exp.Expression) -> Rex:
    if not scope.aggregates:
        raise scope.misplaced(node, "grouping function")
    name = _function_name(node)
    args = [*([node.this] if isinstance(node.this, exp.Expression) else []), *node.expressions]
    if args and name == "GROUP_ID":
        raise scope.error("FD401", "GROUP_ID takes no arguments", node, "write GROUPING_ID(..) for the bits")
    inner = scope.within("an aggregate's argument")
    resolved = tuple(map(inner.value, args))
    return GroupingRef(T.BIGINT.not_null(), resolved, name, scope.span(node))


def _group_window(scope: NameScope, node: exp.Expression) -> Rex:
    if scope.clause != "GROUP BY":
        name = _function_name(node)
        raise scope.error(
            "FD503", f"group window '{name}' may only stand in GROUP BY", node, f"use {name}_START or {name}_END"
        )
    return _window(scope, _function_name(node), node)


def _window(scope: NameScope, kind: str, node: exp.Expression) -> GroupWindowRef:
    """Resolve ``KIND(time, interval, ...)`` or an auxiliary function with the same arguments."""
    count = 3 if kind == "HOP" else 2
    args = list(node.expressions)
    if len(args) not in ((count, count + 1) if kind != "SESSION" else (count,)):
        raise scope.error("FD503", f"{kind} takes a time attribute and {count - 1} interval(s)", node)
    inner = scope.within("an aggregate's argument")
    resolved = [inner.value(a) for a in args]
    sizes = tuple(_interval(r, a, scope) for r, a in zip(resolved[1:], args[1:], strict=True))
    return GroupWindowRef(resolved[0].type, kind, resolved[0], sizes, scope.span(node))


def _interval(rex: Rex, node: exp.Expression, scope: NameScope) -> int:
    if isinstance(rex, Literal) and rex.type.root in (T.Root.INTERVAL_DAY_TIME, T.Root.TIME):
        return int(rex.value)
    if rex.type.root is T.Root.INTERVAL_YEAR_MONTH:
        raise scope.error("FD502", "a window takes days or smaller units, not months or years", node)
    raise scope.error("FD503", "the size of a group window must be a constant interval", node)


def _auxiliary(scope: NameScope, node: exp.Expression) -> Rex:
    name = _function_name(node)
    if not scope.aggregates:
        raise scope.misplaced(node, f"group window function '{name}'")
    kind, prop = _AUXILIARY[name]
    window = _window(scope, kind, node)
    return WindowPropertyRef(_property_type(window.time.type, prop), window, prop, scope.span(node))


def _property_type(time: DataType, prop: str) -> DataType:
    if prop == "proctime":
        return T.PROCTIME
    if prop == "time":
        ltz = time.root is T.Root.TIMESTAMP_LTZ
        return (T.TIMESTAMP_LTZ(3) if ltz else T.TIMESTAMP(3)).with_nullable(time.nullable).as_attribute("ROWTIME")
    return T.TIMESTAMP(3).not_null()


_NAMED: dict[str, Callable[[NameScope, exp.Expression], Rex]] = {
    **dict.fromkeys(("GROUPING", "GROUPING_ID", "GROUP_ID"), _grouping),
    **dict.fromkeys(_GROUP_WINDOWS, _group_window),
    **dict.fromkeys(_AUXILIARY, _auxiliary),
}
