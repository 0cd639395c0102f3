"""Rows on the driver with their row kind, and as the text that Flink prints for them."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from flinkddl.spark.context import DELETED, SEQUENCE, VERSION, WEIGHT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql.types import DataType, StructType

RowKind = Literal["+I", "-U", "+U", "-D"]
RESERVED = (WEIGHT, VERSION, DELETED, SEQUENCE)
Values = tuple[Any, ...]


@dataclass(frozen=True)
class Change:
    """One row of a changelog: its kind and the values of the visible columns."""

    kind: RowKind
    row: Values


@dataclass
class ChangeReader:
    """Turns the rows of successive batches into changes with Flink's row kinds; remembers the rows of an upsert stream.

    ``columns`` are the columns of the relation, reserved ones included; ``key`` the names of the key columns, none
    of a relation of one row: a row taken back and a new one of the same key are one update.
    """

    columns: Sequence[str]
    key: Sequence[str] | None = None
    _rows: dict[Values, Values] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._place = {name: i for i, name in enumerate(self.columns)}
        self.visible = tuple(i for i, name in enumerate(self.columns) if name not in RESERVED)
        self._keys = tuple(self._place[name] for name in self.key or ())

    def read(self, rows: Iterable[Sequence[Any]]) -> list[Change]:
        """Return the changes that one batch of rows means, in order."""
        ordered = self._in_order(rows)
        if WEIGHT in self._place:
            return list(self._deltas(ordered))
        if DELETED in self._place:
            return [change for row in ordered for change in self._upsert(row)]
        return [Change("+I", self._values(row)) for row in ordered]

    def _in_order(self, rows: Iterable[Sequence[Any]]) -> list[Sequence[Any]]:
        order = next((self._place[name] for name in (SEQUENCE, VERSION) if name in self._place), None)
        return list(rows) if order is None else sorted(rows, key=lambda row: row[order] or 0)

    def _values(self, row: Sequence[Any]) -> Values:
        return tuple(row[i] for i in self.visible)

    def _deltas(self, rows: Iterable[Sequence[Any]]) -> Iterator[Change]:
        """Weights summed per row: what is taken back first, then what is new."""
        net: dict[str, tuple[Values, int]] = {}
        for row in rows:
            values = self._values(row)
            name = repr(values)  # rows may hold arrays and maps, which cannot be keys
            net[name] = (values, net.get(name, (values, 0))[1] + row[self._place[WEIGHT]])
        gone = [values for values, weight in net.values() for _ in range(-weight)]
        come = [values for values, weight in net.values() for _ in range(weight)]
        updates = self._updates(gone, come)
        yield from (Change("-D", values) for values in gone if id(values) not in updates)
        for values in come:
            before = updates.get(id(values))
            if before is not None:
                yield Change("-U", before)
            yield Change("+I" if before is None else "+U", values)

    def _updates(self, gone: list[Values], come: list[Values]) -> dict[int, Values | None]:
        """Return new row -> the row it replaces, by identity; replaced rows are in it too, with None."""
        if self.key is None:
            return {}
        old, new = self._by_key(gone), self._by_key(come)
        pairs = [(old[key][0], rows[0]) for key, rows in new.items() if len(rows) == 1 == len(old.get(key, ()))]
        return {id(a): None for a, _ in pairs} | {id(b): a for a, b in pairs}

    def _by_key(self, rows: list[Values]) -> dict[str, list[Values]]:
        visible = {place: i for i, place in enumerate(self.visible)}
        out: dict[str, list[Values]] = {}
        for row in rows:
            out.setdefault(repr([row[visible[k]] for k in self._keys]), []).append(row)
        return out

    def _upsert(self, row: Sequence[Any]) -> Iterator[Change]:
        values = self._values(row)
        key = tuple(row[i] for i in self._keys) if self._keys else values
        before = self._rows.get(key)
        if row[self._place[DELETED]]:
            if before is not None:
                yield Change("-D", self._rows.pop(key))
            return
        if before == values:
            return
        self._rows[key] = values
        if before is None:
            yield Change("+I", values)
        else:
            yield Change("-U", before)
            yield Change("+U", values)


def flink_line(change: Change, types: Sequence[DataType]) -> str:
    """Return a change as Flink's print sink writes it: ``+U[1, a, null]``."""
    texts = [flink_text(value, t) for value, t in zip(change.row, types, strict=True)]
    return f"{change.kind}[{', '.join(texts)}]"


