"""What a condition allows: to be computed elsewhere, to be put together, to rule out rows that are padded with NULL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.functions.catalogue import lookup
from flinkddl.plan.rex import Call, InputRef, Rex, references, size, substituted_size, walk

if TYPE_CHECKING:
    from collections.abc import Sequence

Conditions = tuple[Rex, ...]
_OPERATORS = frozenset(("=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "||"))
_STRICT = _OPERATORS | {"LIKE", "CAST", "FIELD", "NEGATE", "UPPER", "LOWER", "ABS"}
_BLOAT = 100


def deterministic(rex: Rex) -> bool:
    """Whether computing an expression twice, or elsewhere, gives the same value."""
    for r in walk(rex):
        found = lookup(r.function) if isinstance(r, Call) else None
        if found is not None and not found.deterministic:
            return False
        if isinstance(r, Call) and r.function == "JAVA" and not r.option("call").deterministic:
            return False
    return True


def fits(exprs: Sequence[Rex], below: Sequence[Rex]) -> bool:
    """Whether expressions over others stay small with those put into them.

    Calcite's rule (RelOptUtil.pushPastProjectUnlessBloat): as large as both, and a hundred more. ``a + a`` over
    ``a + a``, and so on, is twice as large with each view.
    """
    if all(isinstance(e, InputRef) for e in below):
        return True
    before = sum(map(size, exprs)) + sum(map(size, below))
    return sum(substituted_size(e, below) for e in exprs) <= before + _BLOAT


def by_side(parts: Sequence[Rex], width: int) -> tuple[Conditions, Conditions, Conditions]:
    """Sort conditions over two inputs, the first of ``width`` fields: of the first alone, of the second, the rest."""
    out: tuple[list[Rex], list[Rex], list[Rex]] = ([], [], [])
    for p in parts:
        sides = {i >= width for i in references(p)}
        out[sides.pop() if len(sides) == 1 and deterministic(p) else 2].append(p)
    return tuple(out[0]), tuple(out[1]), tuple(out[2])


def rejects_null(condition: Rex) -> frozenset[int]:
    """Return fields that must not be NULL for the condition to be TRUE."""
    match condition:
        case Call(function="IS NOT NULL" | "IS TRUE" | "IS FALSE" | "NOT" | "IN", args=(arg, *_)):
            return _strict(arg)
        case Call(function="AND", args=args):
            return frozenset().union(*map(rejects_null, args))
        case Call(function="OR", args=args):
            return frozenset.intersection(*map(rejects_null, args))
    return _strict(condition)


def _strict(rex: Rex) -> frozenset[int]:
    """Return fields whose NULL makes the expression NULL."""
    match rex:
        case InputRef():
            return frozenset({rex.index})
        case Call(function=f, args=args) if f in _STRICT:
            return frozenset().union(*map(_strict, args))
    return frozenset()
