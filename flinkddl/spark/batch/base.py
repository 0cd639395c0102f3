"""What the batch lowerings share: the dispatch table, what a parent asks of its inputs, and small step builders.

In batch mode every relation is a finished table. Two reserved columns may ride along, each only where an operator
above asked for it: ``__seq`` (arrival order, larger is later) and ``__wm`` (event-time milliseconds of the watermark
that the row met when it arrived, NULL before the first one).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.plan.nodes.forms import PLAIN, Traits
from flinkddl.plan.rules import Rules
from flinkddl.spark import base
from flinkddl.spark.base import conform, extend
from flinkddl.spark.context import SEQUENCE, Rel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flinkddl.plan.nodes import Field, Node
    from flinkddl.spark.context import Lowering

HANDLERS = lowers = Rules[Rel]()


def lower_node(node: Node, ctx: Lowering, asked: Traits = PLAIN) -> Rel:
    """Lower a plan node and all below it to steps of ``ctx``; returns the finished table.

    Raises FD640 for a node type without a lowering, FD641 for versions that cannot be told.
    """
    handler = HANDLERS.of(node)
    if handler is None:
        raise FlinkDdlError.of("FD640", f"{node.name} is not available in a bounded run", node.span)
    return trimmed(handler(node, ctx, asked), node.fields, ctx, asked)


def trimmed(rel: Rel, fields: tuple[Field, ...], ctx: Lowering, asked: Traits) -> Rel:
    """Bring a relation to the node's fields, and leave out the reserved columns that nobody asked for."""
    rel = rel.with_(sequence=rel.sequence and asked.sequence, watermark=rel.watermark and asked.watermark)
    return conform(rel, fields, ctx)


def where(rel: Rel, condition: str, ctx: Lowering, prefix: str, note: str = "") -> Rel:
    """Add a Where over a relation."""
    return rel.with_(step=base.where(rel.step, condition, ctx, prefix, note))


def over(partition: Sequence[str], order: Sequence[str], frame: str = "") -> str:
    """Return the text of an OVER clause from SQL texts; no partition means one group."""
    parts = [f"PARTITION BY {', '.join(partition)}"] if partition else []
    if order:
        parts.append(f"ORDER BY {', '.join(order)}")
    if frame:
        parts.append(frame)
    return f"OVER ({' '.join(parts)})"


UP_TO_HERE = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"


def renumber(rel: Rel, order: Sequence[str], ctx: Lowering, note: str) -> Rel:
    """Give every row its own ``__seq`` again, where one input row became several; ``order`` are SQL texts."""
    step = extend(rel, [(SEQUENCE, f"CAST(row_number() {over((), order)} AS BIGINT)")], ctx, "numbered", note)
    return rel.with_(step=step, sequence=True)
