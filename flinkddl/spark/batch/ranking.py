"""Batch lowering of Top-N and deduplication: ``row_number()`` with the order of arrival as last sort key."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from flinkddl.plan.nodes import Deduplicate, Rank
from flinkddl.spark.base import extend, project
from flinkddl.spark.batch import text
from flinkddl.spark.batch.base import lower_node, lowers, over, where
from flinkddl.spark.context import SEQUENCE, Rel
from flinkddl.spark.lateness import drop_late, drop_late_windows
from flinkddl.spark.stream.ranking import last_place
from flinkddl.sqltypes import quote

if TYPE_CHECKING:
    from flinkddl.plan.nodes.forms import Traits
    from flinkddl.spark.context import Lowering

RANK = "__rank"
# RANK and DENSE_RANK look at the sort keys only; ROW_NUMBER breaks ties by arrival: the earlier row ranks better
_FUNCTIONS = {"ROW_NUMBER": "row_number()", "RANK": "rank()", "DENSE_RANK": "dense_rank()"}


@lowers(Rank)
def lower_rank(node: Rank, ctx: Lowering, asked: Traits) -> Rel:
    """Keep the rows whose rank lies in ``start..end``; a window Top-N first drops rows of windows already closed."""
    late = node.window is not None and node.input.late
    rel = lower_node(node.input, ctx, replace(asked, sequence=True, watermark=late))
    if late and node.window is not None:
        rel = drop_late_windows(rel, rel.sql(node.window[1]), ctx)
    order = [text.sort_key(k, rel) for k in node.order]
    ties = [SEQUENCE] if node.function == "ROW_NUMBER" else []
    windowed = [*node.partition, *(node.window or ())]
    partition = [rel.sql(i) for i in dict.fromkeys(windowed)]
    number = f"CAST({_FUNCTIONS[node.function]} {over(partition, order + ties)} AS BIGINT)"
    step = extend(rel, [(RANK, number)], ctx, "rank", "Rank")
    end = last_place(rel, node)
    out = where(rel.with_(step=step), f"{RANK} BETWEEN {node.start} AND {end}", ctx, "top")
    exprs = [out.sql(i) for i in range(len(rel.fields))] + [quote(RANK)] * node.with_rank
    return project(out, node.fields, exprs, ctx, "topn")


@lowers(Deduplicate)
def lower_deduplicate(node: Deduplicate, ctx: Lowering, asked: Traits) -> Rel:
    """Keep the first or the last row per key.

    On processing time the order is that of arrival. On event time the first row keeps its place against an equal
    time, and the last row gives way to an equal one that came later.
    """
    late = not node.proctime and not node.keep_last and node.input.late
    closing = node.window is not None and node.input.late
    rel = lower_node(node.input, ctx, replace(asked, sequence=True, watermark=late or closing))
    if closing and node.window is not None:
        rel = drop_late_windows(rel, rel.sql(node.window[1]), ctx)
    elif late:
        rel = drop_late(rel, node.order, ctx)
    direction = " DESC" if node.keep_last else ""
    order = [SEQUENCE + direction] if node.proctime else [f"{rel.sql(node.order)}{direction}", SEQUENCE + direction]
    windowed = [*node.keys, *(node.window or ())]
    partition = [rel.sql(i) for i in dict.fromkeys(windowed)]
    step = extend(rel, [(RANK, f"row_number() {over(partition, order)}")], ctx, "dedup", "Deduplicate")
    out = where(rel.with_(step=step), f"{RANK} = 1", ctx, "dedup_kept")
    return project(out, rel.fields, [out.sql(i) for i in range(len(rel.fields))], ctx, "dedup_rows")
