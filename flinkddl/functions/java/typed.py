"""A Flink type with its conversion class: what Flink's ``DataType`` is to its ``LogicalType``."""

from __future__ import annotations

from dataclasses import dataclass, replace

from flinkddl import sqltypes as T
from flinkddl.functions.java.jtypes import BOXES
from flinkddl.sqltypes import DataType, Root

ROW = "org.apache.flink.types.Row"
ROW_DATA = "org.apache.flink.table.data.RowData"
LIST_VIEW = "org.apache.flink.table.api.dataview.ListView"
MAP_VIEW = "org.apache.flink.table.api.dataview.MapView"
INTERNAL = frozenset(
    f"org.apache.flink.table.data.{n}Data"
    for n in ("Row", "String", "Timestamp", "Decimal", "Array", "Map", "RawValue")
)
"""Flink's own forms of values. What is inside of one is one too."""

_UNBOXED = {box: primitive for primitive, box in BOXES.items()}
_STRING_DATA, _TIMESTAMP_DATA = "org.apache.flink.table.data.StringData", "org.apache.flink.table.data.TimestampData"
_INT, _LONG = ("java.lang.Integer", "int"), ("java.lang.Long", "long")
_VARIANT = "org.apache.flink.types.variant."

_CONVERSIONS: dict[Root, tuple[str, ...]] = {
    **dict.fromkeys(T.CHARACTER, ("java.lang.String", "byte[]", _STRING_DATA)),
    **dict.fromkeys(T.BYTES_FAMILY, ("byte[]",)),
    Root.BOOLEAN: ("java.lang.Boolean", "boolean"),
    Root.DECIMAL: ("java.math.BigDecimal", "org.apache.flink.table.data.DecimalData"),
    Root.TINYINT: ("java.lang.Byte", "byte"),
    Root.SMALLINT: ("java.lang.Short", "short"),
    Root.INT: _INT,
    Root.BIGINT: _LONG,
    Root.FLOAT: ("java.lang.Float", "float"),
    Root.DOUBLE: ("java.lang.Double", "double"),
    Root.DATE: ("java.time.LocalDate", "java.sql.Date", *_INT),
    Root.TIME: ("java.time.LocalTime", "java.sql.Time", *_INT, *_LONG),
    Root.TIMESTAMP: ("java.time.LocalDateTime", "java.sql.Timestamp", _TIMESTAMP_DATA),
    Root.TIMESTAMP_LTZ: ("java.time.Instant", *_INT, *_LONG, _TIMESTAMP_DATA, "java.sql.Timestamp"),
    Root.INTERVAL_YEAR_MONTH: ("java.time.Period", *_INT),
    Root.INTERVAL_DAY_TIME: ("java.time.Duration", *_LONG),
    Root.MULTISET: ("java.util.Map", "org.apache.flink.table.data.MapData"),
    Root.MAP: ("java.util.Map", "org.apache.flink.table.data.MapData"),
    Root.ROW: (ROW, ROW_DATA),
    Root.VARIANT: (f"{_VARIANT}Variant", f"{_VARIANT}BinaryVariant"),
    Root.RAW: ("java.lang.Object", "byte[]", "org.apache.flink.table.data.RawValueData"),
    Root.NULL: ("java.lang.Object",),
}
"""The classes that carry a type, the default first. Source: the conversion sets of Flink's LogicalType classes."""


