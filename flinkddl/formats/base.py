"""The table of formats, and the two functions the connectors call: ``decoder`` and ``encoder``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from flinkddl.diagnostics import Bag, FlinkDdlError
from flinkddl.formats import columns, registry
from flinkddl.formats.spec import WEIGHT, DecodeSpec, EncodeSpec, built, kernel, spec_text, struct_type
from flinkddl.sqltypes import ARRAY, INT, MAP, STRING, TIMESTAMP_LTZ, DataType, quote

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from flinkddl.diagnostics import Span
    from flinkddl.formats.spec import Changes, Fields, Parts
    from flinkddl.options.registry import Role
    from flinkddl.options.resolved import FormatOptions

FORMATS: Mapping[str, Changes] = {
    "json": "insert-only",
    "csv": "insert-only",
    "raw": "insert-only",
    "avro": "insert-only",
    "avro-confluent": "insert-only",
    "debezium-avro-confluent": "delta",
    "debezium-json": "delta",
    "canal-json": "delta",
    "maxwell-json": "delta",
    "ogg-json": "delta",
}
_MILLIS = TIMESTAMP_LTZ(3)
METADATA: Mapping[str, Mapping[str, DataType]] = {
    "debezium-json": {
        "schema": STRING,
        "ingestion-timestamp": _MILLIS,
        "source.timestamp": _MILLIS,
        "source.database": STRING,
        "source.schema": STRING,
        "source.table": STRING,
        "source.properties": MAP(STRING, STRING),
    },
    "canal-json": {
        "database": STRING,
        "table": STRING,
        "sql-type": MAP(STRING, INT),
        "pk-names": ARRAY(STRING),
        "ingestion-timestamp": _MILLIS,
        "event-timestamp": _MILLIS,
    },
    "maxwell-json": {
        "database": STRING,
        "table": STRING,
        "primary-key-columns": ARRAY(STRING),
        "ingestion-timestamp": _MILLIS,
    },
    "ogg-json": {
        "table": STRING,
        "primary-keys": ARRAY(STRING),
        "ingestion-timestamp": TIMESTAMP_LTZ(6),
        "event-timestamp": TIMESTAMP_LTZ(6),
    },
}
"""Of the CDC formats; source: formats reference, section 9."""
_SCIENTIFIC = "write-bigdecimal-in-scientific-notation"


class Message(NamedTuple):
    """The column that holds a message, and the expressions that tell which one it is."""

    column: str = "value"
    topic: str = "topic"
    partition: str = "partition"
    offset: str = "offset"


class Wanted(NamedTuple):
    """What is made of a message: ``metadata`` beside the fields, of which ``parts`` are built (None: all)."""

    metadata: Sequence[str] = ()
    parts: Parts | None = None


MESSAGE, FIELDS = Message(), Wanted()


def metadata_types(format: FormatOptions) -> Mapping[str, DataType]:
    """Return the metadata keys of a value format, without ``value.``, and the Flink type of each."""
    return METADATA.get(format.name, {})


def decoder(
    format: FormatOptions,
    fields: Sequence[tuple[str, DataType]],
    *,
    owner: str,
    wanted: Wanted = FIELDS,
    message: Message = MESSAGE,
    where: Span | None = None,
) -> DecodeSpec:
    """Return how messages become rows of ``fields`` and format metadata.

    ``owner`` names the reader in errors (``value of table 't'``). Fields of which nothing is ``wanted`` are checked
    all the same, and NULL. Raises FlinkDdlError with every column the format can not read.
    """
    fields = tuple(fields)
    changes = _checked(format, fields, "source", where)
    known = metadata_types(format)
    values, secrets = _values(format)
    whole = fields + tuple((f"value.{key}", known[key]) for key in wanted.metadata)
    row = struct_type(whole, weighted=changes == "delta")
    parts = None if _as_given(format) else wanted.parts
    spec = spec_text(format, fields, owner, wanted.metadata, values, parts)
    call = f"{kernel(format, 'decode')}({message.column}, CAST(NULL AS {row}), {spec}, {', '.join(message[1:])})"
    return DecodeSpec(call, whole, changes, secrets, built(fields, parts))


def encoder(
    format: FormatOptions,
    fields: Sequence[tuple[str, DataType]],
    *,
    owner: str,
    values: Sequence[str] | None = None,
    subject: str | None = None,
    where: Span | None = None,
) -> EncodeSpec:
    """Return how rows become messages.

    ``values`` are the Spark expressions of the fields, their names by default; ``subject`` is the registry subject
    where the sink, and not an option, names it. Raises FlinkDdlError with every column the format can not write.
    """
    fields = tuple(fields)
    changes = _checked(format, fields, "sink", where)
    options, secrets = _values(format)
    if subject is not None:
        options = {**options, "subject": subject}
    given = [quote(name) for name, _ in fields] if values is None else list(values)
    parts = [f"{value} AS {quote(f'f{i}')}" for i, value in enumerate(given)]
    if changes == "delta":
        parts.append(f"CAST({WEIGHT} AS INT) AS {WEIGHT}")
    call = f"{kernel(format, 'encode')}(struct({', '.join(parts)}), {spec_text(format, fields, owner, (), options)})"
    return EncodeSpec(call, changes, secrets)


def _as_given(format: FormatOptions) -> bool:
    """Whether records are read by a schema, or in an encoding, that leaves no field out."""
    return bool(format.options.get("schema")) or format.options.get("encoding") == "json"


def _checked(format: FormatOptions, fields: Fields, role: Role, where: Span | None) -> Changes:
    if format.name not in FORMATS:
        raise FlinkDdlError.of("FD709", f"the format '{format.name}' does not read or write single messages", where)
    bag = Bag()
    columns.check(format, [(name, t, None) for name, t in fields], role, bag, where)
    bag.raise_if_errors()
    return FORMATS[format.name]


def _values(format: FormatOptions) -> tuple[Mapping[str, Any], Mapping[str, str]]:
    """Return the options for the kernel, and the secrets among them."""
    if "confluent" in format.name:
        return registry.values(format)
    if format.name == "csv" and _SCIENTIFIC not in format.given:
        return {k: v for k, v in format.options.items() if k != _SCIENTIFIC}, {}  # counts only where it is written
    return format.options, {}
