"""Join conditions on two time attributes: the bounds of an interval join."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from flinkddl.plan.rex import MIRROR, Call, InputRef, Literal, Rex, references
from flinkddl.sqltypes import Root

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flinkddl.plan.nodes import Field


@dataclass(frozen=True)
class Bounds:
    """``lower_ms <= left_time - right_time <= upper_ms``; indices into the left and the right side."""

    left_time: int
    right_time: int
    lower_ms: int
    upper_ms: int
    proctime: bool


@dataclass(frozen=True)
class _Test:
    """``left - right OP distance``."""

    left: int
    right: int
    operator: str
    distance: int


def bounds(parts: Sequence[Rex], left: Sequence[Field], right: Sequence[Field]) -> Bounds | None:
    """Return the bounds that conjuncts over (left, right) put on two time attributes from both sides, or None."""
    both = (*left, *right)
    tests = [t for p in parts if (t := _test(p, both, len(left))) is not None]
    for pair in dict.fromkeys((t.left, t.right) for t in tests):
        mine = [t for t in tests if (t.left, t.right) == pair]
        lower = [t.distance + (t.operator == ">") for t in mine if t.operator in (">", ">=", "=")]
        upper = [t.distance - (t.operator == "<") for t in mine if t.operator in ("<", "<=", "=")]
        if lower and upper:
            kind = both[pair[0]].type.time_attribute
            return Bounds(pair[0], pair[1] - len(left), max(lower), min(upper), kind == "PROCTIME")
    return None


def _test(pred: Rex, fields: Sequence[Field], width: int) -> _Test | None:
    if not (isinstance(pred, Call) and pred.function in MIRROR and len(references(pred)) == 2):
        return None
    sides = [_offset(a) for a in pred.args]
    if sides[0] is None or sides[1] is None:
        return None
    (a, a_ms), (b, b_ms) = sides[0], sides[1]
    kinds = {fields[i].type.time_attribute for i in (a, b)}
    if len(kinds) != 1 or None in kinds or (a < width) == (b < width):
        return None
    if a < width:
        return _Test(a, b, pred.function, b_ms - a_ms)
    return _Test(b, a, MIRROR[pred.function], a_ms - b_ms)


def _offset(rex: Rex) -> tuple[int, int] | None:
    """Read ``column +- interval ...`` as (field, milliseconds)."""
    match rex:
        case InputRef():
            return rex.index, 0
        case Call(function="CAST", args=(InputRef() as inner,)) if rex.type.root in (
            Root.TIMESTAMP,
            Root.TIMESTAMP_LTZ,
        ):
            return inner.index, 0
        case Call(function="+" | "-" as f, args=(base, Literal(value=int(ms), type=t))) if (
            t.root is Root.INTERVAL_DAY_TIME
        ):
            found = _offset(base)
            return None if found is None else (found[0], found[1] + (ms if f == "+" else -ms))
        case Call(function="+", args=(Literal(value=int(ms), type=t), base)) if t.root is Root.INTERVAL_DAY_TIME:
            found = _offset(base)
            return None if found is None else (found[0], found[1] + ms)
        case _:
            return None
