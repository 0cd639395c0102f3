"""Which values Flink passes where a function wants a type, as they are or cast. Source: LogicalTypeCasts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl import sqltypes as T
from flinkddl.sqltypes import Root

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flinkddl.sqltypes import DataType

_UP_TO: dict[Root, frozenset[Root] | set[Root]] = {
    Root.TINYINT: {Root.TINYINT},
    Root.SMALLINT: {Root.TINYINT, Root.SMALLINT},
    Root.INT: {Root.TINYINT, Root.SMALLINT, Root.INT},
    Root.BIGINT: T.INTEGER,
}
_IMPLICIT: dict[Root, frozenset[Root] | set[Root]] = {
    **_UP_TO,
    Root.VARCHAR: T.CHARACTER,
    Root.VARBINARY: T.BYTES_FAMILY,
    Root.DECIMAL: T.NUMERIC,
    Root.FLOAT: T.EXACT | {Root.FLOAT},
    Root.DOUBLE: T.NUMERIC,
    Root.DATE: {Root.DATE, Root.TIMESTAMP},
    Root.TIME: {Root.TIME, Root.TIMESTAMP},
    Root.TIMESTAMP: T.TIMESTAMPS,
    Root.TIMESTAMP_LTZ: T.TIMESTAMPS,
}
"""From which roots each is cast to implicitly; those that are not named take their own alone."""


def _parts(t: DataType) -> Sequence[DataType]:
    return t.children or tuple(f.type for f in t.fields)


def casts_implicitly(source: DataType, target: DataType) -> bool:
    """Whether Flink casts the one to the other by itself: ``supportsImplicitCast``."""
    if source.nullable and not target.nullable:
        return False
    if source.as_attribute(None).not_null() == target.not_null() or source.root is Root.NULL:
        return True
    if _parts(source) or _parts(target):
        return _alike(source, target) and _pairwise(source, target, casts_implicitly)
    if Root.RAW in (source.root, target.root):
        return False
    return source.root in _IMPLICIT.get(target.root, {target.root})


def needs_no_cast(source: DataType, target: DataType) -> bool:
    """Whether a value is passed as it is: ``supportsAvoidingCast``."""
    if source.nullable and not target.nullable:
        return False
    if _parts(source) or _parts(target):
        return _alike(source, target) and _pairwise(source, target, needs_no_cast)
    for family, holds in ((T.CHARACTER, Root.VARCHAR), (T.BYTES_FAMILY, Root.VARBINARY)):
        if target.root is holds and source.root in family and (source.precision or 0) <= (target.precision or 0):
            return True
    if target.root in T.INTERVAL:
        return source.root is target.root
    return source.as_attribute(None).not_null() == target.not_null()


def _alike(source: DataType, target: DataType) -> bool:
    """A ROW and a structured type go into each other, two structured types of different classes do not."""
    classes = {t.qualifier for t in (source, target)} - {None}
    return source.root is target.root and len(classes) < 2


def _pairwise(source: DataType, target: DataType, test: Callable[[DataType, DataType], bool]) -> bool:
    mine, theirs = _parts(source), _parts(target)
    return len(mine) == len(theirs) and all(map(test, mine, theirs))
