"""Kafka keys and values as plain Python values, by the format that wrote them: for looking at topics, never for jobs.

What comes out is meant to be compared and printed: JSON numbers are decimals, so that ``1`` and ``1.0`` differ only
where Flink's output differs; a message that its format cannot read stays bytes.
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any

from flinkddl.catalog.settings import NOTHING_SET, Settings
from flinkddl.connectors import Use, connector, use_table
from flinkddl.connectors.base import is_upsert
from flinkddl.diagnostics import Bag, FlinkDdlError
from flinkddl.spark.kerberos import login
from flinkddl.sqltypes import DataType, Root

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from flinkddl.catalog.model import Table
    from flinkddl.connectors.base import Projection
    from flinkddl.options import ResolvedOptions
    from flinkddl.options.resolved import FormatOptions

RECORD = "org.apache.flink.avro.generated.record"  # the name that AvroSchemaConverter gives to a row


@dataclass(frozen=True)
class Payloads:
    """How the keys and values of a topic are read; None means that bytes stay bytes."""

    key: Callable[[bytes], Any] | None = None
    value: Callable[[bytes], Any] | None = None

    def read_key(self, data: bytes | None) -> Any:
        """Return a key as a value."""
        return _read(self.key, data)

    def read_value(self, data: bytes | None) -> Any:
        """Return a value as a value."""
        return _read(self.value, data)


def _read(decode: Callable[[bytes], Any] | None, data: bytes | None) -> Any:
    if data is None or decode is None:
        return data
    try:
        return decode(data)
    except Exception:  # noqa: BLE001 - whatever a codec says of foreign bytes, they are compared as they are
        return data


@dataclass(frozen=True)
class KafkaTable:
    """A Kafka table as seen from outside: where its records are, how they are read, whether a key has one value.

    ``timed``: the table's rows say what time their record has.
    """

    topics: tuple[str, ...]
    properties: Mapping[str, str] = field(repr=False)
    upsert: bool | None
    payloads: Payloads
    timed: bool = False


def kafka_table(table: Table, config: Settings = NOTHING_SET) -> KafkaTable:
    """Return the topics and formats of a kafka or upsert-kafka table; ``config`` is the session's, for its login.

    Raises FD845 for another connector's.
    """
    options, shape = table_sides(table)
    assert options.value_format is not None
    value = decoder(options.value_format, [(f.name, f.type) for f in shape.value])
    key = decoder(options.key_format, [(f.name, f.type) for f in shape.key]) if options.key_format else None
    timed = any(c.kind == "metadata" and (c.metadata_key or c.name) == "timestamp" for c in table.persisted)
    read_as = connector(options.connector).source_mode
    upsert = read_as is not None and is_upsert(read_as(options))
    properties = _properties(options)
    properties = login(properties, config) | properties
    return KafkaTable(tuple(options["topic"] or ()), properties, upsert, Payloads(key, value), timed)


def table_sides(table: Table) -> tuple[ResolvedOptions, Projection]:
    """Return the options of a kafka or upsert-kafka table, and which columns are its keys and values. Raises FD845."""
    options = use_table(table, "sink", None, Bag(), Use(table.span)) or use_table(table, "source", None, Bag())
    if options is None or options.value_format is None or not options.of_topics:
        raise FlinkDdlError.of("FD845", f"'{table.path}' is no table over Kafka topics", table.span)
    return options, connector(options.connector).projection(table, options)


def _properties(options: ResolvedOptions) -> dict[str, str]:
    return {"bootstrap.servers": str(options["properties.bootstrap.servers"]), **options.properties}


def decoder(format: FormatOptions, fields: Sequence[tuple[str, DataType]]) -> Callable[[bytes], Any]:
    """Return the reader of a format's messages for a row of these fields."""
    match format.name:
        case "avro":
            return avro_reader(avro_schema(fields, legacy=format["timestamp_mapping.legacy"] is not False))
        case "avro-confluent" | "debezium-avro-confluent":
            return confluent_reader(str(format["url"]))
        case "csv":
            return csv_reader(format["field-delimiter"] or ",")
        case "raw":
            return raw_reader
        case _:
            return json_reader


BY_NAME: Mapping[str, Callable[[str], Callable[[bytes], Any]]] = {
    "json": lambda _: json_reader,
    "csv": lambda _: csv_reader(),
    "raw": lambda _: raw_reader,
    "avro-confluent": lambda url: confluent_reader(url),
    "bytes": lambda _: lambda data: data,
}
"""Formats that need no table to be read: name -> (registry address -> reader)."""


