"""What a bounded run hands to a sink: the finished table, and for an upsert sink one row per primary key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.plan.changelog import sink_accepts, sink_key, writes_changes
from flinkddl.plan.nodes import Sink
from flinkddl.plan.nodes.forms import Traits
from flinkddl.spark.base import extend, project
from flinkddl.spark.batch.base import lower_node, lowers, over, where
from flinkddl.spark.context import SEQUENCE, WEIGHT, Rel

if TYPE_CHECKING:
    from flinkddl.spark.context import Lowering


@lowers(Sink)
def lower_sink_input(node: Sink, ctx: Lowering, asked: Traits) -> Rel:
    """Lower a sink's input; where several rows may share the primary key of an upsert sink, the last one stays.

    ON CONFLICT DO NOTHING keeps the first one instead. Spark writes a batch in no order, so it cannot be left to Kafka.
    """
    if writes_changes(node):
        rel = lower_node(node.input, ctx)
        return rel.with_(step=extend(rel, [(WEIGHT, "1")], ctx, "inserts"), kind="delta")
    keys = sink_key(node) if sink_accepts(node) == "upsert" else ()
    unique = node.input.unique_key(declared=False)
    if not keys or (unique is not None and set(unique) <= set(keys)):
        return lower_node(node.input, ctx, asked)
    rel = lower_node(node.input, ctx, Traits(sequence=True))
    if node.conflict == "ERROR":
        return _unequal_fails(rel, keys, ctx)
    direction = "" if node.conflict == "NOTHING" else " DESC"
    number = f"row_number() {over([rel.sql(k) for k in keys], [SEQUENCE + direction])}"
    step = extend(rel, [("__nth", number)], ctx, "per_key", "one row per primary key")
    out = where(rel.with_(step=step), "__nth = 1", ctx, "last_per_key")
    return project(out, rel.fields, [out.sql(i) for i in range(len(rel.fields))], ctx, "keyed")


def _unequal_fails(rel: Rel, keys: tuple[int, ...], ctx: Lowering) -> Rel:
    """ON CONFLICT DO ERROR: rows of one primary key must be equal."""
    row = f"struct({', '.join(rel.sql(i) for i in range(len(rel.fields)))})"
    group = over([rel.sql(k) for k in keys], [])
    text = "Primary key constraint violation: multiple distinct records with the same primary key detected"
    check = f"IF(min({row}) {group} <=> max({row}) {group}, 0, CAST(raise_error('{text}') AS INT))"
    number = f"{check} + row_number() {over([rel.sql(k) for k in keys], [SEQUENCE])}"
    step = extend(rel, [("__nth", number)], ctx, "per_key", "ON CONFLICT DO ERROR")
    return where(rel.with_(step=step), "__nth = 1", ctx, "first_per_key")
