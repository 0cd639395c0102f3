"""Sinks: a table's rows become a Spark sink's columns. Which changes reach it is decided before (plan, stream, batch).

Rules of the Kafka sinks: kafka-connectors reference, sections 4.9 to 4.11.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from flinkddl.connectors import connector
from flinkddl.functions.core import string
from flinkddl.options.installed import usable
from flinkddl.spark import job as J
from flinkddl.spark.base import same, select, where
from flinkddl.spark.context import DELETED, KIND_COLUMNS, SEQUENCE, Lowering, Rel
from flinkddl.spark.rowtime import is_rowtime, untimed
from flinkddl.sqltypes import Root, quote

if TYPE_CHECKING:
    from flinkddl.plan.nodes import Sink


def lower_sink(node: Sink, rel: Rel, ctx: Lowering) -> J.Write:
    """Lower the end of a query: ``rel`` holds the sink's fields in order, in a kind that the sink takes."""
    rel = _plain(rel, ctx)
    if node.table is None:
        rel = shown(_collectable(rel, ctx), ctx)
        return local(node, rel, ctx, "flinkddl.collect", {})
    rel = _enforced(node, rel, ctx)
    name = node.options.connector
    with usable(name):
        out: J.Write = import_module(connector(name).write).write(node, rel, ctx)
    return out


def _plain(rel: Rel, ctx: Lowering) -> Rel:
    """Bring rowtime columns back to TIMESTAMP_NTZ: a sink knows no time attributes."""
    if not any(is_rowtime(f.type) for f in rel.fields):
        return rel
    columns = [(c, untimed(quote(c), f.type)) for c, f in zip(rel.columns, rel.fields, strict=True)]
    return rel.with_(step=select(rel.step, [*columns, *same(rel.reserved)], ctx, "sink_columns"))


def _collectable(rel: Rel, ctx: Lowering) -> Rel:
    """Make intervals of months whole numbers of months: PySpark has no Python value for them."""
    months = {i for i, f in enumerate(rel.fields) if f.type.root is Root.INTERVAL_YEAR_MONTH}
    if not months:
        return rel
    columns = [
        (c, f"CAST(CAST({quote(c)} AS INTERVAL MONTH) AS INT)" if i in months else quote(c))
        for i, c in enumerate(rel.columns)
    ]
    return rel.with_(step=select(rel.step, [*columns, *same(rel.reserved)], ctx, "months"))


def shown(rel: Rel, ctx: Lowering) -> Rel:
    """Leave nothing but the columns and what tells row kinds: operators may carry more."""
    kept = (*rel.columns, *KIND_COLUMNS[rel.kind], *([SEQUENCE] if rel.sequence else []))
    return rel.with_(step=select(rel.step, same(kept), ctx, "shown"), windowed=False, watermark=False)


def _enforced(node: Sink, rel: Rel, ctx: Lowering) -> Rel:
    """Keep NULL out of NOT NULL columns as ``table.exec.sink.not-null-enforcer`` says: ERROR (default) or DROP."""
    checked = [i for i, f in enumerate(node.fields) if not f.type.nullable and node.input.fields[i].type.nullable]
    if not checked:
        return rel
    alive = f" AND NOT {quote(DELETED)}" if rel.kind == "upsert" else ""
    if ctx.config.table_exec_sink_not_null_enforcer == "DROP":
        complete = " AND ".join(f"{rel.sql(i)} IS NOT NULL" for i in checked)
        condition = f"({complete}) OR {quote(DELETED)}" if alive else complete
        return rel.with_(step=where(rel.step, condition, ctx, "not_null", "table.exec.sink.not-null-enforcer"))
    columns = []
    for i, column in enumerate(rel.columns):
        text = quote(column)
        if i in checked:
            message = string(f"column '{node.fields[i].name}' of '{node.target}' is NOT NULL, but got NULL")
            text = f"CASE WHEN {text} IS NULL{alive} THEN raise_error({message}) ELSE {text} END"
        columns.append((column, text))
    return rel.with_(step=select(rel.step, [*columns, *same(rel.reserved)], ctx, "not_null", "NOT NULL enforcement"))


def written(node: Sink, step: str, ctx: Lowering, format: str, options: dict[str, str], note: str = "") -> J.Write:
    """Return the write of a table's rows, which ``step`` has as the sink's columns."""
    return J.Write(
        name=node.target, input=step, format=format, options=options, mode=ctx.output_mode, table=node.target, note=note
    )


def local(node: Sink, rel: Rel, ctx: Lowering, format: str, options: dict[str, str]) -> J.Write:
    """Rows that the driver shows or collects: the columns, and what tells the row kinds apart."""
    key = rel.key if rel.kind == "upsert" else _upsert_key(node, ctx) if rel.kind == "delta" else None
    about = {} if key is None else {"key-columns": ";".join(rel.columns[i] for i in key)}
    return J.Write(
        name=node.target or "result",
        input=rel.step,
        format=format,
        options=options | about,
        mode=ctx.output_mode,
        table=node.target,
    )


def _upsert_key(node: Sink, ctx: Lowering) -> tuple[int, ...] | None:
    """Return the columns by which a row taken back and a new one are one update; none of a query that gives one row.

    None where the query has no key.
    """
    keys = sorted(map(sorted, ctx.sink.plan.input.keys if ctx.sink is not None else node.input.known_keys()), key=len)
    return tuple(keys[0]) if keys else None
