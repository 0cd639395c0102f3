"""Records written one by one from the driver, and rows typed by hand as records of a table: never for jobs.

A row is a JSON object with the table's columns; what JSON has no type for is text, as Flink's casts write it.
"""

from __future__ import annotations

import base64
import contextlib
import csv
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from datetime import time as Time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from flinkddl.diagnostics import FlinkDdlError, SourceText, Span, did_you_mean
from flinkddl.runtime.kafka.admin import describe
from flinkddl.runtime.kafka.config import python_client_config
from flinkddl.runtime.kafka.payloads import avro_schema, table_sides
from flinkddl.sqltypes import DataType, Root

if TYPE_CHECKING:
    from flinkddl.catalog.model import Table
    from flinkddl.options.resolved import FormatOptions

Encode = Callable[[Mapping[str, Any]], bytes]
Fields = Sequence[tuple[str, DataType]]
FLUSH_SECONDS = 30.0
_SHOWN = 100
AS_THEY_ARE = ("debezium-json", "canal-json", "maxwell-json", "ogg-json")


class Producer:
    """An open producer; ``written`` counts what the cluster has taken when it is closed. Raises FD814."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        from kafka import KafkaProducer

        self._producer: Any = KafkaProducer(**python_client_config(properties), acks="all", linger_ms=5)
        self._sent: list[Any] = []
        self.written = 0

    def send(
        self, topic: str, key: bytes | None, value: bytes | None, headers: Sequence[tuple[str, bytes]] = ()
    ) -> None:
        """Write one record."""
        self._sent.append(self._producer.send(topic, key=key, value=value, headers=list(headers)))
        if len(self._sent) >= 10_000:
            self.flush()

    def flush(self) -> None:
        """Wait until the cluster has taken all that was sent. Raises FD814 where it does not."""
        from kafka.errors import KafkaError

        try:
            self._producer.flush(FLUSH_SECONDS)
            for sent in self._sent:
                sent.get(FLUSH_SECONDS)
                self.written += 1
        except KafkaError as error:
            raise FlinkDdlError.of("FD814", f"a record was not taken: {describe(error)}") from error
        finally:
            self._sent.clear()

    def __enter__(self) -> Producer:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.ExitStack() as stack:
            stack.callback(self._producer.close, FLUSH_SECONDS)
            self.flush()


@dataclass(frozen=True)
class Line:
    """A line of what is typed or piped in, without its end; ``number`` counts from 1."""

    text: str
    number: int = 1

    def wrong(self, message: str, help: str | None = None, part: tuple[int, int] | None = None) -> FlinkDdlError:
        """Return FD868 at the line, or at a part of it (from, to: characters)."""
        begin = self.number - 1  # empty lines before it, so that its place is told as all places are
        start, end = part or (0, len(self.text))
        span = Span(SourceText("<stdin>", "\n" * begin + self.text), begin + start, begin + end)
        return FlinkDdlError.of("FD868", message, span, help)

    def wrong_column(self, name: str, message: str, help: str | None = None) -> FlinkDdlError:
        """Return FD868 at the name of a column in a line that is a JSON object."""
        found = re.search(rf"({re.escape(json.dumps(name, ensure_ascii=False))})\s*:", self.text)
        return self.wrong(message, help, found.span(1) if found else None)


class Unfit(ValueError):
    """A value that its field's type, or its format, does not take; ``field`` is the name in the message."""

    def __init__(self, field: str, what: object, value: Any) -> None:
        shown = json.dumps(value, ensure_ascii=False, default=_number)
        super().__init__(f"does not fit {what}: {shown if len(shown) <= _SHOWN else f'{shown[:_SHOWN]}...'}")
        self.field = field


@dataclass(frozen=True)
class Side:
    """The key or the value of a record: the columns it is made of (in the table, in the message), and its encoder."""

    columns: tuple[tuple[str, str], ...]
    encode: Encode

    def of(self, row: Mapping[str, Any], line: Line) -> bytes:
        """Return the bytes of a row. Raises FD868 at a column of its line whose value does not fit."""
        try:
            return self.encode({name: row.get(column) for column, name in self.columns})
        except Unfit as error:
            column = next(column for column, name in self.columns if name == error.field)
            raise line.wrong_column(column, f"the value of column '{column}' {error}") from error
        except csv.Error as error:
            raise line.wrong(f"the row cannot be written as CSV without quotes: {error}") from error


