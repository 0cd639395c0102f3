"""What Flink's streaming OVER allows: one ascending column, frames up to the current row, functions that look back."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.functions.aggregate import RANKING

if TYPE_CHECKING:
    from flinkddl.plan.context import Context
    from flinkddl.plan.nodes import Over

_BATCH_ONLY = frozenset({"NTILE", "LEAD", "PERCENT_RANK", "CUME_DIST"})


def check_over(node: Over, context: Context) -> Over:
    """Return the node, its ranking frames made definite. Raises FlinkDdlError (FD504, FD507) in streaming mode."""
    ranking = [c for c in node.calls if c.function in RANKING]
    if ranking and not node.order:
        raise _refused(node, f"{ranking[0].function}() needs ORDER BY in its window", "order by a column")
    if not context.session.streaming:
        return node
    for c in node.calls:
        if c.function in _BATCH_ONLY:
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


def _refused(node: Over, message: str, help_: str) -> FlinkDdlError:
    return FlinkDdlError.of("FD504", message, node.span, help_)
