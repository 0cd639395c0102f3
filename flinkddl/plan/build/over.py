"""OVER: window functions of a SELECT become Over nodes, one per distinct window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.plan import make
from flinkddl.plan.nodes import Field, Over
from flinkddl.plan.build.placeholders import OverRef, WindowSpec, rewrite, walk_all
from flinkddl.plan.rex import AggCall, InputRef, Rex, SortKey

if TYPE_CHECKING:
    from flinkddl.plan.context import Context
    from flinkddl.plan.nodes import Node
    from flinkddl.plan.build.select import Parts

RANKING = ("ROW_NUMBER", "RANK", "DENSE_RANK")


def apply(node: Node, parts: Parts, context: Context) -> Node:
    """Compute the OVER calls of a SELECT over ``node`` and replace them in ``parts`` by references.

    A streaming query may hold one window only, as Flink has it; batch queries get one Over node for each.
    """
    calls: list[OverRef] = []
    for rex in parts.all():
        calls += [r for r in walk_all(rex) if isinstance(r, OverRef) and r not in calls]
    windows: list[WindowSpec] = []
    for c in calls:
        if not any(_same(c.window, w) for w in windows):
            windows.append(c.window)
    if len(windows) > 1 and context.session.streaming:
        raise FlinkDdlError.of(
            "FD505",
            "the window functions of one SELECT must share PARTITION BY, ORDER BY and frame in streaming mode",
            next((c.use.span for c in calls if not _same(c.window, windows[0])), None),
            "compute the second one in a query around this one",
        )
    values: dict[OverRef, InputRef] = {}
    for window in windows:
        node = _over(node, window, [c for c in calls if _same(c.window, window)], values)

    def replaced(rex: Rex) -> Rex | None:
        return values.get(rex) if isinstance(rex, OverRef) else None

    parts.map(lambda rex: rewrite(rex, replaced))
    return node


def _same(a: WindowSpec, b: WindowSpec) -> bool:
    """Whether two windows can share a node; ranking functions and LAG have no frame of their own."""
    return a == b


def _over(node: Node, window: WindowSpec, calls: list[OverRef], values: dict[OverRef, InputRef]) -> Node:
    exprs: list[Rex] = [*window.partition, *(o[0] for o in window.order)]
    for c in calls:
        exprs += c.use.args
        if c.use.filter is not None:
            exprs.append(c.use.filter)
    node, places = make.append(node, exprs)
    index = dict(zip(exprs, places, strict=True))
    width = len(node.fields)
    agg_calls = []
    for i, c in enumerate(calls):
        use = c.use
        filter_ = None if use.filter is None else index[use.filter]
        args = tuple(index[a] for a in use.args)
        agg_calls.append(
            AggCall(use.function, args, use.type, use.distinct, filter_, use.ignore_nulls, use.options, use.span)
        )
        values[c] = InputRef(use.type, width + i, use.span)
    return Over(
        input=node,
        partition=tuple(index[p] for p in window.partition),
        order=tuple(SortKey(index[e], d, n) for e, d, n in window.order),
        calls=tuple(agg_calls),
        rows=window.rows,
        preceding=window.preceding,
        following=window.following,
        fields=(*node.fields, *(Field(f"w0$o{i}", c.type) for i, c in enumerate(agg_calls))),
        span=calls[0].use.span,
    )