def json_reader(data: bytes) -> Any:
    """Read JSON; numbers are decimals."""
    return json.loads(data, parse_float=Decimal, parse_int=Decimal)


def csv_reader(delimiter: str = ",") -> Callable[[bytes], Any]:
    """Read one line of CSV as the list of its texts."""
    return lambda data: next(csv.reader(io.StringIO(data.decode()), delimiter=delimiter))


def raw_reader(data: bytes) -> Any:
    """Read text where it is text."""
    return data.decode()


# ---- Avro --------------------------------------------------------------------------------------------------------


def avro_reader(schema: Any) -> Callable[[bytes], Any]:
    """Read Avro's binary encoding with a known schema."""
    import fastavro

    parsed = fastavro.parse_schema(schema)
    return lambda data: fastavro.schemaless_reader(io.BytesIO(data), parsed, None)


def confluent_reader(url: str) -> Callable[[bytes], Any]:
    """Read Confluent's framing: a zero byte, the writer schema's id, Avro; the registry knows the schema."""
    import fastavro

    @cache
    def schema(number: int) -> Any:
        from urllib.request import urlopen

        with urlopen(f"{url.split(',')[0].rstrip('/')}/schemas/ids/{number}", timeout=10) as answer:
            return fastavro.parse_schema(json.loads(json.load(answer)["schema"]))

    def read(data: bytes) -> Any:
        if data[:1] != b"\0":
            raise ValueError("no Confluent framing")
        return fastavro.schemaless_reader(io.BytesIO(data[5:]), schema(int.from_bytes(data[1:5], "big")), None)

    return read


_AVRO: Mapping[Root, Any] = {
    Root.NULL: "null",
    Root.BOOLEAN: "boolean",
    **dict.fromkeys((Root.TINYINT, Root.SMALLINT, Root.INT), "int"),
    Root.BIGINT: "long",
    Root.FLOAT: "float",
    Root.DOUBLE: "double",
    **dict.fromkeys((Root.CHAR, Root.VARCHAR), "string"),
    **dict.fromkeys((Root.BINARY, Root.VARBINARY), "bytes"),
    Root.DATE: {"type": "int", "logicalType": "date"},
    Root.TIME: {"type": "int", "logicalType": "time-millis"},
}


def avro_schema(fields: Iterable[tuple[str, DataType]], *, legacy: bool = True, name: str = RECORD) -> Any:
    """Return the Avro schema of a row, as Flink's AvroSchemaConverter makes it."""
    return {
        "type": "record",
        "name": name,
        "fields": [{"name": f, "type": _avro_type(t, f"{name}_{f}", legacy)} for f, t in fields],
    }


def _avro_type(t: DataType, name: str, legacy: bool) -> Any:
    plain = _avro_plain(t, name, legacy)
    return ["null", plain] if t.nullable else plain


def _avro_plain(t: DataType, name: str, legacy: bool) -> Any:
    match t.root:
        case Root.DECIMAL:
            return {"type": "bytes", "logicalType": "decimal", "precision": t.precision, "scale": t.scale}
        case Root.TIMESTAMP | Root.TIMESTAMP_LTZ:
            unit = "millis" if (t.precision or 0) <= 3 else "micros"
            local = "" if legacy or t.root is Root.TIMESTAMP_LTZ else "local-"
            return {"type": "long", "logicalType": f"{local}timestamp-{unit}"}
        case Root.ARRAY:
            return {"type": "array", "items": _avro_type(t.element, name, legacy)}
        case Root.MAP:
            return {"type": "map", "values": _avro_type(t.value, name, legacy)}
        case Root.MULTISET:
            return {"type": "map", "values": "int"}
        case Root.ROW:
            return avro_schema([(f.name, f.type) for f in t.fields], legacy=legacy, name=name)
        case _:
            return _AVRO[t.root]


# ---- as text -----------------------------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it: exact numbers, bytes and instants as text."""
    match value:
        case dict():
            return {str(k): plain(v) for k, v in value.items()}
        case list() | tuple():
            return [plain(v) for v in value]
        case Decimal():
            return int(value) if value == value.to_integral_value() and value.as_tuple().exponent == 0 else float(value)
        case bytes():
            return "0x" + value.hex()
        case str() | bool() | int() | float() | None:
            return value
        case _:
            return str(value)


def text(value: Any) -> str:
    """Return a value on one line, for people; a missing one is ``<none>``."""
    return "<none>" if value is None else json.dumps(plain(value), ensure_ascii=False, separators=(",", ":"))
