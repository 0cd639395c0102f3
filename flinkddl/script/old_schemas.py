"""Schemas that formats of Flink 1.9 and 1.10 were told: not written any more where the columns say the same."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flinkddl.dialect import nodes

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


@dataclass(frozen=True)
class Records:
    """What is read of records: columns by their names there, in order; ``ordered``: a field is found by its place."""

    columns: tuple[tuple[str, nodes.Column], ...]
    ordered: bool

    @property
    def names(self) -> list[str]:
        """The names of the columns in the records."""
        return [name for name, _ in self.columns]


def other_schemas(records: Records, rest: Mapping[str, str]) -> dict[str, str]:
    """Return the options of ``rest`` that say another schema than the columns do, and what to do instead."""
    return _fields(records, rest) | _row(records, rest) | _json(records, rest) | _avro(records, rest)


def never_null(records: Records, rest: Mapping[str, str]) -> list[nodes.Column]:
    """Return the columns that have no null in the Avro schema: today's has one, unless they are NOT NULL."""
    if "format.avro-schema" not in rest or _avro(records, rest):
        return []
    fields = _avro_fields(rest["format.avro-schema"])
    columns = zip(fields, (c for _, c in records.columns), strict=True)
    return [
        c for f, c in columns if not isinstance(f["type"], list) and c.args["kind"].args.get("nullable") is not False
    ]


def _fields(records: Records, rest: Mapping[str, str]) -> dict[str, str]:
    """``format.fields.N``: the fields of a line, which have to be the columns in their order."""
    found = {key: m for key in rest if (m := _FIELD.fullmatch(key))}
    named = sorted((int(m[1]), rest[key]) for key, m in found.items() if m[2] == "name")
    if [name for _, name in named] == records.names:
        return {}
    return dict.fromkeys(found, f"{_DERIVED}: declare them in the order of the file's fields")


def _row(records: Records, rest: Mapping[str, str]) -> dict[str, str]:
    """``format.schema``: a ROW with the fields of a record."""
    text = rest.get("format.schema")
    if text is None:
        return {}
    fields = re.match(r"(?is)\s*ROW\s*[<(](.*)[>)]\s*$", text)
    names = _outer_names(fields[1]) if fields else []
    if names == records.names if records.ordered else set(records.names) <= set(names):
        return {}
    return {"format.schema": f"{_DERIVED}: declare its fields as columns"}


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


def _json(records: Records, rest: Mapping[str, str]) -> dict[str, str]:
    """``format.json-schema``: its properties have to have every column."""
    text = rest.get("format.json-schema")
    if text is None:
        return {}
    schema = _parsed(text)
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if isinstance(properties, dict) and set(records.names) <= set(properties):
        return {}
    return {"format.json-schema": f"{_DERIVED}: declare its properties as columns"}


def _avro(records: Records, rest: Mapping[str, str]) -> dict[str, str]:
    """``format.avro-schema``: its bytes depend on the order, type and nullability of every field.

    Today's schema has the columns in their order, ``["null", type]`` where a column may be NULL.
    """
    text = rest.get("format.avro-schema")
    if text is None:
        return {}
    fields = _avro_fields(text)
    same = [f.get("name") for f in fields] == records.names
    if same and all(_fits(f.get("type"), c) for f, (_, c) in zip(fields, records.columns, strict=True)):
        return {}
    why = f"{_DERIVED}, NULL first: declare its fields in their order, NOT NULL where there is no null"
    return {"format.avro-schema": why}


def _avro_fields(text: str) -> list[Any]:
    schema = _parsed(text)
    return schema.get("fields", []) if isinstance(schema, dict) else []


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
