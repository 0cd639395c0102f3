"""The filesystem sink: lines by the kernels of Kafka messages, Spark's own parquet; partitions as folders."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from flinkddl.connectors.filesystem.facts import LINES, projection
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.formats import encoder
from flinkddl.functions.core import string
from flinkddl.plan.nodes import Scan
from flinkddl.spark import job as J
from flinkddl.spark.folders import plain_path
from flinkddl.spark.sink import written
from flinkddl.sqltypes import Root

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flinkddl.options import ResolvedOptions
    from flinkddl.plan.nodes import Node, Sink
    from flinkddl.spark.context import Lowering, Rel
    from flinkddl.sqltypes import DataType


def write(node: Sink, rel: Rel, ctx: Lowering) -> J.Write:
    """Lower a filesystem sink: one line a row, or parquet; partitions as folders ``name=value``. Raises FD657."""
    options: ResolvedOptions = node.options
    assert node.table is not None
    columns = {c.name: (rel.sql(i), c.type) for i, c in enumerate(node.table.persisted)}
    parts = node.table.partition_keys
    if node.overwrite:
        _check_overwrite(node, node)
    default = string(str(options["partition.default-name"]))
    folders = [(p, f"coalesce(nullif({_folder(*columns[p])}, ''), {default})") for p in parts]
    texts = {c: text for c, (text, _) in columns.items()}
    if parquet := _is_parquet(options):
        record = [(c, text) for c, text in texts.items() if c not in parts]
    else:
        record = [("value", _line(node, texts))]
    note = f"filesystem table {node.table.path.name}"
    select = J.Select(name=ctx.fresh("lines"), input=rel.step, columns=(*record, *folders), note=note)
    spark = {"path": str(options["path"]), **_writer_properties(options)}
    out = written(node, ctx.add(select).name, ctx, "parquet" if parquet else "text", spark, note)
    return replace(out, partitions=tuple(parts), overwrite=node.overwrite)


def _is_parquet(options: ResolvedOptions) -> bool:
    return options.value_format is not None and options.value_format.name == "parquet"


def _line(node: Sink, texts: Mapping[str, str]) -> str:
    """Return a row as a line. Raises FD657 for a format without lines."""
    form = node.options.value_format
    if form is None or form.name not in LINES:
        name = form.name if form is not None else node.options["format"]
        raise FlinkDdlError.of("FD657", f"the format '{name}' cannot be written to files here", node.span)
    if form.name == "csv":  # Flink's writer of csv files always strips decimals, whatever the option says
        key = "write-bigdecimal-in-scientific-notation"
        form = replace(form, options={**form.options, key: True}, given=form.given | {key})
    assert node.table is not None
    fields = projection(node.table, node.options).value
    named, values = [(f.name, f.type) for f in fields], [texts[f.column] for f in fields]
    spec = encoder(form, named, owner=f"table '{node.target}'", values=values)
    return f"CAST({spec.expression} AS STRING)"


def _writer_properties(options: ResolvedOptions) -> dict[str, str]:
    """Return the properties of the Parquet writer, which Spark takes under the names that Flink has for them."""
    if not _is_parquet(options):
        return {}
    return {k: t.value for k, t in options.texts.items() if k.startswith("parquet.") and k not in _OF_TIMES}


_OF_TIMES = ("parquet.utc-timezone", "parquet.timestamp.time.unit", "parquet.write.int64.timestamp")


def _check_overwrite(sink: Sink, node: Node) -> None:
    """Refuse to overwrite what the same query reads: Spark removes the files before it reads them. Raises FD658."""
    if isinstance(node, Scan) and node.options is not None and node.options.connector == "filesystem":
        target, source = (plain_path(str(x.options["path"])) + "/" for x in (sink, node))
        if target.startswith(source) or source.startswith(target):
            message = f"'{sink.target}' is overwritten while its files are read"
            help = "write into another table, then INSERT OVERWRITE from that"
            raise FlinkDdlError.of("FD658", message, sink.span, help)
    for below in node.inputs:
        _check_overwrite(sink, below)


def _folder(text: str, t: DataType | None) -> str:
    """Return a partition's value as a folder name: Spark's text of it; of a timestamp, Java's, as Flink has it."""
    if t is None or t.root is not Root.TIMESTAMP:
        return f"CAST({text} AS STRING)"
    minute = f"date_format({text}, \"yyyy-MM-dd'T'HH:mm\")"
    micros = f"unix_micros(CAST({text} AS TIMESTAMP))"
    rest = (
        f"CASE WHEN {micros} % 60000000 = 0 THEN '' WHEN {micros} % 1000000 = 0 THEN date_format({text}, ':ss') "
        f"WHEN {micros} % 1000 = 0 THEN date_format({text}, ':ss.SSS') ELSE date_format({text}, ':ss.SSSSSS') END"
    )
    return f"concat({minute}, {rest})"