@dataclass(frozen=True)
class Typed:
    """A Flink type, the class that carries its values, and the same of its parts: element; key, value; fields."""

    type: DataType
    bridge: str
    parts: tuple[Typed, ...] = ()

    def bridged(self, name: str) -> Typed:
        """Return the same type carried by another class. Source: DataType.bridgedTo and its subclasses."""
        if self.type.root is Root.ARRAY and name.endswith("[]"):
            return replace(self, bridge=name, parts=tuple(p.bridged(name[:-2]) for p in self.parts))
        return replace(self, bridge=name)

    @property
    def text(self) -> str:
        """The bridge as ``spec`` describes it: with those of the parts, where one is not its type's default."""
        if self.bridge in INTERNAL or all(p == default(as_row(p.type)) for p in self.parts):
            return self.bridge
        return f"{self.bridge}<{','.join(p.text for p in self.parts)}>"

    def converts(self, name: str) -> bool:
        """Whether Flink converts values of the type to a class or from it: ``LogicalType.supports*Conversion``."""
        if self.type.root is Root.ARRAY:
            if name in ("java.util.List", "org.apache.flink.table.data.ArrayData"):
                return True
            return name.endswith("[]") and self.parts[0].converts(name[:-2])
        return name == self.bridge or name in _CONVERSIONS.get(self.type.root, ())


def default(t: DataType) -> Typed:
    """Return a type with its default class: ``LogicalType.getDefaultConversion``."""
    parts = tuple(default(p) for p in (*t.children, *(f.type for f in t.fields)))
    if t.root is Root.ARRAY:
        return Typed(t, f"{parts[0].bridge}[]", parts)
    if t.root is Root.ROW and t.qualifier is not None:
        return Typed(t, t.qualifier, parts)
    return Typed(t, _CONVERSIONS[t.root][0] if t.root in _CONVERSIONS else "java.lang.Object", parts)


def array(element: Typed, bridge: str | None = None) -> Typed:
    """Return the ARRAY of an element."""
    return Typed(T.ARRAY(element.type), bridge or f"{element.bridge}[]", (element,))


def mapping(key: Typed, value: Typed, bridge: str = "java.util.Map") -> Typed:
    """Return the MAP of a key and a value."""
    return Typed(T.MAP(key.type, value.type), bridge, (key, value))


def structured(name: str, fields: list[tuple[str, Typed]]) -> Typed:
    """Return the structured type of a class."""
    made = T.STRUCTURED(name, *((n, t.type) for n, t in fields))
    return Typed(made, name, tuple(t for _, t in fields))


def as_row(t: DataType) -> DataType:
    """Return a type whose structured types are the ROWs of their fields, as Spark's side takes it."""
    fields = tuple(replace(f, type=as_row(f.type)) for f in t.fields)
    qualifier = None if t.root is Root.ROW else t.qualifier
    return replace(t, fields=fields, children=tuple(map(as_row, t.children)), qualifier=qualifier)


def boxed(name: str) -> str:
    """Return the class around a primitive; any other name as it is."""
    return BOXES.get(name, name)


def unboxed(name: str) -> str | None:
    """Return the primitive in a class, or None."""
    return _UNBOXED.get(name)


_TIMES: dict[str, DataType] = {
    "java.sql.Date": T.DATE,
    "java.time.LocalDate": T.DATE,
    "java.sql.Time": T.TIME(0),
    "java.time.LocalTime": T.TIME(9),
    "java.sql.Timestamp": T.TIMESTAMP(9),
    "java.time.LocalDateTime": T.TIMESTAMP(9),
    "java.time.Instant": T.TIMESTAMP_LTZ(9),
    "java.time.Duration": T.INTERVAL_DT("SECOND", None, 9),
    "java.time.Period": T.INTERVAL_YM("YEAR TO MONTH", 4),
}
_SCALARS: dict[str, DataType] = {
    "java.lang.String": T.STRING,
    "boolean": T.BOOLEAN,
    "byte": T.TINYINT,
    "short": T.SMALLINT,
    "int": T.INT,
    "long": T.BIGINT,
    "float": T.FLOAT,
    "double": T.DOUBLE,
    f"{_VARIANT}Variant": T.VARIANT,
    f"{_VARIANT}BinaryVariant": T.VARIANT,
}


def of_class(name: str) -> Typed | None:
    """Return the type that a class alone says, or None. Source: ClassDataTypeConverter."""
    if name == "byte[]":
        return Typed(T.BYTES, name)
    known = _TIMES.get(name) or _SCALARS.get(name) or _SCALARS.get(unboxed(name) or "")
    if known is None:
        return None
    return Typed(known.with_nullable(name not in BOXES), name)
