"""Flink's logical types as values: how they print, which Spark type carries them, and how they relate.

Source of the rules: Flink's LogicalType classes, LogicalTypeCasts and LogicalTypeMerging.

Spark carries them so (session time zone always UTC):

- TIMESTAMP(p) is TIMESTAMP_NTZ; as a rowtime attribute it is TIMESTAMP, because Spark's watermark demands that.
- TIMESTAMP_LTZ(p) is TIMESTAMP; the zone of ``table.local-time-zone`` is an explicit argument wherever it matters.
- TIME(p) is INT, milliseconds of the day, which is what Flink itself holds.
- MULTISET<t> is MAP<t, INT>; CHAR and VARCHAR are STRING; lengths are enforced by casts and sinks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Literal

MAX_LENGTH = 2147483647
MAX_DECIMAL = 38
TimeAttribute = Literal["ROWTIME", "PROCTIME"]


class Root(Enum):
    """The kind of a type; the value is how Flink prints it."""

    CHAR = "CHAR"
    VARCHAR = "VARCHAR"
    BINARY = "BINARY"
    VARBINARY = "VARBINARY"
    BOOLEAN = "BOOLEAN"
    DECIMAL = "DECIMAL"
    TINYINT = "TINYINT"
    SMALLINT = "SMALLINT"
    INT = "INT"
    BIGINT = "BIGINT"
    FLOAT = "FLOAT"
    DOUBLE = "DOUBLE"
    DATE = "DATE"
    TIME = "TIME"
    TIMESTAMP = "TIMESTAMP"
    TIMESTAMP_LTZ = "TIMESTAMP_LTZ"
    INTERVAL_YEAR_MONTH = "INTERVAL YEAR TO MONTH"
    INTERVAL_DAY_TIME = "INTERVAL DAY TO SECOND"
    ARRAY = "ARRAY"
    MULTISET = "MULTISET"
    MAP = "MAP"
    ROW = "ROW"
    VARIANT = "VARIANT"
    RAW = "RAW"
    NULL = "NULL"
    SYMBOL = "SYMBOL"
    DESCRIPTOR = "DESCRIPTOR"


@dataclass(frozen=True)
class RowField:
    """A field of a ROW type."""

    name: str
    type: DataType
    comment: str | None = None


@dataclass(frozen=True)
class DataType:
    """A logical type. Only the attributes that its root knows are set; build one with the functions below.

    ``precision`` is the length of character and byte types, the precision of DECIMAL, TIME and timestamps, or the
    leading precision of an interval; ``scale`` the scale of DECIMAL or the fraction of an interval; ``children`` the
    element, key and value types; ``qualifier`` an interval's units (``DAY TO SECOND``), a RAW class name, or the class
    of a structured type, which is a ROW for all that is done with it.
    """

    root: Root
    nullable: bool = True
    precision: int | None = None
    scale: int | None = None
    children: tuple[DataType, ...] = ()
    fields: tuple[RowField, ...] = ()
    qualifier: str | None = None
    time_attribute: TimeAttribute | None = None

    def with_nullable(self, nullable: bool) -> DataType:
        """Return this type, nullable or not."""
        if self.nullable is nullable:
            return self
        return replace(self, nullable=nullable)

    def not_null(self) -> DataType:
        """Return this type as NOT NULL."""
        return self.with_nullable(False)

    def as_attribute(self, attribute: TimeAttribute | None) -> DataType:
        """Return this timestamp type marked as a time attribute, or as none."""
        return self if self.time_attribute is attribute else replace(self, time_attribute=attribute)

    @property
    def element(self) -> DataType:
        """Element type of an ARRAY or MULTISET."""
        return self.children[0]

    @property
    def key(self) -> DataType:
        """Key type of a MAP."""
        return self.children[0]

    @property
    def value(self) -> DataType:
        """Value type of a MAP."""
        return self.children[1]

    def is_a(self, *families: frozenset[Root]) -> bool:
        """Whether the root belongs to one of the families below."""
        return any(self.root in f for f in families)

    @property
    def summary(self) -> str:
        """The type as Flink prints it in results, without NOT NULL and time attribute."""
        return _print(self)

    def __str__(self) -> str:
        return _print(self) + ("" if self.nullable else " NOT NULL")


CHARACTER = frozenset({Root.CHAR, Root.VARCHAR})
BYTES_FAMILY = frozenset({Root.BINARY, Root.VARBINARY})
INTEGER = frozenset({Root.TINYINT, Root.SMALLINT, Root.INT, Root.BIGINT})
EXACT = INTEGER | {Root.DECIMAL}
APPROXIMATE = frozenset({Root.FLOAT, Root.DOUBLE})
NUMERIC = EXACT | APPROXIMATE
TIMESTAMPS = frozenset({Root.TIMESTAMP, Root.TIMESTAMP_LTZ})
DATETIME = TIMESTAMPS | {Root.DATE, Root.TIME}
PLAIN = CHARACTER | NUMERIC | {Root.BOOLEAN, Root.DATE, Root.TIME, Root.TIMESTAMP}
"""What a text of a file or the name of a folder can be."""
INTERVAL = frozenset({Root.INTERVAL_YEAR_MONTH, Root.INTERVAL_DAY_TIME})
COLLECTION = frozenset({Root.ARRAY, Root.MULTISET, Root.MAP})


def CHAR(n: int = 1) -> DataType:
    """CHAR(n), fixed length in characters."""
    return DataType(Root.CHAR, precision=n)


def VARCHAR(n: int = MAX_LENGTH) -> DataType:
    """VARCHAR(n); the maximum prints as STRING."""
    return DataType(Root.VARCHAR, precision=n)


def BINARY(n: int = 1) -> DataType:
    """BINARY(n), fixed length in bytes."""
    return DataType(Root.BINARY, precision=n)


def VARBINARY(n: int = MAX_LENGTH) -> DataType:
    """VARBINARY(n); the maximum prints as BYTES."""
    return DataType(Root.VARBINARY, precision=n)


def DECIMAL(p: int = 10, s: int = 0) -> DataType:
    """DECIMAL(p, s), 1 <= p <= 38."""
    return DataType(Root.DECIMAL, precision=p, scale=s)


def TIME(p: int = 0) -> DataType:
    """TIME(p) without time zone."""
    return DataType(Root.TIME, precision=p)


def TIMESTAMP(p: int = 6) -> DataType:
    """TIMESTAMP(p) without time zone."""
    return DataType(Root.TIMESTAMP, precision=p)


def TIMESTAMP_LTZ(p: int = 6) -> DataType:
    """TIMESTAMP(p) with local time zone: an instant."""
    return DataType(Root.TIMESTAMP_LTZ, precision=p)


def ARRAY(element: DataType) -> DataType:
    """ARRAY<element>."""
    return DataType(Root.ARRAY, children=(element,))


def MULTISET(element: DataType) -> DataType:
    """MULTISET<element>."""
    return DataType(Root.MULTISET, children=(element,))


def MAP(key: DataType, value: DataType) -> DataType:
    """MAP<key, value>."""
    return DataType(Root.MAP, children=(key, value))


def ROW(*fields: RowField | tuple[str, DataType]) -> DataType:
    """ROW<name type, ...>."""
    return DataType(Root.ROW, fields=tuple(f if isinstance(f, RowField) else RowField(*f) for f in fields))


def STRUCTURED(name: str, *fields: tuple[str, DataType]) -> DataType:
    """STRUCTURED<'name', name type, ...>: the fields of a Java class."""
    return replace(ROW(*fields), qualifier=name)


def INTERVAL_YM(qualifier: str = "YEAR TO MONTH", precision: int | None = None) -> DataType:
    """A year-month interval."""
    return DataType(Root.INTERVAL_YEAR_MONTH, qualifier=qualifier, precision=precision)


def INTERVAL_DT(
    qualifier: str = "DAY TO SECOND", precision: int | None = None, fraction: int | None = None
) -> DataType:
    """A day-time interval; Flink holds it in milliseconds."""
    return DataType(Root.INTERVAL_DAY_TIME, qualifier=qualifier, precision=precision, scale=fraction)


BOOLEAN = DataType(Root.BOOLEAN)
TINYINT = DataType(Root.TINYINT)
SMALLINT = DataType(Root.SMALLINT)
INT = DataType(Root.INT)
BIGINT = DataType(Root.BIGINT)
FLOAT = DataType(Root.FLOAT)
DOUBLE = DataType(Root.DOUBLE)
DATE = DataType(Root.DATE)
STRING = VARCHAR()
BYTES = VARBINARY()
VARIANT = DataType(Root.VARIANT)
NULL = DataType(Root.NULL)
SYMBOL = DataType(Root.SYMBOL)
DESCRIPTOR = DataType(Root.DESCRIPTOR)
PROCTIME = TIMESTAMP_LTZ(3).as_attribute("PROCTIME").not_null()


def _print(t: DataType) -> str:
    match t.root:
        case Root.VARCHAR if t.precision == MAX_LENGTH:
            return "STRING"
        case Root.VARBINARY if t.precision == MAX_LENGTH:
            return "BYTES"
        case Root.CHAR | Root.VARCHAR | Root.BINARY | Root.VARBINARY | Root.TIME | Root.TIMESTAMP | Root.TIMESTAMP_LTZ:
            return f"{t.root.value}({t.precision})"
        case Root.DECIMAL:
            return f"DECIMAL({t.precision}, {t.scale})"
        case Root.ARRAY | Root.MULTISET | Root.MAP:
            return f"{t.root.value}<{', '.join(map(str, t.children))}>"
        case Root.ROW if t.qualifier is not None:
            return f"STRUCTURED<'{t.qualifier}', {', '.join(_print_field(f) for f in t.fields)}>"
        case Root.ROW:
            return f"ROW<{', '.join(_print_field(f) for f in t.fields)}>"
        case Root.INTERVAL_YEAR_MONTH | Root.INTERVAL_DAY_TIME:
            return f"INTERVAL {_print_units(t)}"
        case Root.RAW:
            return f"RAW({t.qualifier})"
        case _:
            return t.root.value


def _print_field(f: RowField) -> str:
    comment = "" if f.comment is None else " '" + f.comment.replace("'", "''") + "'"
    return f"{quote(f.name)} {f.type}{comment}"


def _print_units(t: DataType) -> str:
    first, _, last = (t.qualifier or "").partition(" TO ")
    leading = f"{first}({t.precision})" if t.precision is not None and first != "SECOND" else first
    if not last:
        return f"{leading}({t.scale})" if t.scale is not None and first == "SECOND" else leading
    return f"{leading} TO {last}" + (f"({t.scale})" if t.scale is not None and last == "SECOND" else "")


_SAME = INTEGER | APPROXIMATE | BYTES_FAMILY | INTERVAL | {Root.BOOLEAN, Root.DATE, Root.VARIANT}
_SPARK = {root: root.value for root in _SAME} | {
    **dict.fromkeys(CHARACTER, "STRING"),
    Root.VARBINARY: "BINARY",
    Root.TIME: "INT",
    Root.TIMESTAMP_LTZ: "TIMESTAMP",
    Root.NULL: "VOID",
}
"""Spark's names, of most types Flink's own; those of the rest are made below."""


def spark_type(t: DataType) -> str:
    """Return the Spark SQL type that carries ``t``, as DDL text. Raises KeyError for RAW, SYMBOL and DESCRIPTOR."""
    match t.root:
        case Root.DECIMAL:
            return f"DECIMAL({t.precision},{t.scale})"
        case Root.TIMESTAMP:
            return "TIMESTAMP" if t.time_attribute == "ROWTIME" else "TIMESTAMP_NTZ"
        case Root.ARRAY:
            return f"ARRAY<{spark_type(t.element)}>"
        case Root.MULTISET:
            return f"MAP<{spark_type(t.element)},INT>"
        case Root.MAP:
            return f"MAP<{spark_type(t.key)},{spark_type(t.value)}>"
        case Root.ROW:
            return f"STRUCT<{','.join(f'{quote(f.name)}:{spark_type(f.type)}' for f in t.fields)}>"
        case _:
            return _SPARK[t.root]


# Spark does not compare them, so nothing can tell whether such a value changed
_INCOMPARABLE = frozenset({Root.MAP, Root.MULTISET, Root.VARIANT, Root.RAW})


def comparable(t: DataType) -> bool:
    """Whether Spark can compare two values of the type for equality."""
    return t.root not in _INCOMPARABLE and all(map(comparable, (*t.children, *(f.type for f in t.fields))))


def quote(name: str) -> str:
    """Return a name in back-ticks, as both Flink and Spark read it."""
    return "`" + name.replace("`", "``") + "`"


QUOTED = r"`((?:[^`]|``)*)`"
"""A name in back-ticks, as a pattern whose group ``unquote`` reads."""


def unquote(text: str) -> str:
    """Return a name from what stands between its back-ticks."""
    return text.replace("``", "`")
