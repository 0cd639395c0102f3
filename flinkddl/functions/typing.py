"""How Flink's types combine: common types, decimal arithmetic, implicit casts.

Source: Calcite's leastRestrictive with Flink's type system (CHARs of different length become VARCHAR), Flink's
LogicalTypeMerging for DECIMAL, LogicalTypeCasts.supportsImplicitCast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl import sqltypes as T
from flinkddl.sqltypes import Root

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flinkddl.sqltypes import DataType

_INTEGER_DIGITS = {Root.TINYINT: 3, Root.SMALLINT: 5, Root.INT: 10, Root.BIGINT: 19}
_INTEGER_ORDER = (Root.TINYINT, Root.SMALLINT, Root.INT, Root.BIGINT)
_MIN_SCALE = 6


def as_decimal(t: DataType) -> DataType:
    """Return the DECIMAL that holds every value of an exact numeric type."""
    return t if t.root is Root.DECIMAL else T.DECIMAL(_INTEGER_DIGITS[t.root], 0).with_nullable(t.nullable)


def adjusted_decimal(precision: int, scale: int) -> DataType:
    """Fit DECIMAL(precision, scale) into 38 digits: whole digits win, at least six fractional ones stay."""
    if precision <= T.MAX_DECIMAL:
        return T.DECIMAL(precision, scale)
    return T.DECIMAL(T.MAX_DECIMAL, max(T.MAX_DECIMAL - (precision - scale), min(scale, _MIN_SCALE)))


def decimal_result(operator: str, left: DataType, right: DataType) -> DataType:
    """Return the type of ``left operator right`` for exact numerics of which one is DECIMAL (``+ - * / %``)."""
    a, b = as_decimal(left), as_decimal(right)
    p1, s1, p2, s2 = a.precision or 0, a.scale or 0, b.precision or 0, b.scale or 0
    match operator:
        case "*":
            return adjusted_decimal(p1 + p2 + 1, s1 + s2)
        case "/":
            scale = max(_MIN_SCALE, s1 + p2 + 1)
            return adjusted_decimal(p1 - s1 + s2 + scale, scale)
        case "%":
            scale = max(s1, s2)
            return adjusted_decimal(min(p1 - s1, p2 - s2) + scale, scale)
        case _:
            scale = max(s1, s2)
            return adjusted_decimal(max(p1 - s1, p2 - s2) + scale + 1, scale)


def common_type(types: Sequence[DataType]) -> DataType | None:
    """Return the least restrictive type of all, nullable when one is, or None when there is none.

    Used by CASE, VALUES, set operations, array constructors and comparisons of collections.
    """
    known = [t for t in types if t.root is not Root.NULL]
    nullable = any(t.nullable for t in types)
    if not known:
        return T.NULL if types else None
    result = known[0]
    for t in known[1:]:
        merged = _merge(result, t)
        if merged is None:
            return None
        result = merged
    if len({t.time_attribute for t in known}) > 1:
        result = result.as_attribute(None)
    return result.with_nullable(nullable)


def _merge(a: DataType, b: DataType) -> DataType | None:
    if a.not_null() == b.not_null():
        return a
    if a.root in T.APPROXIMATE and b.root in T.APPROXIMATE:
        return a  # Calcite keeps the first
    if a.is_a(T.NUMERIC) and b.is_a(T.NUMERIC):
        return common_numeric(a, b)
    for family, make in ((T.CHARACTER, _text), (T.BYTES_FAMILY, _bytes)):
        if a.is_a(family) and b.is_a(family):
            return make(a, b)
    if a.is_a(T.TIMESTAMPS) and b.is_a(T.TIMESTAMPS):
        root = a.root if a.root is b.root else Root.TIMESTAMP_LTZ
        make_ts = T.TIMESTAMP_LTZ if root is Root.TIMESTAMP_LTZ else T.TIMESTAMP
        same = a.time_attribute if a.time_attribute == b.time_attribute else None
        return make_ts(max(a.precision or 0, b.precision or 0)).as_attribute(same)
    if a.root is not b.root:
        return None
    match a.root:
        case Root.TIME:
            return T.TIME(max(a.precision or 0, b.precision or 0))
        case Root.INTERVAL_DAY_TIME:
            return T.INTERVAL_DT("SECOND", None, 3)
        case Root.INTERVAL_YEAR_MONTH:
            return T.INTERVAL_YM("MONTH")
        case Root.ARRAY | Root.MULTISET | Root.MAP:
            return _merge_children(a, b)
        case Root.ROW:
            return _merge_rows(a, b)
    return None


def _merge_children(a: DataType, b: DataType) -> DataType | None:
    children = [common_type(pair) for pair in zip(a.children, b.children, strict=True)]
    if any(c is None for c in children):
        return None
    make = {Root.ARRAY: T.ARRAY, Root.MULTISET: T.MULTISET, Root.MAP: T.MAP}[a.root]
    return make(*children)  # type: ignore[operator]


def _merge_rows(a: DataType, b: DataType) -> DataType | None:
    if len(a.fields) != len(b.fields):
        return None
    fields = []
    for x, y in zip(a.fields, b.fields, strict=True):
        merged = common_type((x.type, y.type))
        if merged is None:
            return None
        fields.append(T.RowField(x.name, merged))
    return T.ROW(*fields)


def common_numeric(a: DataType, b: DataType) -> DataType:
    """Return the common type of two numerics (nullable): the wider integer, a DECIMAL for both, else DOUBLE."""
    roots = {a.root, b.root}
    if roots <= T.INTEGER:
        return T.DataType(max(roots, key=_INTEGER_ORDER.index))
    if roots <= T.EXACT:
        x, y = as_decimal(a), as_decimal(b)
        scale = max(x.scale or 0, y.scale or 0)
        whole = max((x.precision or 0) - (x.scale or 0), (y.precision or 0) - (y.scale or 0))
        return adjusted_decimal(whole + scale, scale)
    if Root.DOUBLE in roots or Root.DECIMAL in roots:
        return T.DOUBLE
    return T.FLOAT


def _length(value: int) -> int:
    return min(value, T.MAX_LENGTH)


def _text(a: DataType, b: DataType) -> DataType:
    x, y = a.precision or 0, b.precision or 0
    return T.CHAR(x) if a.root is b.root is Root.CHAR and x == y else T.VARCHAR(max(x, y))


def _bytes(a: DataType, b: DataType) -> DataType:
    x, y = a.precision or 0, b.precision or 0
    return T.BINARY(x) if a.root is b.root is Root.BINARY and x == y else T.VARBINARY(max(x, y))


def concat_type(types: Sequence[DataType]) -> DataType:
    """Return the type of ``||`` over character strings: lengths add up; CHAR only when all are."""
    length = sum(t.precision or 0 for t in types)
    make = T.CHAR if all(t.root is Root.CHAR for t in types) and length <= T.MAX_LENGTH else T.VARCHAR
    return make(_length(length)).with_nullable(any(t.nullable for t in types))


_IMPLICIT: dict[Root, frozenset[Root]] = {
    Root.CHAR: frozenset({Root.CHAR, Root.VARCHAR}),
    Root.VARCHAR: frozenset({Root.VARCHAR}),
    Root.BINARY: frozenset({Root.BINARY, Root.VARBINARY}),
    Root.VARBINARY: frozenset({Root.VARBINARY}),
    Root.TINYINT: frozenset({Root.TINYINT, Root.SMALLINT, Root.INT, Root.BIGINT, *T.APPROXIMATE, Root.DECIMAL}),
    Root.SMALLINT: frozenset({Root.SMALLINT, Root.INT, Root.BIGINT, *T.APPROXIMATE, Root.DECIMAL}),
    Root.INT: frozenset({Root.INT, Root.BIGINT, *T.APPROXIMATE, Root.DECIMAL}),
    Root.BIGINT: frozenset({Root.BIGINT, *T.APPROXIMATE, Root.DECIMAL}),
    Root.DECIMAL: frozenset({Root.DECIMAL, *T.APPROXIMATE}),
    Root.FLOAT: frozenset({Root.FLOAT, Root.DOUBLE, Root.DECIMAL}),
    Root.DOUBLE: frozenset({Root.DOUBLE, Root.DECIMAL}),
    Root.DATE: frozenset({Root.DATE, *T.TIMESTAMPS}),
    Root.TIME: frozenset({Root.TIME, *T.TIMESTAMPS}),
    Root.TIMESTAMP: frozenset({Root.TIMESTAMP, Root.TIMESTAMP_LTZ}),
    Root.TIMESTAMP_LTZ: frozenset({Root.TIMESTAMP_LTZ, Root.TIMESTAMP}),
}


def can_cast_implicitly(source: DataType, target: DataType) -> bool:
    """Whether Flink inserts this cast by itself; NULL fits everything."""
    if source.root is Root.NULL:
        return True
    if source.children or source.fields:
        mine, theirs = _parts(source), _parts(target)
        alike = source.root is target.root and len(mine) == len(theirs)
        return alike and all(map(can_cast_implicitly, mine, theirs))
    return target.root in _IMPLICIT.get(source.root, frozenset({source.root}))


def _parts(t: DataType) -> Sequence[DataType]:
    return t.children or tuple(f.type for f in t.fields)


def strip_attribute(t: DataType) -> DataType:
    """Return the type without time attribute: any computation over it loses the attribute."""
    return t.as_attribute(None) if t.time_attribute else t
