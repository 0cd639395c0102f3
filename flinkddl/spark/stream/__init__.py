"""The streaming lowering: any updating Flink query on Spark's own operators and our retracting aggregates.

``lower`` gives the relation of a query; ``lower_for`` brings it to the kind that a sink takes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.plan.nodes import Filter, Project, Scan, Union, Unnest, Values
from flinkddl.plan.physical import decide, how_of
from flinkddl.spark.base import Want, project
from flinkddl.spark.stream import aggregate, join, over, ranking, rows, temporal, windows
from flinkddl.spark.stream.base import HANDLERS, lower_node
from flinkddl.spark.stream.kinds import first_rows, last_changes, normalise, to_delta, to_pair, to_upsert

if TYPE_CHECKING:
    from flinkddl.plan.nodes import Node
    from flinkddl.spark.context import Lowering, Rel

__all__ = ["HANDLERS", "Accepts", "lower", "lower_for"]
_FAMILIES = (aggregate, join, over, ranking, rows, temporal, windows)  # importing them fills HANDLERS

Accepts = Literal["append", "upsert", "changelog"]


def lower(node: Node, ctx: Lowering, want: Want | None = None) -> Rel:
    """Lower a query; sets ``ctx.output_mode`` and the session settings it needs."""
    want = want or Want()
    if not ctx.plans(node):
        ctx.decided(*decide(node, want, how_of(ctx.config)))
    if ctx.output_mode == "update":
        # chains of our own aggregates are exact; Spark's check knows only its own patterns
        ctx.settings["spark.sql.streaming.statefulOperator.checkCorrectness.enabled"] = "false"
    return _finished(lower_node(node, ctx, want), ctx)


def _finished(rel: Rel, ctx: Lowering) -> Rel:
    """Leave Spark's window out; its window_time is a microsecond before the end, Flink's a millisecond."""
    if not rel.windowed:
        return rel
    exprs = [
        f"date_trunc('MILLISECOND', {rel.sql(i)})" if f.type.time_attribute == "ROWTIME" else rel.sql(i)
        for i, f in enumerate(rel.fields)
    ]
    return project(rel.with_(windowed=False), rel.fields, exprs, ctx, "window_time")


def lower_for(
    node: Node,
    ctx: Lowering,
    accepts: Accepts,
    key: tuple[int, ...] = (),
    last_change: bool = False,
    conflict: str | None = None,
    arbitrated: bool = False,
) -> Rel:
    """Lower a query for a sink that takes append rows, upserts by key (kind append or upsert), or a changelog.

    ``last_change``: rows of one key are not arbitrated (``upsert-materialize`` is NONE), the last change of it wins;
    behind an operator, whose changes have no order of arrival, the last live row.
    ``conflict``: NOTHING or ERROR, where append rows may share a key. Raises FD552 where that cannot be held.
    ``arbitrated``: rows of several upsert keys meet at one key of the sink, and the one that came last stands
    (Flink's SinkUpsertMaterializer).
    """
    keyed = accepts == "upsert"
    ordered = last_change or arbitrated or conflict is not None
    rel = lower(node, ctx, Want(sequence=ordered, latest=keyed and bool(key) and not ordered))
    if conflict is not None:
        return _first_wins(node, rel, key, ctx, conflict)
    match accepts:
        case "append":
            if rel.kind != "append":
                message = (
                    "the rows of this query come out early and are corrected, which the append-only sink cannot take"
                )
                raise FlinkDdlError.of("FD648", message, node.span, "write into an upsert-kafka table")
            return rel
        case "changelog":
            return to_delta(rel, ctx)
    if rel.kind == "append":
        return rel
    if rel.kind == "upsert" and set(rel.key) == set(key):
        return rel
    if last_change and rel.sequence and _row_by_row(node):
        return to_upsert(last_changes(rel, key, ctx), ctx)
    if rel.kind == "upsert":
        rel = normalise(rel, ctx)
    if rel.kind == "pair" and rel.key and set(rel.key) == set(key):
        return to_upsert(rel, ctx).with_(key=key)
    return to_upsert(to_pair(rel, key, ctx), ctx)


_ROW_BY_ROW = (Filter, Project, Scan, Union, Unnest, Values)


def _first_wins(node: Node, rel: Rel, key: tuple[int, ...], ctx: Lowering, conflict: str) -> Rel:
    if rel.kind != "append" or not _row_by_row(node):
        message = f"ON CONFLICT DO {conflict} is available for rows that come straight from their source only"
        raise FlinkDdlError.of("FD552", message, node.span, "write ON CONFLICT DO DEDUPLICATE")
    ctx.output_mode = "update"
    return to_upsert(first_rows(rel, key, ctx, unequal_fails=conflict == "ERROR"), ctx)


def _row_by_row(node: Node) -> bool:
    return isinstance(node, _ROW_BY_ROW) and all(map(_row_by_row, node.inputs))
