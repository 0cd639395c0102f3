"""What a program asks of the catalog by name: a table's path, columns, all tables. And DataFrames declared in it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flinkddl.catalog.model import Table
from flinkddl.connectors.dataframe.facts import SOURCE_NAME
from flinkddl.diagnostics import FlinkDdlError, SourceText
from flinkddl.plan.builder.hooks import context_of
from flinkddl.plan.builder.tables import resolve_table
from flinkddl.runtime.bridge import view_names
from flinkddl.runtime.dataframes import declaration, insertion, match_columns, spark_schema
from flinkddl.script.compile import Start, compile_script
from flinkddl.spark.context import ROW_KIND
from flinkddl.spark.frames import result_fields
from flinkddl.sqltypes import QUOTED, quote, unquote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from flinkddl.catalog.model import ObjectPath
    from flinkddl.catalog.state import Catalog
    from flinkddl.runtime.bridge import Bridge
    from flinkddl.script.compile import Compiled


@dataclass(frozen=True)
class TableInfo:
    """A table or view: where it stands, and how Spark sees it.

    ``view`` is the name of its temp view in the session, None where there is none; ``streaming`` says what that is;
    ``reason`` why there is none, once it was tried.
    """

    name: str
    catalog: str
    database: str
    kind: str
    temporary: bool
    view: str | None = None
    streaming: bool | None = None
    reason: str | None = None


def parse_name(text: str) -> tuple[str, ...]:
    """Return the parts of ``name``, ``db.name`` or ``cat.db.name``; back-ticks keep a part whole."""
    found = re.findall(rf"{QUOTED}|([^.`]+)", text)
    return tuple(unquote(quoted) or plain.strip() for quoted, plain in found)


def find(catalog: Catalog, name: str) -> ObjectPath:
    """Return the path of a table or view. Raises FD301 with a did-you-mean for one that is not there."""
    parts = parse_name(name)
    item = catalog.find(parts) if parts else None
    if item is None:
        help = catalog.nearest(parts) if parts else None
        raise FlinkDdlError.of("FD301", f"table or view '{name}' does not exist", help=help)
    return item.path


def schema_of(catalog: Catalog, name: str) -> StructType:
    """Return the columns of a table or view in Spark's types. Raises FlinkDdlError."""
    path = find(catalog, name)
    item = catalog.get(path)
    if isinstance(item, Table):
        return spark_schema(resolve_table(item, context_of(catalog)).fields)
    return spark_schema(result_fields(catalog, path))


def table_infos(catalog: Catalog, bridge: Bridge) -> tuple[TableInfo, ...]:
    """Return every table and view, sorted by path."""
    out = []
    for name, item in view_names(catalog):
        made = bridge.view_of(name)
        info = TableInfo(
            item.path.name,
            item.path.catalog,
            item.path.database,
            "TABLE" if isinstance(item, Table) else "VIEW",
            item.temporary,
            None if made is None else name,
            None if made is None else made.frame.streaming,
            bridge.reason(name),
        )
        out.append(info)
    return tuple(sorted(out, key=lambda i: (i.catalog, i.database, i.name)))


def declare(
    catalog: Catalog,
    name: str,
    df: DataFrame,
    watermark: str | None = None,
    primary_key: tuple[str, ...] = (),
    changelog: str | None = None,
) -> Catalog:
    """Return the catalog with a DataFrame as a temporary table of the current database. Raises FlinkDdlError."""
    ddl = declaration(
        name,
        df.schema,
        bounded=not df.isStreaming,
        watermark=watermark,
        primary_key=primary_key,
        changelog=changelog,
    )
    before = catalog.temporary.get(catalog.path((name,)))
    if isinstance(before, Table) and before.span is not None and before.span.source.name == SOURCE_NAME:
        catalog = catalog.without_object(before)
    # the probe is a use: what is wrong with the watermark or the key is said now
    return _compiled(catalog, f"{ddl}\nSELECT * FROM {quote(name)};").catalog


def written(catalog: Catalog, df: DataFrame, table: str) -> tuple[Start, str]:
    """Return the job that writes a DataFrame into a table, and the name it reads the DataFrame by.

    Raises FD666 for columns that do not match, else what the same INSERT would say.
    """
    path = find(catalog, table)
    item = catalog.get(path)
    if not isinstance(item, Table):
        raise FlinkDdlError.of("FD666", f"'{table}' is a view and can not be written to", help="name a table")
    wanted = [f.name for f in resolve_table(item, context_of(catalog)).persisted]
    changelog = ROW_KIND if ROW_KIND in df.columns and ROW_KIND not in wanted else None
    columns = [c for c in df.columns if c != changelog]
    match_columns(columns, wanted, table)
    source = f"dataframe_of_{path.name}"
    ddl = declaration(source, df.schema, bounded=not df.isStreaming, changelog=changelog)
    target = (path.catalog, path.database, path.name)
    compiled = _compiled(catalog, f"{ddl}\n{insertion(source, target, columns)}")
    start = compiled.actions[-1]
    assert isinstance(start, Start)
    return start, source


def _compiled(catalog: Catalog, text: str) -> Compiled:
    compiled = compile_script(SourceText(SOURCE_NAME, text), catalog)
    if compiled.has_errors:
        raise FlinkDdlError(compiled.diagnostics)
    return compiled