@dataclass(frozen=True)
class RowWriter:
    """Turns lines into records. ``value`` is None for the change formats, whose lines are the messages themselves."""

    columns: tuple[str, ...]
    key: Side | None
    value: Side | None

    def record(self, line: Line, *, delete: bool = False) -> tuple[bytes | None, bytes | None]:
        """Return key and value of one line; ``delete`` makes a tombstone of it. Raises FD868 for no row."""
        if self.value is None and not delete:
            return None, line.text.encode()
        row = self._row(line)
        key = self.key.of(row, line) if self.key is not None else None
        return key, None if delete or self.value is None else self.value.of(row, line)

    def _row(self, line: Line) -> Mapping[str, Any]:
        try:
            row = json.loads(line.text, parse_float=Decimal)
        except json.JSONDecodeError as error:
            help = 'a line is a JSON object with the table\'s columns, such as {"id": 1}'
            raise line.wrong(f"the line is no row: {error.msg}", help, (error.pos, error.pos + 1)) from error
        if not isinstance(row, dict):
            raise line.wrong("the line is no JSON object", 'write {"column": value}')
        for name in row:
            if name not in self.columns:
                help = did_you_mean(name, self.columns) or f"columns: {', '.join(self.columns)}"
                raise line.wrong_column(name, f"the table has no column '{name}'", help)
        return row


def row_writer(table: Table) -> RowWriter:
    """Return what writes rows of a kafka or upsert-kafka table. Raises FD845 for a format that cannot be typed."""
    options, shape = table_sides(table)

    def side(role: str, format: FormatOptions | None, fields: Any) -> Side | None:
        if format is None or not fields or format.name in AS_THEY_ARE:
            return None
        made = _encoder(table, role, format, [(f.name, f.type) for f in fields])
        return Side(tuple((f.column, f.name) for f in fields), made)

    value = side("value", options.value_format, shape.value)
    return RowWriter(tuple(c.name for c in table.physical), side("key", options.key_format, shape.key), value)


def _encoder(table: Table, role: str, format: FormatOptions, fields: Fields) -> Encode:
    match format.name:
        case "json":
            return lambda row: json_line(_readable(fields, row))
        case "csv":
            return _csv(fields, format)
        case "raw":
            return lambda row: str(next(iter(row.values()))).encode()
        case "avro":
            return _avro(fields, legacy=format["timestamp_mapping.legacy"] is not False)
        case _:
            message = f"rows of '{table.path}' cannot be typed: the {role} format is '{format.name}'"
            help = f"write them by SQL: INSERT INTO {table.path.name} VALUES (...)"
            raise FlinkDdlError.of("FD845", message, table.span, help)


def json_line(row: Mapping[str, Any]) -> bytes:
    """Return a row as compact JSON; numbers keep their digits."""
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"), default=_number).encode()


