"""OVER: window functions as placeholders of a SELECT's expressions, then as Over nodes, one per distinct window."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.plan import expressions, make
from flinkddl.plan.builder.base import CALLS, NameScope
from flinkddl.plan.builder.ordering import ordered
from flinkddl.plan.builder.placeholders import OverRef, WindowSpec
from flinkddl.plan.nodes import Field, Over
from flinkddl.plan.rex import InputRef, Literal, Rex, SortKey

if TYPE_CHECKING:
    from flinkddl.plan.builder.placeholders import Parts
    from flinkddl.plan.nodes import Node
    from flinkddl.plan.scope import AggregateUse, Session


@CALLS(exp.Window)
def _resolve(scope: NameScope, node: exp.Window) -> Rex:
    if not scope.overs:
        raise scope.misplaced(node, "window function")
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
        message = f"the default of {use.function} is {default.summary}, its value {value.summary}"
        raise FlinkDdlError.of("FD504", message, use.span, f"write CAST(... AS {value.summary})")
    return replace(use, type=use.type.with_nullable(default.nullable))


def _definition(node: exp.Window, scope: NameScope) -> exp.Window:
    """Return a window with what it takes from the one of the WINDOW clause that it names."""
    alias = node.args.get("alias")
    if alias is None:
        return node
    named = scope.windows.get(alias.name)
    if not isinstance(named, exp.Window):
        raise scope.error("FD504", f"window '{alias.name}' is not defined in the WINDOW clause", node)
    base = _definition(named, scope)
    taken = {key: node.args.get(key) or base.args.get(key) for key in ("partition_by", "order", "spec")}
    merged = exp.Window(this=node.this, **taken)
    merged.parent = node.parent
    return merged


def _window_spec(node: exp.Window, scope: NameScope) -> WindowSpec:
    partition = tuple(scope.value(e) for e in node.args.get("partition_by") or ())
    order_node, spec = node.args.get("order"), node.args.get("spec")
    order = tuple(ordered(o, scope) for o in order_node.expressions) if order_node else ()
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
    rex = scope.value(value)
    if not isinstance(rex, Literal) or rex.value is None:
        raise scope.error("FD504", "the bound of a window frame must be a constant", spec)
    preceding = spec.args.get(f"{which}_side") == "PRECEDING"
    return -rex.value if preceding else rex.value


def apply(node: Node, parts: Parts, session: Session) -> Node:
    """Compute the OVER calls of a SELECT over ``node`` and replace them in ``parts`` by references.

    A streaming query may hold one window only, as Flink has it; batch queries get one Over node for each.
    """
    calls = parts.found(OverRef)
    windows = list(dict.fromkeys(c.window for c in calls))
    if len(windows) > 1 and session.streaming:
        raise FlinkDdlError.of(
            "FD505",
            "the window functions of one SELECT must share PARTITION BY, ORDER BY and frame in streaming mode",
            next(c.use.span for c in calls if c.window != windows[0]),
            "compute the second one in a query around this one",
        )
    values: dict[OverRef, InputRef] = {}
    for window in windows:
        node = _over(node, window, [c for c in calls if c.window == window], values)
    parts.rewrite(lambda rex: values.get(rex) if isinstance(rex, OverRef) else None)
    return node


def _over(node: Node, window: WindowSpec, calls: list[OverRef], values: dict[OverRef, InputRef]) -> Node:
    exprs: list[Rex] = [*window.partition, *(o[0] for o in window.order)]
    for c in calls:
        exprs += c.use.args
        if c.use.filter is not None:
            exprs.append(c.use.filter)
    node, places = make.append(node, exprs)
    index = dict(zip(exprs, places, strict=True))
    width = len(node.fields)
    values |= {c: InputRef(c.type, width + i, c.use.span) for i, c in enumerate(calls)}
    return Over(
        input=node,
        partition=tuple(index[p] for p in window.partition),
        order=tuple(SortKey(index[e], d, n) for e, d, n in window.order),
        calls=tuple(c.use.call(index.__getitem__) for c in calls),
        rows=window.rows,
        preceding=window.preceding,
        following=window.following,
        fields=(*node.fields, *(Field(f"w0$o{i}", c.type) for i, c in enumerate(calls))),
        span=calls[0].use.span,
    )
