"""The filesystem and jdbc sinks: lines by the kernels of Kafka messages, Spark's own parquet, keyed upserts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.connectors import connector
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.formats import encoder
from flinkddl.lower import job as J
from flinkddl.lower.context import DELETED, Lowering, Rel
from flinkddl.sqltypes import quote

if TYPE_CHECKING:
    from flinkddl.options import ResolvedOptions
    from flinkddl.plan.nodes import Sink


def filesystem_write(node: Sink, rel: Rel, ctx: Lowering) -> J.Write:
    """Lower a filesystem sink: one line a row for csv and json, partitions as folders ``name=value``."""
    options: ResolvedOptions = node.options
    assert node.table is not None
    form = options.value_format
    name = form.name if form is not None else str(options["format"])
    columns = {c.name: rel.sql(i) for i, c in enumerate(node.table.persisted)}
    parts = node.table.partition_keys
    default = options["partition.default-name"]
    folders = [(p, f"coalesce(CAST({columns[p]} AS STRING), '{default}')") for p in parts]
    if name == "parquet":
        record = [(c, text) for c, text in columns.items() if c not in parts]
    elif form is not None and name in ("csv", "json"):
        fields = connector("filesystem").projection(node.table, options).value
        spec = encoder(
            form,
            [(f.name, f.type) for f in fields],
            owner=f"table '{node.target}'",
            values=[columns[f.column] for f in fields],
        )
        record = [("value", f"CAST({spec.expression} AS STRING)")]
    else:
        raise FlinkDdlError.of("FD657", f"the format '{name}' cannot be written to files here", node.span)
    note = f"filesystem table {node.table.path.name}"
    select = J.Select(name=ctx.fresh("lines"), input=rel.step, columns=(*record, *folders), note=note)
    spark = {"path": str(options["path"])}
    if parts:
        spark["flinkddl.partitionBy"] = ",".join(parts)
    if node.overwrite:
        spark["flinkddl.mode"] = "overwrite"
    return J.Write(
        name=node.target,
        input=ctx.add(select).name,
        format="parquet" if name == "parquet" else "text",
        options=spark,
        mode=ctx.output_mode,
        table=node.target,
        note=note,
    )


def jdbc_write(node: Sink, rel: Rel, ctx: Lowering) -> J.Write:
    """Lower a jdbc sink: upsert and delete by PRIMARY KEY where there is one, insert otherwise."""
    options: ResolvedOptions = node.options
    assert node.table is not None
    columns = [(c.name, rel.sql(i)) for i, c in enumerate(node.table.persisted)]
    if rel.kind == "upsert":
        columns.append((DELETED, quote(DELETED)))
    step = J.Select(name=ctx.fresh("rows"), input=rel.step, columns=tuple(columns))
    about = {
        "url": str(options["url"]),
        "table": str(options["table-name"]),
        "user": str(options["username"] or ""),
        "password": str(options["password"] or ""),
        "driver": str(options["driver"] or ""),
        "key": ",".join(node.table.primary_key.columns) if node.table.primary_key else "",
    }
    return J.Write(
        name=node.target,
        input=ctx.add(step).name,
        format="flinkddl.jdbc",
        options=about,
        mode=ctx.output_mode,
        table=node.target,
    )
