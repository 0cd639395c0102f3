"""Batch lowering of OVER aggregates with the meaning they have in a streaming job."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from flinkddl.plan.nodes import Over
from flinkddl.spark.base import extend, project
from flinkddl.spark.batch import text
from flinkddl.spark.batch.base import UP_TO_HERE, lower_node, lowers, over
from flinkddl.spark.batch.lateness import drop_overtaken
from flinkddl.spark.context import SEQUENCE, Rel
from flinkddl.spark.java_functions import retracting
from flinkddl.spark.lateness import drop_late
from flinkddl.spark.rowtime import without_null
from flinkddl.sqltypes import Root

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flinkddl.plan.nodes.forms import Traits
    from flinkddl.plan.rex import AggCall, Literal
    from flinkddl.spark.context import Lowering
    from flinkddl.spark.job import Named
    from flinkddl.sqltypes import DataType


@lowers(Over)
def lower_over(node: Over, ctx: Lowering, asked: Traits) -> Rel:
    """Add one column per call.

    On processing time every row is its own moment, so a RANGE frame is the ROWS frame by arrival. ROWS frames break
    ties by arrival. On event time late rows are dropped.
    """
    kind = node.time
    late = kind == "ROWTIME" and node.input.late
    rel = lower_node(node.input, ctx, replace(asked, sequence=True, watermark=late))
    partition = [rel.sql(i) for i in node.partition]
    batch = ctx.config.batch
    if kind == "ROWTIME" and node.preceding is not None and not batch:
        rel = without_null(rel, node.order[0].index, ctx)
    if late:
        time = node.order[0].index
        rel = drop_late(rel, time, ctx) if node.preceding is None else drop_overtaken(rel, time, partition, ctx)
    order = [] if kind == "PROCTIME" else [text.sort_key(k, rel) for k in node.order]
    frame = Frame(
        by_row=over(partition, [*order, SEQUENCE]),
        peers=over(partition, order or [SEQUENCE]),
        framed=over(partition, [*order, SEQUENCE] if node.rows or kind == "PROCTIME" else order, _frame(node, rel)),
        arrival=f"struct({', '.join([rel.sql(k.index) for k in node.order if order] + [SEQUENCE])})",
        together=over([*partition, *(rel.sql(k.index) for k in node.order)], []) if kind == "ROWTIME" else "",
        batch=batch,
    )
    if node.preceding is not None and not batch:
        for call in (c for c in node.calls if c.function == "JAVA"):
            retracting(call)  # a stream takes the rows that leave a frame back
    known = text.constants(node.input)
    rel = _shifts(node, rel, ctx, frame, known)
    exprs = [rel.sql(i) for i in range(len(rel.fields))]
    exprs += [_call(i, call, rel, ctx, frame, known) for i, call in enumerate(node.calls)]
    return project(rel, node.fields, exprs, ctx, "over", "Over")


@dataclass(frozen=True)
class Frame:
    """OVER clauses of one node: row by row, over the sort keys alone, and with the node's frame.

    ``arrival`` sorts the rows of a frame for calls that depend on order; ``together`` is all rows of one event time,
    empty where the sort key is none; ``batch``: batch mode was said aloud.
    """

    by_row: str
    peers: str
    framed: str
    arrival: str
    together: str
    batch: bool


def _shifts(node: Over, rel: Rel, ctx: Lowering, frame: Frame, known: Mapping[int, Literal]) -> Rel:
    """Add LAG and LEAD row by row, one column a call; the last of several rows of one time gives it to all of them."""
    extra: list[Named] = []
    for i, call in enumerate(node.calls):
        if call.function in ("LAG", "LEAD"):
            args = [text.argument(a, rel, known, ctx) for a in call.args]
            value = f"{call.function.lower()}({', '.join(args[:2])}) {frame.by_row}"
            # the default also stands in for a NULL of the other row
            extra.append((f"__shift{i}", f"coalesce({value}, {args[2]})" if len(args) > 2 else value))
    return rel.with_(step=extend(rel, extra, ctx, "shifted")) if extra else rel


def _call(i: int, call: AggCall, rel: Rel, ctx: Lowering, frame: Frame, known: Mapping[int, Literal]) -> str:
    """Return the text of one call. A streaming RANK or DENSE_RANK is the number of rows up to the last peer."""
    match call.function:
        case "ROW_NUMBER":
            return f"CAST(row_number() {frame.by_row} AS BIGINT)"
        case "RANK" | "DENSE_RANK" if frame.batch:
            return f"CAST({call.function.lower()}() {frame.peers} AS BIGINT)"
        case "RANK" | "DENSE_RANK":
            return f"count(1) {frame.peers}"
        case "NTILE":
            parts = text.argument(call.args[0], rel, known, ctx)
            return f"CAST(ntile(CAST({parts} AS INT)) {frame.by_row} AS BIGINT)"
        case "PERCENT_RANK" | "CUME_DIST":
            return f"{call.function.lower()}() {frame.peers}"
        case "LAG" | "LEAD":
            return f"max_by(__shift{i}, {SEQUENCE}) {frame.together}" if frame.together else f"__shift{i}"
        case "COUNT" if call.distinct and call.filter is None:
            return f"CAST(size(collect_set({text.plain(rel, call.args[0])}) {frame.framed}) AS BIGINT)"
    return text.aggregate(call, rel, ctx, frame.arrival, known, frame.framed)


def _frame(node: Over, rel: Rel) -> str:
    """Return the frame clause; a bounded RANGE over a time is an interval, over anything else a number."""
    if not node.rows and node.time == "PROCTIME":
        return UP_TO_HERE
    t = rel.fields[node.order[0].index].type if node.order and not node.rows else None
    upper = "CURRENT ROW" if node.following == 0 else _bound(node.following, t, "FOLLOWING")
    return f"{'ROWS' if node.rows else 'RANGE'} BETWEEN {_bound(node.preceding, t, 'PRECEDING')} AND {upper}"


def _bound(amount: int | None, t: DataType | None, side: str) -> str:
    if amount is None:
        return f"UNBOUNDED {side}"
    if amount == 0:
        return "CURRENT ROW"
    if t is None or t.root not in (Root.TIMESTAMP, Root.TIMESTAMP_LTZ):
        return f"{amount} {side}"
    return f"INTERVAL '{amount // 1000}.{amount % 1000:03d}' SECOND {side}"
