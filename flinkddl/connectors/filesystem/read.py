"""The filesystem source.

Lines are decoded by the same kernels as Kafka messages, so that a file means what it means in Flink; parquet is Spark's
own reader. Partition values stand in folder names (``name=value``), which are read from the path of the file.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from flinkddl.connectors.filesystem.facts import LINES, projection
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.formats import Message, Wanted, decoder
from flinkddl.functions.core import string
from flinkddl.spark import job as J
from flinkddl.spark.context import ARRIVAL, SEQUENCE, WEIGHT, Kind, Lowering, Rel, unique_names
from flinkddl.spark.folders import plain_path
from flinkddl.sqltypes import quote, spark_type

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from flinkddl.connectors.base import PayloadField
    from flinkddl.options import ResolvedOptions
    from flinkddl.options.resolved import FormatOptions
    from flinkddl.plan.nodes import Scan

_ROW, _FILE, _LINE = "__row", "__file", "__line"


def _decoded(text: str) -> str:
    """Undo percent signs; ``+`` stays ``+``, and a percent sign that stands for nothing stays itself."""
    return f"coalesce(try_url_decode(replace({text}, '+', '%2B')), {text})"


# Spark gives a URI, Flink the path in it
_PATH = f"regexp_replace({_decoded('`_metadata`.`file_path`')}, '^[A-Za-z][A-Za-z0-9+.-]*:(//[^/]*)?', '')"
_FILE_METADATA: Mapping[str, str] = {
    "file.path": quote(_FILE),
    "file.name": f"regexp_extract({quote(_FILE)}, '[^/]*$', 0)",
    "file.size": "`_metadata`.`file_size`",
    "file.modification-time": "`_metadata`.`file_modification_time`",
}


def rows(node: Scan, ctx: Lowering, sequence: bool) -> Rel:
    """Lower a filesystem table to its physical and raw metadata columns. Raises FD657."""
    form = node.options.value_format
    name = form.name if form is not None else str(node.options["format"])
    fields = projection(node.table, node.options).value
    if name == "parquet":
        schema = ", ".join(f"{quote(f.name)} {spark_type(f.type)}" for f in fields)
        step = _files(node, "parquet", schema, ctx, [(f.name, quote(f.name)) for f in fields])
        return _columns(node, step, quote, (), sequence, ctx)
    if form is None or name not in LINES:
        raise FlinkDdlError.of("FD657", f"the format '{name}' cannot be read from files here", node.span)
    step = _files(node, "text", None, ctx, [(_LINE, f"CAST({_line(name)} AS BINARY)")])
    step, changes = _decode(node, form, fields, step, ctx)
    return _columns(node, step, lambda c: f"{_ROW}.{quote(c)}", (WEIGHT,) * changes, sequence, ctx)


def _line(name: str) -> str:
    """Return the text of a line. Files of csv may end lines by a lone CR, in others it is a part of the line."""
    return "`value`" if name == "csv" else "IF(endswith(`value`, '\\r'), left(`value`, length(`value`) - 1), `value`)"


def _files(node: Scan, format: str, schema: str | None, ctx: Lowering, columns: list[J.Named]) -> str:
    """Read the files of a table: what is in them, their path, Spark's facts about them."""
    options: ResolvedOptions = node.options
    spark = {"path": str(options["path"]), "recursiveFileLookup": "true"}
    if format == "text" and options.value_format is not None and options.value_format.name != "csv":
        spark["lineSep"] = "\n"
    read = J.Read(
        name=ctx.fresh(node.table.path.name),
        format=format,
        options=spark,
        streaming=ctx.streaming,
        schema=schema,
        table=str(node.table.path),
        note=f"filesystem table {node.table.path.name}",
    )
    with_path = (*columns, (_FILE, _PATH), ("_metadata", "`_metadata`"))
    name = ctx.fresh(f"{node.table.path.name}_files")
    step = ctx.add(J.Select(name=name, input=ctx.add(read).name, columns=with_path)).name
    wanted = [f"{quote(_FILE)} RLIKE {string(_folder(node))}"] if node.table.partition_keys else []
    if options["source.path.regex-pattern"]:
        wanted.append(f"{quote(_FILE)} RLIKE {string('^(?:' + options['source.path.regex-pattern'] + ')$')}")
    if not wanted:
        return step
    where = J.Where(name=ctx.fresh(f"{node.table.path.name}_wanted"), input=step, condition=" AND ".join(wanted))
    return ctx.add(where).name


def _folder(node: Scan, of: str | None = None) -> str:
    """Return the pattern of a path in a partition; with ``of``, a key, its value is the group.

    Other files are not read. The folders begin right below the table's path, as in Flink.
    """
    keys = node.table.partition_keys
    below = "".join(f"{re.escape(key)}=({'' if key == of else '?:'}[^/]*)/" for key in keys)
    return f"{re.escape(plain_path(str(node.options['path'])))}/{below}"


def _decode(
    node: Scan, form: FormatOptions, fields: tuple[PayloadField, ...], step: str, ctx: Lowering
) -> tuple[str, bool]:
    """Return the step with a row in ``__row`` for each row of a line, and whether those are changes."""
    spec = decoder(
        form,
        [(f.name, f.type) for f in fields],
        owner=f"table '{node.table.path.name}'",
        wanted=Wanted(parts=ctx.parts(node, fields)),
        message=Message(quote(_LINE), quote(_FILE), "0", "CAST(0 AS BIGINT)"),
        where=node.table.span,
    )
    rows = J.Select(
        name=ctx.fresh(f"{node.table.path.name}_rows"),
        input=step,
        columns=((_FILE, quote(_FILE)), ("_metadata", "`_metadata`")),
        generator=(f"explode({spec.expression})", (_ROW,)),
        note=spec.note,
    )
    return ctx.add(rows).name, spec.changelog == "delta"


def _columns(
    node: Scan, step: str, inside: Callable[[str], str], reserved: tuple[str, ...], sequence: bool, ctx: Lowering
) -> Rel:
    """Return the declared columns: from the file's rows (``inside`` says how), its folders, and its metadata."""
    kept = [(c, f) for c, f in zip(node.table.columns, node.fields, strict=True) if c.kind != "computed"]
    names = unique_names(c.name for c, _ in kept)
    columns: list[J.Named] = []
    for n, (c, f) in zip(names, kept, strict=True):
        if c.kind == "metadata":
            columns.append((n, _FILE_METADATA[c.metadata_key or c.name]))
        elif c.name in node.table.partition_keys:
            value = f"regexp_extract({quote(_FILE)}, {string(_folder(node, c.name))}, 1)"
            default = string(str(node.options["partition.default-name"]))
            columns.append((n, f"CAST(nullif({_decoded(value)}, {default}) AS {spark_type(f.type)})"))
        else:
            columns.append((n, inside(c.name)))
    columns += [(r, inside(r)) for r in reserved]
    if sequence:
        columns.append((SEQUENCE, ARRIVAL[ctx.streaming]))
    select = J.Select(name=ctx.fresh(f"{node.table.path.name}_columns"), input=step, columns=tuple(columns))
    kind: Kind = "delta" if reserved else "append"
    return Rel(ctx.add(select).name, names, tuple(f for _, f in kept), kind, sequence=sequence)
