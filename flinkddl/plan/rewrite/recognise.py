"""The second pass: from the leaves up, every node becomes the operator it is, and streaming rules are checked."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.functions.aggregate import RANKING
from flinkddl.plan import make
from flinkddl.plan import nodes as N
from flinkddl.plan.rewrite import patterns, windowing
from flinkddl.plan.rewrite.joinkinds import classify, classify_temporal

if TYPE_CHECKING:
    from collections.abc import Callable

    from flinkddl.plan.context import Context
    from flinkddl.plan.nodes import Node


_N = TypeVar("_N", bound="Node")


def recognise(node: Node, context: Context) -> Node:
    """Return the finished plan of ``node``. Raises FlinkDdlError for what cannot run."""
    if isinstance(node, N.Filter) and isinstance(node.input, N.Over):
        over = _with_inputs(node.input, context)
        node = node.over([over])
        ranked = patterns.rank(node, context)
        return ranked if ranked is not None else node.over([_over(over, context)])
    node = _with_inputs(node, context)
    rule = _RULES.get(type(node))
    found = rule(node, context) if rule is not None else None
    return make.merged(_plain(node)) if found is None else found


def _with_inputs(node: _N, context: Context) -> _N:
    """Rebuild the inputs and bring the types of the node in line: only time attributes can have changed."""
    return node.over([recognise(i, context) for i in node.inputs])


def _plain(node: Node) -> Node:
    """Take time attributes away where the operator takes none."""
    inputs = [make.materialised(i, only) for i, only in zip(node.inputs, node.timeless(), strict=True)]
    same = all(a is b for a, b in zip(node.inputs, inputs, strict=True))
    return node if same else node.over(inputs)


# ---- rules -------------------------------------------------------------------------------------------------------


_BATCH_ONLY = frozenset({"APPROX_COUNT_DISTINCT"})
_BATCH_ONLY_OVER = frozenset({"NTILE", "LEAD", "PERCENT_RANK", "CUME_DIST"})


def _aggregate(node: N.Aggregate, context: Context) -> Node | None:
    refused = next((a for a in node.aggs if a.function in _BATCH_ONLY), None)
    if refused is not None and context.session.streaming:
        raise FlinkDdlError.of("FD507", f"{refused.function} is not supported in streaming mode", refused.span)
    return windowing.window_aggregate(node)


def _windowed(node: N.WindowTableFunction | N.WindowAggregate, context: Context) -> None:
    windowing.check_time(node.input, node.window, node.span, context)


def _sort(node: N.Sort, context: Context) -> Node | None:
    if node.fetch == 0:
        return N.Values(fields=node.fields, rows=())
    if not context.session.streaming or node.fetch is not None:
        return None
    if node.offset:
        raise FlinkDdlError.of("FD508", "OFFSET needs LIMIT in streaming mode", node.span, "add LIMIT")
    if not node.order:
        return None
    key = node.order[0]
    if node.input.fields[key.index].type.time_attribute is None or key.descending:
        raise FlinkDdlError.of(
            "FD508",
            "ORDER BY without LIMIT needs an ascending time attribute as its first column in streaming mode",
            node.span,
            "add LIMIT, or drop the ORDER BY",
        )
    return None


def _over(node: N.Over, context: Context) -> N.Over:
    """Streaming OVER: one ascending column, frames up to the current row, functions that look back; ranks by rows.

    Raises FlinkDdlError (FD504, FD507) in streaming mode.
    """
    ranking = [c for c in node.calls if c.function in RANKING]
    if ranking and not node.order:
        raise _refused(node, f"{ranking[0].function}() needs ORDER BY in its window", "order by a column")
    if not context.session.streaming:
        return node
    for c in node.calls:
        if c.function in _BATCH_ONLY_OVER:
            raise FlinkDdlError.of("FD507", f"{c.function} is not supported in streaming mode", c.span or node.span)
    if len(node.order) != 1:
        raise _refused(node, "a window orders by exactly one column in streaming mode", "order by a time attribute")
    key = node.order[0]
    if key.descending:
        raise _refused(node, "a window orders ascending in streaming mode", "drop DESC")
    if node.following != 0:
        raise _refused(node, "a window ends at the current row in streaming mode", "write AND CURRENT ROW")
    attribute = node.input.fields[key.index].type.time_attribute
    if attribute is None and node.preceding is not None:
        raise _refused(node, "a bounded window orders by a time attribute in streaming mode", "use UNBOUNDED PRECEDING")
    return replace(node, rows=True) if ranking and len(ranking) == len(node.calls) else node


def _refused(node: N.Over, message: str, help_: str) -> FlinkDdlError:
    return FlinkDdlError.of("FD504", message, node.span, help_)


_RULES: dict[type[Node], Callable[[Any, Context], Node | None]] = {
    N.Join: classify,
    N.TemporalJoin: classify_temporal,
    N.Aggregate: _aggregate,
    N.WindowTableFunction: _windowed,
    N.WindowAggregate: _windowed,
    N.Over: _over,
    N.Sort: _sort,
}
