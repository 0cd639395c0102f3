"""Batch lowering of temporal joins: each left row meets the version of its key that was valid at its time.

Both sides are put into one relation, sorted by key and time (a version before the rows of its own moment), and the
last version is carried down by a window function: one pass, however many versions a key has. A deletion is a version
that nothing matches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.plan.nodes import LookupJoin, TemporalJoin, regular
from flinkddl.plan.nodes.forms import Traits
from flinkddl.spark.base import select
from flinkddl.spark.batch.base import UP_TO_HERE, lower_node, lowers, over, where
from flinkddl.spark.batch.versions import lower_versions
from flinkddl.spark.context import DELETED, SEQUENCE, VERSION, Rel, unique_names
from flinkddl.spark.expressions import condition_to_spark
from flinkddl.spark.job import UnionAll
from flinkddl.spark.made import is_made, lookup_made
from flinkddl.spark.rowtime import millis
from flinkddl.sqltypes import quote, spark_type

if TYPE_CHECKING:
    from flinkddl.spark.context import Lowering
    from flinkddl.spark.job import Named

SIDE, AT, ORDER, ROW, MATCH = "__side", "__at", "__order", "__row", "__match"


@lowers(TemporalJoin)
def lower_temporal_join(node: TemporalJoin, ctx: Lowering, asked: Traits) -> Rel:
    """Join with the version as of the left row's time, or with the newest one on processing time."""
    if node.right_time is None:
        return lower_node(regular(node), ctx, asked)
    left = lower_node(node.left, ctx, Traits(sequence=asked.sequence))
    right = lower_versions(node.right, ctx)
    names = unique_names([*left.columns, *right.columns])
    carried = _carried(node, left, right, node.right_time, ctx)
    width = len(left.columns)
    columns: list[Named] = [(n, f"{ROW}.{quote(c)}") for n, c in zip(names, left.columns, strict=False)]
    columns += [(n, f"{MATCH}.{quote(c)}") for n, c in zip(names[width:], right.columns, strict=True)]
    columns.append((DELETED, f"coalesce({MATCH}.{DELETED}, TRUE)"))
    columns += [(SEQUENCE, f"{ROW}.{SEQUENCE}")] * asked.sequence
    met = select(carried, columns, ctx, "as_of", "TemporalJoin")
    holds = f"coalesce(NOT {DELETED} AND {condition_to_spark(node.condition, names, ctx.zone)}, FALSE)"
    rel = Rel(met, names, left.fields + right.fields, sequence=asked.sequence)
    return where(rel, holds, ctx, "matched") if node.kind == "inner" else _padded(rel, width, holds, ctx)


@lowers(LookupJoin)
def lower_lookup_join(node: LookupJoin, ctx: Lowering, asked: Traits) -> Rel:
    """Join with the table as it is found: a bounded run asks once for all keys."""
    if is_made(node.table):
        return lookup_made(node, lower_node(node.input, ctx, asked), ctx)
    return lower_node(regular(node), ctx, asked)


def _carried(node: TemporalJoin, left: Rel, right: Rel, right_time: int, ctx: Lowering) -> str:
    """Union both sides and carry the last version down to the left rows; returns the step with ROW and MATCH."""
    row = ",".join(f"{quote(c)}:{spark_type(f.type)}" for c, f in zip(left.columns, left.fields, strict=True))
    row += f",{SEQUENCE}:BIGINT" * left.sequence
    version = ",".join(f"{quote(c)}:{spark_type(f.type)}" for c, f in zip(right.columns, right.fields, strict=True))
    version += f",{DELETED}:BOOLEAN"
    keys = [f"__k{i}" for i in range(len(node.keys))]
    left_columns: list[Named] = [(k, left.sql(i)) for k, (i, _) in zip(keys, node.keys, strict=True)]
    left_columns += [(AT, millis(left.sql(node.left_time))), (SIDE, "1"), (ORDER, "CAST(0 AS BIGINT)")]
    held = ", ".join([*map(quote, left.columns), *left.reserved])
    left_columns += [(ROW, f"struct({held})"), (MATCH, f"CAST(NULL AS STRUCT<{version}>)")]
    right_columns: list[Named] = [(k, right.sql(i)) for k, (_, i) in zip(keys, node.keys, strict=True)]
    right_columns += [(AT, millis(right.sql(right_time))), (SIDE, "0"), (ORDER, VERSION)]
    held = ", ".join([*map(quote, right.columns), DELETED])
    right_columns += [(ROW, f"CAST(NULL AS STRUCT<{row}>)"), (MATCH, f"struct({held})")]
    parts = [
        select(rel.step, columns, ctx, name)
        for name, rel, columns in (("rows", left, left_columns), ("versions", right, right_columns))
    ]
    both = ctx.add(UnionAll(name=ctx.fresh("timeline"), parts=tuple(parts))).name
    last = f"last_value({MATCH}, true) {over(keys, [AT, SIDE, ORDER], UP_TO_HERE)}"
    carried = select(both, ((SIDE, SIDE), (ROW, ROW), (MATCH, last)), ctx, "carried")
    return where(Rel(carried, (), ()), f"{SIDE} = 1", ctx, "left_rows").step


def _padded(rel: Rel, width: int, holds: str, ctx: Lowering) -> Rel:
    """LEFT JOIN: the right columns are NULL where nothing matched."""
    columns: list[Named] = [(c, quote(c)) for c in rel.columns[:width]]
    columns += [(c, f"CASE WHEN {holds} THEN {quote(c)} END") for c in rel.columns[width:]]
    columns += [(r, r) for r in rel.reserved]
    return rel.with_(step=select(rel.step, columns, ctx, "padded"))
