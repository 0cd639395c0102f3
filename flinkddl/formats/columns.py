"""Which columns a format can carry: types and names, as the format's own factories check them.

Sources: formats reference, sections 2 to 8.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from flinkddl import sqltypes as T
from flinkddl.sqltypes import Root

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from flinkddl.catalog.model import Column
    from flinkddl.diagnostics import Bag, Span
    from flinkddl.options import FormatOptions
    from flinkddl.options.registry import Role
    from flinkddl.sqltypes import DataType

Fields = "Sequence[tuple[str, DataType, Column | None]]"

_RAW = T.CHARACTER | T.BYTES_FAMILY | T.NUMERIC - {Root.DECIMAL} | {Root.BOOLEAN, Root.RAW}
_CSV_SIMPLE = T.NUMERIC | T.CHARACTER | T.BYTES_FAMILY | T.DATETIME | {Root.BOOLEAN, Root.NULL}
_NO_SCHEMA = frozenset({Root.VARIANT, Root.RAW}) | T.INTERVAL
_AVRO_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_AVRO_MILLIS, _AVRO_MICROS = 3, 6
_SPARK_DIGITS = 6


def check(
    chosen: FormatOptions,
    fields: Sequence[tuple[str, DataType, Column | None]],
    role: Role,
    bag: Bag,
    where: Span | None,
) -> None:
    """Check the fields (name in the format, type, column) that a format is to read or write."""
    if chosen.name == "raw" and len(fields) != 1:
        message = f"format 'raw' carries a single physical column, but here it is given {len(fields)}"
        listed = ", ".join(name for name, _, _ in fields)
        bag.error("FD239", message, where, f"choose one of: {listed}" if listed else "add a column")
        return
    if chosen.name == "avro-confluent" and chosen["schema"]:
        _given_schema(chosen, [name for name, _, _ in fields], bag, where)
    find = _FINDERS.get(chosen.name)
    for name, kind, column in fields:
        if any(x.root in T.TIMESTAMPS and (x.precision or 0) > _SPARK_DIGITS for x in _types_in(kind)):
            text = f"column '{name}': digits 7 to 9 of the second are cut, Spark keeps microseconds"
            bag.note("FD710", text, column.span if column is not None and column.span else where)
        for reason in find(name, kind, chosen) if find else ():
            place = column.span if column is not None and column.span else where
            bag.error("FD238", f"column '{name}' does not fit format '{chosen.name}': {reason}", place, _help(reason))


def _types_in(t: DataType) -> Iterator[DataType]:
    yield t
    for child in (*t.children, *(f.type for f in t.fields)):
        yield from _types_in(child)


def _given_schema(chosen: FormatOptions, names: list[str], bag: Bag, where: Span | None) -> None:
    key, text = f"{chosen.space}schema", chosen["schema"]
    try:
        schema = json.loads(text)
    except ValueError as error:
        bag.error("FD242", f"'{key}' is no Avro schema: '{text:.80}'", where, str(error))
        return
    given = [f.get("name") for f in schema.get("fields", ())] if isinstance(schema, dict) else []
    if given != names:
        help = f"its fields must be: {', '.join(names)}"
        bag.error("FD242", f"the record in '{key}' does not match the columns of the table", where, help)


def _help(reason: str) -> str | None:
    return "use TIMESTAMP(3)" if "precision" in reason else None


def _raw(name: str, kind: DataType, chosen: FormatOptions) -> Iterator[str]:
    if not kind.is_a(_RAW):
        yield f"type {kind.summary} is not supported"


def _csv(name: str, kind: DataType, chosen: FormatOptions) -> Iterator[str]:
    match kind.root:
        case Root.ROW:
            inner = [f.type for f in kind.fields]
        case Root.ARRAY:
            inner = [kind.element]
        case _:
            inner = []
            if not kind.is_a(_CSV_SIMPLE):
                yield f"type {kind.summary} is not supported"
    for part in inner:
        if not part.is_a(_CSV_SIMPLE):
            yield f"inside {kind.root.value} only simple types are supported, but there is {part.summary}"


def _json(name: str, kind: DataType, chosen: FormatOptions) -> Iterator[str]:
    for part in _types_in(kind):
        if part.root in (Root.MAP, Root.MULTISET) and not part.key.is_a(T.CHARACTER):
            yield f"keys of {part.summary} are not text"
        elif part.is_a(_NO_SCHEMA - T.INTERVAL):
            yield f"type {part.summary} is not supported"


def _avro(name: str, kind: DataType, chosen: FormatOptions) -> Iterator[str]:
    yield from _avro_name(name)
    yield from _avro_type(kind, bool(chosen["timestamp_mapping.legacy"] is not False))


def _avro_name(name: str) -> Iterator[str]:
    if not _AVRO_NAME.fullmatch(name):
        yield f"'{name}' is no name in Avro"


def _avro_type(kind: DataType, legacy: bool) -> Iterator[str]:
    limit = _AVRO_MILLIS if legacy else _AVRO_MICROS
    match kind.root:
        case Root.TIMESTAMP if (kind.precision or 0) > limit:
            yield f"{kind.summary} has a precision above {limit}"
        case Root.TIMESTAMP_LTZ if legacy:
            yield f"type {kind.summary} is not supported; set 'timestamp_mapping.legacy' = 'false'"
        case Root.TIMESTAMP_LTZ if (kind.precision or 0) > limit:
            yield f"{kind.summary} has a precision above {limit}"
        case Root.MAP | Root.MULTISET if not kind.key.is_a(T.CHARACTER):
            yield f"keys of {kind.summary} are not text"
        case Root.ROW:
            for f in kind.fields:
                yield from _avro_name(f.name)
                yield from _avro_type(f.type, legacy)
        case Root.ARRAY:
            yield from _avro_type(kind.element, True)  # elements and map values are always mapped the older way
        case Root.MAP:
            yield from _avro_type(kind.value, True)
        case _ if kind.is_a(_NO_SCHEMA):
            yield f"type {kind.summary} is not supported"


_FINDERS: dict[str, Callable[[str, DataType, FormatOptions], Iterator[str]]] = {
    "raw": _raw,
    "csv": _csv,
    "avro": _avro,
    "avro-confluent": _avro,
    "debezium-avro-confluent": _avro,
    **dict.fromkeys(("json", "debezium-json", "canal-json", "maxwell-json", "ogg-json"), _json),
}
