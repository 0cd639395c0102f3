"""Objects printed as DDL, for SHOW CREATE: full names in back-ticks, secrets hidden."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.diagnostics.secrets import masked
from flinkddl.sqltypes import quote

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlglot import exp

    from flinkddl.catalog.model import Column, ObjectPath, Table, View
    from flinkddl.catalog.state import CatalogEntry


def text_of(tree: exp.Expression) -> str:
    """Return an expression or query as Flink SQL."""
    return tree.sql(dialect="flink", identify=True)


def literal_of(value: str) -> str:
    """Return a string literal."""
    return "'" + value.replace("'", "''") + "'"


def path_of(path: ObjectPath) -> str:
    """Return a full name in back-ticks."""
    return ".".join(map(quote, (path.catalog, path.database, path.name)))


def create_table(table: Table, secrets: bool = False) -> str:
    """Return the CREATE TABLE of a table, its secrets hidden unless they are asked for."""
    elements = [column_of(c) for c in table.columns]
    if mark := table.watermark:
        column = ".".join(map(quote, mark.column))
        elements.append(f"WATERMARK FOR {column} AS {text_of(mark.expression)}")
    if key := table.primary_key:
        name = key.name or f"PK_{'_'.join(key.columns)}"
        elements.append(f"CONSTRAINT {quote(name)} PRIMARY KEY ({_names(key.columns)}) NOT ENFORCED")
    word = "CREATE TEMPORARY TABLE" if table.temporary else "CREATE TABLE"
    lines = [f"{word} {path_of(table.path)} (", ",\n".join(f"  {e}" for e in elements), ")"]
    if table.comment is not None:
        lines.append(f"COMMENT {literal_of(table.comment)}")
    if table.distribution is not None:
        lines.append(_distribution(table.distribution))
    if table.partition_keys:
        lines.append(f"PARTITIONED BY ({_names(table.partition_keys)})")
    return "\n".join([*lines, *_with({k: t.value for k, t in table.options.items()}, secrets)]) + "\n"


def column_of(column: Column) -> str:
    """Return a column definition, its type as Flink's catalog prints it."""
    return definition_of(column, type_of(column))


def definition_of(column: Column, kind: str) -> str:
    """Return a column definition with a type."""
    match column.kind:
        case "computed" if column.expression is not None:
            rest = f"AS {text_of(column.expression)}"
        case "metadata":
            source = "" if column.metadata_key == column.name else f" FROM {literal_of(column.metadata_key or '')}"
            rest = f"{kind} METADATA{source}{' VIRTUAL' if column.virtual else ''}"
        case _:
            rest = kind
    note = "" if column.comment is None else f" COMMENT {literal_of(column.comment)}"
    return f"{quote(column.name)} {rest}{note}"


def type_of(column: Column) -> str:
    """Return a declared type; STRING and BYTES appear as Flink's catalog prints them."""
    kind = str(column.type)
    for short, long in (("STRING", "VARCHAR(2147483647)"), ("BYTES", "VARBINARY(2147483647)")):
        if kind in (short, f"{short} NOT NULL"):
            return kind.replace(short, long)
    return kind


def create_view(view: View) -> str:
    """Return the CREATE VIEW of a view."""
    listed = ",\n".join(f"  {quote(column)}" for column in view.columns)
    columns = f" (\n{listed}\n)" if view.columns else ""
    word = "CREATE TEMPORARY VIEW" if view.temporary else "CREATE VIEW"
    note = "" if view.comment is None else f"\nCOMMENT {literal_of(view.comment)}"
    return f"{word} {path_of(view.path)}{columns}{note}\nAS {text_of(view.query)}\n"


def create_catalog(name: str, entry: CatalogEntry) -> str:
    """Return the CREATE CATALOG of a catalog."""
    note = [] if entry.comment is None else [f"COMMENT {literal_of(entry.comment)}"]
    return "\n".join([f"CREATE CATALOG {quote(name)}", *note, *_with(dict(sorted(entry.options.items())))]) + "\n"


def _distribution(node: exp.Expression) -> str:
    columns = _names(tuple(i.name for i in node.expressions))
    kind = str(node.args.get("kind") or "")
    by = f" BY {kind}({columns})" if columns else ""
    buckets = node.args.get("buckets")
    return f"DISTRIBUTED{by}" + (f" INTO {buckets} BUCKETS" if buckets is not None else "")


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(map(quote, names))


def _with(options: Mapping[str, str], secrets: bool = False) -> list[str]:
    if not options:
        return []
    shown = options if secrets else masked(options)
    lines = [f"  {literal_of(k)} = {literal_of(shown[k])}" for k in options]
    return ["WITH (", ",\n".join(lines), ")"]
