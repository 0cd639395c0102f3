"""A DataFrame of the user's own as a table: its columns in the types that were declared for them.

In a streaming run a batch DataFrame is a stream that ends: the runtime writes it down once and reads what it wrote.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.functions.core import string
from flinkddl.spark import job as J
from flinkddl.spark.context import KIND, SEQUENCE, WEIGHT, Lowering, Rel, unique_names
from flinkddl.sqltypes import Root, quote, spark_type

if TYPE_CHECKING:
    from flinkddl.options import ResolvedOptions
    from flinkddl.plan.nodes import Scan
    from flinkddl.spark.context import Kind
    from flinkddl.sqltypes import DataType

# A stream has no order within a micro-batch; its time, which replays keep, tells one batch from the next.
_ARRIVAL = {True: "unix_millis(current_timestamp())", False: "monotonically_increasing_id()"}
MILLIS = 3


def rows(node: Scan, ctx: Lowering, sequence: bool) -> Rel:
    """Lower a DataFrame to its physical columns; computed ones are the caller's."""
    options: ResolvedOptions = node.options
    bounded = bool(options["bounded"])
    read = J.Read(
        name=ctx.fresh(node.table.path.name),
        format=J.FRAME,
        options={"frame": str(options["frame"]), "written": str(ctx.streaming and bounded).lower()},
        streaming=ctx.streaming,
        table=str(node.table.path),
        note=_note(node, bounded, ctx.streaming),
    )
    physical = [(c, f) for c, f in zip(node.table.columns, node.fields, strict=True) if c.kind == "physical"]
    names = unique_names(c.name for c, _ in physical)
    columns = [(n, _value(quote(c.name), c.type)) for n, (c, _) in zip(names, physical, strict=True) if c.type]
    changes = options["changelog"]
    if changes:
        columns.append((WEIGHT, _weight(quote(str(changes)), node.table.path.name)))
    if sequence:
        columns.append((SEQUENCE, _ARRIVAL[ctx.streaming]))
    kinds = bool(changes) and ctx.row_kinds
    if kinds:
        columns.append((KIND, quote(str(changes))))
    select = J.Select(name=ctx.fresh(f"{read.name}_columns"), input=ctx.add(read).name, columns=tuple(columns))
    fields = tuple(f for _, f in physical)
    kind: Kind = "delta" if changes else "append"
    return Rel(ctx.add(select).name, names, fields, kind, sequence=sequence, kinds=kinds)


def _note(node: Scan, bounded: bool, streaming: bool) -> str:
    name = node.table.path.name
    if not bounded:
        return f"DataFrame {name}: restarts and exactly-once reach as far as its own source goes"
    written = ", written down once below the checkpoint and read as a stream" if streaming else ""
    return f"batch DataFrame {name}{written}"


def _value(sql: str, t: DataType) -> str:
    """Return a column; a time is cut to the milliseconds that a time attribute has."""
    cut = t.root in (Root.TIMESTAMP, Root.TIMESTAMP_LTZ) and t.precision == MILLIS
    return f"CAST(date_trunc('MILLISECOND', {sql}) AS {spark_type(t)})" if cut else sql


def _weight(kind: str, name: str) -> str:
    """Return a change's weight; a row kind that is none fails the job."""
    text = string(f" in the changelog of {name}: it takes +I, -U, +U, -D")
    failure = f"raise_error(concat('row kind ', coalesce({kind}, 'NULL'), {text}))"
    return f"CASE WHEN {kind} IN ('+I', '+U') THEN 1 WHEN {kind} IN ('-U', '-D') THEN -1 ELSE {failure} END"