def _readable(fields: Fields, row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a row whose values a job can read as their types. Raises Unfit for the first that it cannot."""
    for name, t in fields:
        try:
            _typed(row[name], t, _READ)
        except (ValueError, TypeError, ArithmeticError) as error:
            raise Unfit(name, t, row[name]) from error
    return row


def _number(value: Any) -> Any:
    if isinstance(value, Decimal):
        return float(value) if value != value.to_integral_value() else int(value)
    raise TypeError(f"{value!r} is no JSON")


def _csv(fields: Fields, format: FormatOptions) -> Encode:
    null, quote = format["null-literal"] or "", format["quote-character"] or '"'
    shape: dict[str, Any] = {"delimiter": format["field-delimiter"] or ",", "lineterminator": "", "quotechar": quote}
    if format["disable-quote-character"]:
        shape |= {"quoting": csv.QUOTE_NONE, "quotechar": None, "escapechar": format["escape-character"]}

    def encode(row: Mapping[str, Any]) -> bytes:
        out = io.StringIO()
        _readable([(n, t) for n, t in fields if not isinstance(row[n], dict | list)], row)
        csv.writer(out, **shape).writerow([null if row[n] is None else _text(n, row[n]) for n, _ in fields])
        return out.getvalue().encode()

    return encode


def _text(name: str, value: Any) -> str:
    if isinstance(value, dict | list):
        raise Unfit(name, "a field of CSV", value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _avro(fields: Fields, *, legacy: bool) -> Encode:
    import fastavro

    # A record's bytes are those of its fields: written one by one, a value that does not fit has a name.
    columns = [(name, t, fastavro.parse_schema(avro_schema([(name, t)], legacy=legacy))) for name, t in fields]

    def encode(row: Mapping[str, Any]) -> bytes:
        out = io.BytesIO()
        for name, t, schema in columns:
            try:
                fastavro.schemaless_writer(out, schema, {name: _typed(row[name], t)}, strict=True)
            except (ValueError, TypeError, ArithmeticError) as error:
                raise Unfit(name, t, row[name]) from error
        return out.getvalue()

    return encode


def _time(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _whole(value: Any) -> Any:
    if not isinstance(value, Decimal):
        return value
    if value != value.to_integral_value():
        raise ValueError(value)
    return int(value)


def _of_bits(bits: int) -> Callable[[Any], int]:
    def integer(value: Any) -> int:
        found = int(value) if isinstance(value, str) else _whole(_no_boolean(value))
        if not -(1 << (bits - 1)) <= found < 1 << (bits - 1):
            raise ValueError(value)
        return int(found)

    return integer


def _no_boolean(value: Any) -> Any:
    if isinstance(value, bool):
        raise TypeError(value)
    return value


def _truth(value: Any) -> bool:
    if isinstance(value, bool) or str(value).strip().lower() in ("true", "false"):
        return bool(value)
    raise ValueError(value)


_SCALARS: Mapping[Root, Callable[[Any], Any]] = {
    **dict.fromkeys((Root.TINYINT, Root.SMALLINT, Root.INT, Root.BIGINT), _whole),
    Root.DECIMAL: lambda v: Decimal(str(v)),
    Root.FLOAT: float,
    Root.DOUBLE: float,
    Root.DATE: lambda v: date.fromisoformat(v),
    Root.TIME: lambda v: Time.fromisoformat(v),
    Root.TIMESTAMP: _time,
    Root.TIMESTAMP_LTZ: _time,
    Root.BINARY: lambda v: base64.b64decode(v, validate=True),
    Root.VARBINARY: lambda v: base64.b64decode(v, validate=True),
}


_READ: Mapping[Root, Callable[[Any], Any]] = {
    **_SCALARS,
    Root.TINYINT: _of_bits(8),
    Root.SMALLINT: _of_bits(16),
    Root.INT: _of_bits(32),
    Root.BIGINT: _of_bits(64),
    **dict.fromkeys((Root.FLOAT, Root.DOUBLE), lambda v: float(_no_boolean(v))),
    Root.BOOLEAN: _truth,
}
"""Of formats that are text: numbers and truth values may stand in quotes, as Flink's JSON and CSV formats read them."""

_NESTED = {Root.ARRAY: list, Root.MAP: dict, Root.ROW: dict}


def _typed(value: Any, t: DataType, scalars: Mapping[Root, Callable[[Any], Any]] = _SCALARS) -> Any:
    """Return a JSON value as what fastavro takes for a type. Raises ValueError, TypeError or ArithmeticError."""
    if value is None:
        return None
    if (kind := _NESTED.get(t.root)) is not None and not isinstance(value, kind):
        raise ValueError(value)
    match t.root:
        case Root.ARRAY:
            return [_typed(v, t.element, scalars) for v in value]
        case Root.MAP:
            return {k: _typed(v, t.value, scalars) for k, v in value.items()}
        case Root.ROW:
            if unknown := value.keys() - {f.name for f in t.fields}:
                raise ValueError(unknown)
            return {f.name: _typed(value.get(f.name), f.type, scalars) for f in t.fields}
        case _:
            return scalars.get(t.root, lambda v: v)(value)
