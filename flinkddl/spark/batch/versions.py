"""The right side of an event-time temporal join: every version of every key, not the table that is left at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.plan.nodes import Filter, Project, Scan
from flinkddl.plan.nodes.forms import Traits
from flinkddl.spark.base import extend, project
from flinkddl.spark.batch.base import lower_node, over, trimmed, where
from flinkddl.spark.context import DELETED, SEQUENCE, VERSION, WEIGHT, Rel
from flinkddl.spark.expressions import condition_to_spark, to_spark
from flinkddl.spark.scan import lower_scan

if TYPE_CHECKING:
    from flinkddl.plan.nodes import Node
    from flinkddl.spark.context import Lowering


def lower_versions(node: Node, ctx: Lowering) -> Rel:
    """Lower a versioned table to its versions: kind ``upsert``, one row per change with ``__version``, ``__deleted``.

    Raises FD641 for a relation whose versions cannot be told.
    """
    match node:
        case Scan():
            rel = lower_scan(node, ctx, sequence=True)
            if rel.kind == "append":
                rel = _of_rows(rel, ctx)
            elif rel.kind == "delta":
                rel = _of_deltas(node, rel, ctx)
        case Project():
            below = lower_versions(node.input, ctx)
            exprs = [to_spark(e, below.columns, ctx.zone) for e in node.exprs]
            rel = project(below, node.fields, exprs, ctx, "project_versions")
        case Filter():
            below = lower_versions(node.input, ctx)
            gone = f"{DELETED} OR NOT coalesce({condition_to_spark(node.condition, below.columns, ctx.zone)}, FALSE)"
            rel = below.with_(step=extend(below, [(DELETED, gone)], ctx, "filter_versions", "a failed filter deletes"))
        case _ if node.versioned:
            rel = _of_rows(lower_node(node.inputs[0], ctx, Traits(sequence=True)), ctx)
        case _:
            raise FlinkDdlError.of("FD641", f"a {node.name} has no versions that a temporal join could read", node.span)
    return trimmed(rel, node.fields, ctx, Traits())


def _of_rows(rel: Rel, ctx: Lowering) -> Rel:
    """Take every row of an append-only relation as a new version of its key, later arrivals last."""
    order = SEQUENCE if rel.sequence else "CAST(0 AS BIGINT)"
    step = extend(rel, [(VERSION, order), (DELETED, "FALSE")], ctx, "versions")
    return rel.with_(step=step, kind="upsert", sequence=False)


def _of_deltas(node: Scan, rel: Rel, ctx: Lowering) -> Rel:
    """Take insertions as versions and the removals that no insertion of the same message follows as deletions."""
    columns = [f.name for f in node.fields]
    key = node.table.primary_key.columns if node.table.primary_key is not None else ()
    partition = [rel.sql(columns.index(k)) for k in key]
    order = f"{SEQUENCE} * 2 + IF({WEIGHT} > 0, 1, 0)"
    extra = [(VERSION, order), (DELETED, f"{WEIGHT} < 0"), ("__next", f"lead({SEQUENCE}) {over(partition, [order])}")]
    step = extend(rel, extra, ctx, "versions")
    versions = rel.with_(step=step, kind="upsert", sequence=False)
    return where(
        versions, f"NOT ({DELETED} AND __next <=> {SEQUENCE})", ctx, "versions_kept", "the old row of an update"
    )