def visible_types(schema: StructType) -> list[DataType]:
    """Return the types of the columns that are not reserved."""
    return [f.dataType for f in schema.fields if f.name not in RESERVED]


def flink_text(value: Any, t: DataType) -> str:
    """Return a value of a Spark type as Java prints the class that Flink uses for it."""
    if value is None:
        return "null"
    match t.typeName():
        case "boolean":
            return "true" if value else "false"
        case "float":
            return java_number(value, single=True)
        case "double":
            return java_number(value)
        case "decimal":
            return str(value) if isinstance(value, Decimal) else repr(value)
        case "binary":
            return "[" + ", ".join(str(b - 256 if b > 127 else b) for b in bytes(value)) + "]"
        case "timestamp_ntz":
            return local_text(value)
        case "timestamp":
            return instant_text(value)
        case "date":
            return value.isoformat() if isinstance(value, date) else str(value)
        case _:
            return _nested_text(value, t)


def _nested_text(value: Any, t: Any) -> str:
    match t.typeName():
        case "array":
            return "[" + ", ".join(flink_text(v, t.elementType) for v in value) + "]"
        case "map":
            pairs = (f"{flink_text(k, t.keyType)}={flink_text(v, t.valueType)}" for k, v in value.items())
            return "{" + ", ".join(pairs) + "}"
        case "struct":
            return "+I[" + ", ".join(flink_text(v, f.dataType) for v, f in zip(value, t.fields, strict=True)) + "]"
        case _:
            return str(value)


def local_text(value: datetime) -> str:
    """Return a wall time as ``LocalDateTime.toString``: seconds if not zero, fractions by three digits."""
    text = value.strftime(f"{value.year:04d}-%m-%dT%H:%M")
    if value.second == 0 and value.microsecond == 0:
        return text
    return text + f":{value.second:02d}{_fraction(value.microsecond)}"


def instant_text(value: datetime) -> str:
    """Return an instant as ``Instant.toString``; PySpark hands it over in this process's own zone."""
    utc = value.astimezone(UTC)
    return utc.strftime(f"{utc.year:04d}-%m-%dT%H:%M:%S") + _fraction(utc.microsecond) + "Z"


def _fraction(microseconds: int) -> str:
    if microseconds == 0:
        return ""
    return f".{microseconds // 1000:03d}" if microseconds % 1000 == 0 else f".{microseconds:06d}"


def java_number(value: float, *, single: bool = False) -> str:
    """Return a number as ``Double.toString`` (``Float.toString`` for ``single``) writes it.

    >>> java_number(1.0), java_number(1e10), java_number(0.0001), java_number(0.1, single=True)
    ('1.0', '1.0E10', '1.0E-4', '0.1')
    """
    if math.isnan(value) or math.isinf(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    sign, digits, exponent = Decimal(_shortest_single(value) if single else repr(value)).normalize().as_tuple()
    minus, text = "-" if sign or str(value).startswith("-") else "", "".join(map(str, digits))
    if value == 0:
        return f"{minus}0.0"
    power = len(text) + int(exponent) - 1
    if -3 <= power < 7:
        whole = text[: power + 1].ljust(power + 1, "0") if power >= 0 else "0"
        rest = text[power + 1 :] if power >= 0 else "0" * (-power - 1) + text
        return f"{minus}{whole}.{rest or '0'}"
    return f"{minus}{text[0]}.{text[1:] or '0'}E{power}"


def _shortest_single(value: float) -> str:
    for precision in range(1, 10):
        text = f"{value:.{precision}g}"
        if struct.pack("f", float(text)) == struct.pack("f", value):
            return text
    return repr(value)
