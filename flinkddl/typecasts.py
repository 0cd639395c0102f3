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
    **dict.fromkeys(_TEXT, _SIMPLE | T.BYTES_FAMILY | T.DATETIME),
    **dict.fromkeys(T.BYTES_FAMILY, T.BYTES_FAMILY | T.CHARACTER),
    Root.BOOLEAN: _SIMPLE,
    **dict.fromkeys(T.NUMERIC, _SIMPLE),
    **dict.fromkeys(T.INTEGER, _SIMPLE | T.INTERVAL),
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
        if target.root in T.INTERVAL and source.root in T.NUMERIC | T.CHARACTER:
            hint = "; multiply an interval of one unit instead: a * INTERVAL '1' SECOND"
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
    if target.root in T.INTERVAL and source.root not in T.INTERVAL and " TO " in (target.qualifier or ""):
        return False  # a number is an amount of one unit
    return target.root in _ALLOWED.get(source.root, frozenset())


def _part(a: DataType, b: DataType) -> bool:
    try:
        check_cast(a, b)
    except CastRefused:
        return False
    return True
