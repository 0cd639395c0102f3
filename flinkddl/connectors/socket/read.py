"""The socket source: Spark's own, which reads lines, and our kernels that decode them, as they do Kafka's messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.connectors.base import all_values
from flinkddl.formats import Message, Wanted, decoder
from flinkddl.spark import job as J
from flinkddl.spark.context import ARRIVAL, SEQUENCE, WEIGHT, Lowering, Rel, unique_names
from flinkddl.sqltypes import quote

if TYPE_CHECKING:
    from flinkddl.plan.nodes import Scan
    from flinkddl.spark.context import Kind

_ROW = "__row"
_LINE = Message("CAST(`value` AS BINARY)", "CAST(NULL AS STRING)", "0", "CAST(0 AS BIGINT)")


def rows(node: Scan, ctx: Lowering, sequence: bool) -> Rel:
    """Lower a socket table to its physical columns: one task, so that lines stay in their order."""
    options, name = node.options, node.table.path.name
    read = J.Read(
        name=ctx.fresh(name),
        format="socket",
        options={"host": str(options["hostname"]), "port": str(options["port"]), "numPartitions": "1"},
        streaming=True,
        once=True,
        table=str(node.table.path),
        note=f"socket table {name}",
    )
    fields = all_values(node.table, options).value
    assert options.value_format is not None  # a required option
    spec = decoder(
        options.value_format,
        [(f.name, f.type) for f in fields],
        owner=f"line of table '{name}'",
        wanted=Wanted(parts=ctx.parts(node, fields)),
        message=_LINE,
        where=node.table.span,
    )
    decoded = J.Select(
        name=ctx.fresh(f"{name}_rows"),
        input=ctx.add(read).name,
        columns=(),
        generator=(f"explode({spec.expression})", (_ROW,)),
        note=spec.note,
    )
    ctx.settings.update(spec.secrets)
    names = unique_names(f.name for f in fields)
    columns = [(n, f"{_ROW}.{quote(f.name)}") for n, f in zip(names, fields, strict=True)]
    kind: Kind = "delta" if spec.changelog == "delta" else "append"
    columns += [(WEIGHT, f"{_ROW}.{quote(WEIGHT)}")] * (kind == "delta")
    columns += [(SEQUENCE, ARRIVAL[ctx.streaming])] * sequence
    select = J.Select(name=ctx.fresh(f"{name}_columns"), input=ctx.add(decoded).name, columns=tuple(columns))
    kept = tuple(f for f, c in zip(node.fields, node.table.columns, strict=True) if c.kind == "physical")
    return Rel(ctx.add(select).name, names, kept, kind, sequence=sequence)
