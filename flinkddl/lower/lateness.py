"""Late rows: which relations may hold rows behind the watermark, and the filters that drop them.

With the default ``scan.watermark.emit.strategy`` (every 200 ms) a bounded topic is read before the first watermark, so
nothing is late. With ``on-event`` the watermark moves after every record, and event-time operators drop rows behind
it: then each row carries the watermark it met (``__wm``), and operators drop by it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.lower.context import WATERMARK
from flinkddl.lower.job import Where
from flinkddl.plan.nodes import (
    Deduplicate,
    IntervalJoin,
    Over,
    Rank,
    Scan,
    Sort,
    TemporalJoin,
    WindowAggregate,
    WindowJoin,
)

if TYPE_CHECKING:
    from flinkddl.lower.context import Lowering, Rel
    from flinkddl.plan.nodes import Node

# their rows come out when the watermark passes, so none of them is late for an operator above
_ON_TIME = (WindowAggregate, WindowJoin, TemporalJoin)


def late_possible(node: Node) -> bool:
    """Whether rows of this relation may be behind the watermark when they arrive."""
    if isinstance(node, Scan):
        return node.watermark is not None and _strategy(node) == "on-event"
    if isinstance(node, _ON_TIME) or _emits_on_time(node):
        return False
    return any(late_possible(i) for i in node.inputs)


def _emits_on_time(node: Node) -> bool:
    match node:
        case Deduplicate(proctime=False, keep_last=False) | Rank(window=(_, _)) | Deduplicate(window=(_, _)):
            return True
        case Over() | Sort() | IntervalJoin():
            return True
        case _:
            return False


def _strategy(node: Scan) -> str:
    option = node.table.options.get("scan.watermark.emit.strategy")
    return option.value.strip().lower() if option is not None else "on-periodic"


def drop_late(rel: Rel, time: int, ctx: Lowering) -> Rel:
    """Drop rows whose time is not beyond the watermark they met."""
    return _dropped(rel, f"unix_millis(CAST({rel.sql(time)} AS TIMESTAMP)) > {WATERMARK}", ctx)


def drop_late_windows(rel: Rel, end: str, ctx: Lowering) -> Rel:
    """Drop rows whose window (``end``: text of its end) was closed by the watermark they met."""
    return _dropped(rel, f"unix_millis(CAST({end} AS TIMESTAMP)) - 1 > {WATERMARK}", ctx)


def _dropped(rel: Rel, on_time: str, ctx: Lowering) -> Rel:
    condition = f"{WATERMARK} IS NULL OR {on_time}"
    step = ctx.add(Where(name=ctx.fresh("on_time"), input=rel.step, condition=condition, note="late rows are dropped"))
    return rel.with_(step=step.name, watermark=False)
