"""Batch lowering of GROUP BY, SELECT DISTINCT, ORDER BY and LIMIT."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from flinkddl.plan.nodes import Aggregate, Sort
from flinkddl.plan.nodes.forms import Traits
from flinkddl.spark.base import extend, group, names_of, project
from flinkddl.spark.batch import text
from flinkddl.spark.batch.base import UP_TO_HERE, lower_node, lowers, over, where
from flinkddl.spark.context import SEQUENCE, Rel
from flinkddl.spark.job import DropDuplicates, Limit, OrderBy, SortKey
from flinkddl.spark.lateness import drop_late
from flinkddl.sqltypes import comparable

if TYPE_CHECKING:
    from flinkddl.spark.context import Lowering
    from flinkddl.spark.job import Named


@lowers(Aggregate)
def lower_aggregate(node: Aggregate, ctx: Lowering, asked: Traits) -> Rel:
    """Group; a streaming job gives no row for a global aggregate over nothing, batch mode said aloud gives one."""
    ordered = asked.sequence or any(text.needs_order(c) for c in node.aggs)
    rel = lower_node(node.input, ctx, Traits(sequence=ordered))
    if not node.aggs and not asked.sequence:
        return _distinct(node, rel, ctx)
    columns = names_of(node.fields)
    arrival, step = rel, rel.step
    if asked.sequence:
        step = _changes(node, rel, ctx)
    keys = [(name, arrival.sql(k)) for name, k in zip(columns, node.keys, strict=False)]
    order = SEQUENCE if ordered else None
    known = text.constants(node.input)
    calls = zip(columns[len(keys) :], node.aggs, strict=True)
    aggs: list[Named] = [(name, text.aggregate(call, rel, ctx, order, known)) for name, call in calls]
    if asked.sequence:
        aggs.append((SEQUENCE, "max(__changed)"))
    only_if_rows = not node.keys and not ctx.config.batch
    if only_if_rows:
        aggs.append(("__rows", "count(1)"))
    out = Rel(group(step, keys, aggs, ctx, "aggregate", "Aggregate"), columns, node.fields, sequence=asked.sequence)
    return (
        where(out, "__rows > 0", ctx, "aggregate_rows", "streaming: no row before the first one")
        if only_if_rows
        else out
    )


def _distinct(node: Aggregate, rel: Rel, ctx: Lowering) -> Rel:
    rel = project(rel, node.fields, [rel.sql(k) for k in node.keys], ctx, "keys")
    step = ctx.add(DropDuplicates(name=ctx.fresh("distinct"), input=rel.step, columns=rel.columns, note="Aggregate"))
    return rel.with_(step=step.name)


def _changes(node: Aggregate, rel: Rel, ctx: Lowering) -> str:
    """Add ``__changed``: the row's ``__seq`` where it changed its group's result, else NULL.

    A group's row arrives anew only when its values change (Flink compares before it emits), so its place in the
    order of arrival is that of its last change.
    """
    if not all(not c.distinct and comparable(c.type) for c in node.aggs):
        return extend(rel, [("__changed", SEQUENCE)], ctx, "changes")
    partition = [rel.sql(k) for k in node.keys]
    running = over(partition, [SEQUENCE], UP_TO_HERE)
    known = text.constants(node.input)
    now = ", ".join(text.aggregate(c, rel, ctx, SEQUENCE, known, running) for c in node.aggs)
    step = extend(rel, [("__now", f"struct({now})" if now else "TRUE")], ctx, "running", "results row by row")
    before = f"lag(__now) {over(partition, [SEQUENCE])}"
    first = f"row_number() {over(partition, [SEQUENCE])} = 1"
    changed = f"CASE WHEN {first} OR __now IS DISTINCT FROM {before} THEN {SEQUENCE} END"
    return extend(rel.with_(step=step), [("__changed", changed)], ctx, "changes", "where a result changed")


@lowers(Sort)
def lower_sort(node: Sort, ctx: Lowering, asked: Traits) -> Rel:
    """ORDER BY with or without LIMIT: on equal keys, and without keys, the earlier row comes first."""
    limited = node.fetch is not None or node.offset > 0
    late = bool(node.order) and not limited and node.input.late
    rel = lower_node(node.input, ctx, replace(asked, sequence=True, watermark=late))
    if late:
        rel = drop_late(rel, node.order[0].index, ctx)
    keys = (*(SortKey(rel.sql(k.index), k.descending, k.nulls_first) for k in node.order), SortKey(SEQUENCE))
    step = ctx.add(OrderBy(name=ctx.fresh("sort"), input=rel.step, keys=keys, note="Sort")).name
    if limited:
        step = ctx.add(Limit(name=ctx.fresh("limit"), input=step, fetch=node.fetch, offset=node.offset)).name
    return rel.with_(step=step)
