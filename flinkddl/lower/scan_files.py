"""The filesystem and jdbc sources.

Lines of csv and json files are decoded by the same kernels as Kafka messages, so that a file means what it means in
Flink; parquet is Spark's own reader.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.connectors import connector
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.formats import decoder
from flinkddl.lower import job as J
from flinkddl.lower.context import SEQUENCE, WEIGHT, Kind, Lowering, Rel, unique_names
from flinkddl.sqltypes import quote, spark_type

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flinkddl.options import ResolvedOptions
    from flinkddl.plan.nodes import Scan

_ROW = "__row"
_FILE_METADATA: Mapping[str, str] = {
    "file.path": "`_metadata`.`file_path`",
    "file.name": "`_metadata`.`file_name`",
    "file.size": "`_metadata`.`file_size`",
    "file.modification-time": "`_metadata`.`file_modification_time`",
}


def filesystem_rows(node: Scan, ctx: Lowering, sequence: bool) -> Rel:
    """Lower a filesystem table to its physical and raw metadata columns."""
    options: ResolvedOptions = node.options
    form = options.value_format
    name = form.name if form is not None else str(options["format"])
    if name == "parquet":
        return _parquet(node, ctx, sequence)
    if form is None or name not in ("csv", "json"):
        raise FlinkDdlError.of("FD657", f"the format '{name}' cannot be read from files here", node.span)
    read = ctx.add(_read(node, "text", {"wholetext": "false", "recursiveFileLookup": "true"}, None, ctx))
    parts = set(node.table.partition_keys)
    fields = [(p.name, p.type) for p in connector("filesystem").projection(node.table, options).value]
    place = ("`__file`", "0", "CAST(0 AS BIGINT)")
    lines = J.Select(
        name=ctx.fresh(f"{node.table.path.name}_lines"),
        input=read.name,
        columns=(
            ("__line", "CAST(`value` AS BINARY)"),
            ("__file", "`_metadata`.`file_path`"),
            ("_metadata", "`_metadata`"),
        ),
    )
    spec = decoder(
        form,
        fields,
        owner=f"table '{node.table.path.name}'",
        column="`__line`",
        place=place,
        where=node.table.span,
    )
    rows = J.Select(
        name=ctx.fresh(f"{node.table.path.name}_rows"),
        input=ctx.add(lines).name,
        columns=(("__file", "`__file`"), ("_metadata", "`_metadata`")),
        generator=(f"explode({spec.expression})", (_ROW,)),
    )
    kept = [(c, f) for c, f in zip(node.table.columns, node.fields, strict=True) if c.kind != "computed"]
    names = unique_names(c.name for c, _ in kept)
    columns = []
    for n, (c, f) in zip(names, kept, strict=True):
        if c.kind == "metadata":
            columns.append((n, _FILE_METADATA[c.metadata_key or c.name]))
        elif c.name in parts:
            # Hive-style folders: .../name=value/...; the default name stands for NULL.
            value = f"regexp_extract(`__file`, '/{c.name}=([^/]*)/', 1)"
            default = options["partition.default-name"]
            columns.append((n, f"CAST(nullif(url_decode({value}), '{default}') AS {spark_type(f.type)})"))
        else:
            columns.append((n, f"{_ROW}.{quote(c.name)}"))
    if spec.changelog == "delta":
        columns.append((WEIGHT, f"{_ROW}.{quote(WEIGHT)}"))
    if sequence:
        columns.append((SEQUENCE, "monotonically_increasing_id()"))
    select = J.Select(
        name=ctx.fresh(f"{node.table.path.name}_columns"), input=ctx.add(rows).name, columns=tuple(columns)
    )
    kind: Kind = "delta" if spec.changelog == "delta" else "append"
    return Rel(ctx.add(select).name, names, tuple(f for _, f in kept), kind, sequence=sequence)


def _parquet(node: Scan, ctx: Lowering, sequence: bool) -> Rel:
    kept = [(c, f) for c, f in zip(node.table.columns, node.fields, strict=True) if c.kind != "computed"]
    names = unique_names(c.name for c, _ in kept)
    schema = ", ".join(f"{quote(c.name)} {spark_type(c.type)}" for c in node.table.physical if c.type is not None)
    read = ctx.add(_read(node, "parquet", {}, schema, ctx))
    columns = [
        (n, quote(c.name) if c.kind == "physical" else _FILE_METADATA[c.metadata_key or c.name])
        for n, (c, _) in zip(names, kept, strict=True)
    ]
    if sequence:
        columns.append((SEQUENCE, "monotonically_increasing_id()"))
    select = J.Select(name=ctx.fresh(f"{node.table.path.name}_columns"), input=read.name, columns=tuple(columns))
    return Rel(ctx.add(select).name, names, tuple(f for _, f in kept), sequence=sequence)


def _read(node: Scan, format: str, options: dict[str, str], schema: str | None, ctx: Lowering) -> J.Read:
    return J.Read(
        name=ctx.fresh(node.table.path.name),
        format=format,
        options=options | {"path": str(node.options["path"])},
        streaming=ctx.streaming and node.options["source.monitor-interval"] is not None,
        schema=schema,
        table=str(node.table.path),
        note=f"filesystem table {node.table.path.name}",
    )


def jdbc_rows(node: Scan, ctx: Lowering, sequence: bool) -> Rel:
    """Lower a jdbc table: Spark's own reader over the table's columns."""
    options: ResolvedOptions = node.options
    physical = [(c, f) for c, f in zip(node.table.columns, node.fields, strict=True) if c.kind == "physical"]
    spark = {"url": str(options["url"]), "dbtable": str(options["table-name"])}
    for ours, theirs in (("username", "user"), ("password", "password"), ("driver", "driver")):
        if options[ours]:
            spark[theirs] = str(options[ours])
    if options["scan.partition.column"]:
        spark |= {
            "partitionColumn": str(options["scan.partition.column"]),
            "numPartitions": str(options["scan.partition.num"]),
            "lowerBound": str(options["scan.partition.lower-bound"]),
            "upperBound": str(options["scan.partition.upper-bound"]),
        }
    read = J.Read(
        name=ctx.fresh(node.table.path.name),
        format="jdbc",
        options=spark,
        streaming=False,
        table=str(node.table.path),
        note=f"jdbc table {node.table.path.name}",
    )
    names = unique_names(c.name for c, _ in physical)
    columns = [(n, f"CAST({quote(c.name)} AS {spark_type(f.type)})") for n, (c, f) in zip(names, physical, strict=True)]
    if sequence:
        columns.append((SEQUENCE, "monotonically_increasing_id()"))
    select = J.Select(
        name=ctx.fresh(f"{node.table.path.name}_columns"), input=ctx.add(read).name, columns=tuple(columns)
    )
    return Rel(ctx.add(select).name, names, tuple(f for _, f in physical), sequence=sequence)
