"""Schemas that formats of Flink 1.9 and 1.10 were told: not written any more where the columns say the same."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from flinkddl.dialect import nodes
    from flinkddl.script.old_columns import OldColumns

_FIELD = re.compile(r"format\.fields\.(\d+)\.(name|type|data-type)")
_TYPES: Mapping[str, str] = {
    "VARCHAR": "STRING",
    "LONG": "BIGINT",
    "SHORT": "SMALLINT",
    "BYTE": "TINYINT",
    "DECIMAL": "DECIMAL(38, 18)",
    "BIG_DEC": "DECIMAL(38, 18)",
    "TIMESTAMP": "TIMESTAMP(3)",
    "SQL_TIMESTAMP": "TIMESTAMP(3)",
    "SQL_DATE": "DATE",
    "SQL_TIME": "TIME",
    "OBJECT_ARRAY": "ARRAY",
    "PRIMITIVE_ARRAY": "ARRAY",
}
"""Spellings of the first type system (TypeStringUtils of Flink 1.10), which 'type' had and 'data-type' not."""
_AVRO: Mapping[str, frozenset[str]] = {
    "string": frozenset({"VARCHAR", "CHAR"}),
    "int": frozenset({"INT", "DATE", "SMALLINT", "TINYINT"}),
    "long": frozenset({"BIGINT", "TIMESTAMP", "TIMESTAMP_LTZ"}),
    "float": frozenset({"FLOAT"}),
    "double": frozenset({"DOUBLE"}),
    "boolean": frozenset({"BOOLEAN"}),
    "bytes": frozenset({"VARBINARY", "BINARY"}),
}
_DERIVED = "the format's schema is made of the table's columns today"


def legacy_type(text: str) -> str:
    """Return a type in the spelling of the first type system as it is written today."""
    return re.sub(r"\b([A-Z_]+)\b(?!\s*\()", lambda m: _TYPES.get(m[1], m[1]), text)


def _names(columns: OldColumns) -> list[str]:
    """The names of the physical columns in the records."""
    return [columns.renamed.get(c.this.name, c.this.name) for c in columns.physical if _is_read(columns, c)]


def _is_read(columns: OldColumns, column: nodes.Column) -> bool:
    """Whether a column is read from records, and is not a time that Flink gives."""
    at = columns.elements.index(column)
    said = columns.renewed.of_columns
    given = said.get(f"schema.{at}.rowtime.timestamps.type") == "from-source"
    return not (given or said.get(f"schema.{at}.proctime") == "true")


def _fields(columns: OldColumns, rest: Mapping[str, str]) -> dict[str, str]:
    """``format.fields.N``: the fields of a line, which have to be the columns in their order."""
    found = {key: m for key in rest if (m := _FIELD.fullmatch(key))}
    named = sorted((int(m[1]), rest[key]) for key, m in found.items() if m[2] == "name")
    same = [name for _, name in named] == _names(columns)
    return {} if same else dict.fromkeys(found, f"{_DERIVED}: declare them in the order of the file's fields")


def _row(columns: OldColumns, rest: Mapping[str, str]) -> dict[str, str]:
    """``format.schema``: a ROW with the fields of a record."""
    text = rest.get("format.schema")
    if text is None:
        return {}
    fields = re.match(r"(?is)\s*ROW\s*[<(](.*)[>)]\s*$", text)
    names = _outer_names(fields[1]) if fields else []
    ordered = columns.renewed.format != "json"
    same = names == _names(columns) if ordered else set(_names(columns)) <= set(names)
    return {} if same else {"format.schema": f"{_DERIVED}: declare its fields as columns"}


def _outer_names(text: str) -> list[str]:
    """Return the names of the fields of a ROW, without those of rows in it."""
    parts, depth = [""], 0
    for char in text:
        depth += (char in "<(") - (char in ">)")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [part.split()[0].strip("`") for part in parts if part.strip()]


def _json(columns: OldColumns, rest: Mapping[str, str]) -> dict[str, str]:
    """``format.json-schema``: its properties have to have every column."""
    text = rest.get("format.json-schema")
    if text is None:
        return {}
    schema = _parsed(text)
    properties = schema.get("properties") if isinstance(schema, dict) else None
    same = isinstance(properties, dict) and set(_names(columns)) <= set(properties)
    return {} if same else {"format.json-schema": f"{_DERIVED}: declare its properties as columns"}


def _avro(columns: OldColumns, rest: Mapping[str, str]) -> dict[str, str]:
    """``format.avro-schema``: its bytes depend on the order, type and nullability of every field.

    Today's schema has the columns in their order, ``["null", type]`` where a column may be NULL. A field without null
    makes its column NOT NULL.
    """
    text = rest.get("format.avro-schema")
    if text is None:
        return {}
    schema = _parsed(text)
    fields = schema.get("fields", []) if isinstance(schema, dict) else []
    physical = [c for c in columns.physical if _is_read(columns, c)]
    same = [f.get("name") for f in fields] == _names(columns)
    if not same or not all(_fits(f.get("type"), c) for f, c in zip(fields, physical, strict=True)):
        why = f"{_DERIVED}, NULL first: declare its fields in their order, NOT NULL where there is no null"
        return {"format.avro-schema": why}
    for found, column in zip(fields, physical, strict=True):
        if not isinstance(found["type"], list) and column.args["kind"].args.get("nullable") is not False:
            columns.edits.insert(columns.place(column.args["kind"]).end, " NOT NULL")
    return {}


def _fits(kind: Any, column: nodes.Column) -> bool:
    """Whether a field of an Avro schema has the bytes of a column that is as nullable as it is."""
    if isinstance(kind, list):
        return len(kind) == 2 and kind[0] == "null" and not isinstance(kind[1], list) and _fits(kind[1], column)
    if isinstance(kind, dict):
        kind = kind.get("type") if kind.get("logicalType") in (None, "timestamp-millis", "date") else None
    return isinstance(kind, str) and column.args["kind"].args["name"] in _AVRO.get(kind, ())


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


SCHEMAS: tuple[Callable[[OldColumns, Mapping[str, str]], dict[str, str]], ...] = (_fields, _row, _json, _avro)
"""Each takes the options about columns that are not of the table itself, and returns those that say something else."""
