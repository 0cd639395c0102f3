"""CAST: which pairs of types Flink allows. Source: LogicalTypeCasts.supportsExplicitCast and the planner's messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl import sqltypes as T
from flinkddl.sqltypes import Root

if TYPE_CHECKING:
    from flinkddl.sqltypes import DataType


class CastRefused(Exception):
    """Flink knows no cast between the two types; the message says so."""


_TEXT = T.CHARACTER
_SIMPLE = T.NUMERIC | T.CHARACTER | {Root.BOOLEAN}
_ALLOWED: dict[Root, frozenset[Root]] = {
    **dict.fromkeys(_TEXT, _SIMPLE | T.BYTES_FAMILY | T.DATETIME | T.INTERVAL),
    **dict.fromkeys(T.BYTES_FAMILY, T.BYTES_FAMILY | T.CHARACTER),
    Root.BOOLEAN: _SIMPLE,
    **dict.fromkeys(T.EXACT, _SIMPLE | T.INTERVAL),
    **dict.fromkeys(T.APPROXIMATE, _SIMPLE),
    Root.DATE: _TEXT | T.TIMESTAMPS | {Root.DATE},
    Root.TIME: _TEXT | T.TIMESTAMPS | {Root.TIME},
    Root.TIMESTAMP: _TEXT | T.DATETIME,
    Root.TIMESTAMP_LTZ: _TEXT | T.DATETIME,
    **{r: _TEXT | {r} for r in T.INTERVAL},
    Root.VARIANT: frozenset({Root.VARIANT}),
    Root.RAW: _TEXT | {Root.RAW},
}


def check_cast(source: DataType, target: DataType) -> None:
    """Raise CastRefused unless Flink casts ``source`` to ``target``."""
    if source.root is Root.NULL or source.not_null() == target.not_null():
        return
    if target.root in _TEXT and (source.children or source.fields):
        return
    if not _allowed(source, target):
        hint = ""
        if source.root in T.NUMERIC and target.root in T.TIMESTAMPS:
            hint = "; use TO_TIMESTAMP_LTZ(number, precision) instead"
        raise CastRefused(f"cannot cast {source.summary} to {target.summary}{hint}")


def _allowed(source: DataType, target: DataType) -> bool:
    if source.children and source.root is target.root:
        return all(_part(a, b) for a, b in zip(source.children, target.children, strict=True))
    if source.root is Root.ROW and target.root is Root.ROW:
        return len(source.fields) == len(target.fields) and all(
            _part(a.type, b.type) for a, b in zip(source.fields, target.fields, strict=True)
        )
    return target.root in _ALLOWED.get(source.root, frozenset())


def _part(a: DataType, b: DataType) -> bool:
    try:
        check_cast(a, b)
    except CastRefused:
        return False
    return True
