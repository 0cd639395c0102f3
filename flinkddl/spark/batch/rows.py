"""Batch lowering of what works row by row: constants, projection, filter, union, unnesting, grouping sets, scans."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.plan.nodes import Expand, Filter, Project, Scan, Union, Unnest, Values
from flinkddl.spark.base import constants, generate, names_of, project, same, select
from flinkddl.spark.batch.base import lower_node, lowers, renumber, where
from flinkddl.spark.batch.lateness import add_watermark
from flinkddl.spark.batch.tables import finished
from flinkddl.spark.context import NO_COLUMN, NOTHING, SEQUENCE, SEQUENCE_STEP, WATERMARK, Rel
from flinkddl.spark.expressions import condition_to_spark, to_spark
from flinkddl.spark.job import Rows, UnionAll
from flinkddl.spark.scan import lower_scan
from flinkddl.spark.unnest import elements, generator, grouping_copies
from flinkddl.sqltypes import quote, spark_type

if TYPE_CHECKING:
    from flinkddl.plan.nodes import Node
    from flinkddl.plan.nodes.forms import Traits
    from flinkddl.spark.context import Lowering
    from flinkddl.spark.job import Named


@lowers(Scan)
def lower_scan_node(node: Scan, ctx: Lowering, asked: Traits) -> Rel:
    """Read a table, materialised; a wanted watermark is recomputed from the rows in order of arrival."""
    rel = finished(lower_scan(node, ctx, sequence=asked.sequence or asked.watermark), ctx)
    return add_watermark(node, rel, ctx) if asked.watermark else rel


@lowers(Values)
def lower_values(node: Values, ctx: Lowering, asked: Traits) -> Rel:
    """Write constant rows as one array, exploded: a single task keeps their order, which is that of arrival."""
    columns = names_of(node.fields)
    rows = []
    for n, items in enumerate(constants(node, columns, ctx)):
        items += [f"{n * SEQUENCE_STEP}L AS {SEQUENCE}"] * asked.sequence
        items += [f"CAST(NULL AS BIGINT) AS {WATERMARK}"] * asked.watermark
        rows.append(", ".join(items or [NOTHING]))
    if not node.rows:
        query = f"SELECT {rows[0]} WHERE FALSE"
    elif len(rows) == 1:
        query = f"SELECT {rows[0]}"
    else:
        names = [*map(quote, columns), *[SEQUENCE] * asked.sequence, *[WATERMARK] * asked.watermark] or [NO_COLUMN]
        query = f"SELECT inline(array({', '.join(f'struct({r})' for r in rows)})) AS ({', '.join(names)})"
    step = ctx.add(Rows(name=ctx.fresh("values"), query=query))
    return Rel(step.name, columns, node.fields, sequence=asked.sequence, watermark=asked.watermark)


@lowers(Project, Filter)
def lower_row_by_row(node: Project | Filter, ctx: Lowering, asked: Traits) -> Rel:
    """Compute one expression per field, or keep the rows for which the condition is TRUE.

    Changes of a CDC table meet each other after that: a metadata column which nobody asks for must not keep the row
    that takes another back apart from it.
    """
    if _is_changes(node) and not asked.watermark:
        return finished(_changes(node, ctx, asked), ctx)
    return _row_by_row(node, lower_node(node.input, ctx, asked), ctx)


def _row_by_row(node: Project | Filter, rel: Rel, ctx: Lowering) -> Rel:
    if isinstance(node, Filter):
        return where(rel, condition_to_spark(node.condition, rel.columns, ctx.zone), ctx, "filter", "Filter")
    exprs = [to_spark(rex, rel.columns, ctx.zone) for rex in node.exprs]
    return project(rel, node.fields, exprs, ctx, "project", "Project")


def _is_changes(node: Node) -> bool:
    if isinstance(node, Project | Filter):
        return _is_changes(node.input)
    if not isinstance(node, Scan) or node.normalised:
        return False
    chosen = getattr(node.options, "value_format", None)
    return chosen is not None and not chosen.insert_only


def _changes(node: Node, ctx: Lowering, asked: Traits) -> Rel:
    if isinstance(node, Project | Filter):
        return _row_by_row(node, _changes(node.input, ctx, asked), ctx)
    assert isinstance(node, Scan)
    return lower_scan(node, ctx, sequence=asked.sequence)


@lowers(Union)
def lower_union(node: Union, ctx: Lowering, asked: Traits) -> Rel:
    """Put the parts one after the other; the order among different sources means nothing, in Flink neither."""
    columns = names_of(node.fields)
    steps = tuple(_aligned(lower_node(part, ctx, asked), columns, node, ctx, asked) for part in node.parts)
    step = ctx.add(UnionAll(name=ctx.fresh("union"), parts=steps, note="Union"))
    return Rel(step.name, columns, node.fields, sequence=asked.sequence, watermark=asked.watermark)


def _aligned(rel: Rel, columns: tuple[str, ...], node: Union, ctx: Lowering, asked: Traits) -> str:
    """Select a part's columns in union order with the union's types, so that by-position union never widens."""
    pairs = enumerate(zip(columns, node.fields, strict=True))
    exprs: list[Named] = [(name, f"CAST({rel.sql(i)} AS {spark_type(f.type)})") for i, (name, f) in pairs]
    if asked.sequence:
        exprs.append((SEQUENCE, SEQUENCE if rel.sequence else "CAST(0 AS BIGINT)"))
    if asked.watermark:
        exprs.append((WATERMARK, WATERMARK if rel.watermark else "CAST(NULL AS BIGINT)"))
    return select(rel.step, exprs, ctx, "part")


@lowers(Expand)
def lower_expand(node: Expand, ctx: Lowering, asked: Traits) -> Rel:
    """Make one copy of the row per grouping set, with the other keys NULL and the set's mask last."""
    rel = lower_node(node.input, ctx, asked)
    columns = names_of(node.fields)
    copies = (f"inline({grouping_copies(node, rel)})", columns)
    step = generate(rel.step, same(rel.reserved), copies, ctx, "expand", "Expand: grouping sets")
    return rel.with_(step=step, columns=columns, fields=node.fields)


@lowers(Unnest)
def lower_unnest(node: Unnest, ctx: Lowering, asked: Traits) -> Rel:
    """Make one row per element; with a condition the elements are filtered before a LEFT JOIN pads."""
    rel = lower_node(node.input, ctx, asked)
    added = node.fields[len(rel.fields) :]
    columns = names_of(added, rel.columns)
    array = elements(node, rel.columns, ctx.zone)
    if asked.sequence:
        array = _numbered(array, len(added))
    rows = (f"{generator(node)}({array})", columns + ("__pos",) * asked.sequence)
    step = generate(rel.step, same((*rel.columns, *rel.reserved)), rows, ctx, "unnest", "Unnest")
    out = rel.with_(step=step, columns=rel.columns + columns, fields=node.fields)
    return renumber(out, [SEQUENCE, "__pos"], ctx, "one row became several") if asked.sequence else out


def _numbered(elements: str, width: int) -> str:
    """Add the element's position to an array of structs c0, c1 ..."""
    parts = ", ".join([f"e.{quote(f'c{i}')} AS {quote(f'c{i}')}" for i in range(width)] + ["i AS __pos"])
    return f"transform({elements}, (e, i) -> struct({parts}))"
