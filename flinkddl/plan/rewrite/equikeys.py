"""Equalities of a join condition: columns of their own where a side is an expression, and the list of key pairs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from flinkddl.functions.typing import common_type
from flinkddl.plan import expressions, make
from flinkddl.plan.conditions import deterministic
from flinkddl.plan.nodes import Field, Join, TemporalJoin
from flinkddl.plan.nodes.values import padded
from flinkddl.plan.rex import Call, InputRef, Rex, conjuncts, references, shift

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flinkddl.plan.nodes import Node

Pairs = tuple[tuple[int, int], ...]
_J = TypeVar("_J", Join, TemporalJoin)
_EQUAL = ("=", "IS NOT DISTINCT FROM")


def equalities(parts: Sequence[Rex], width: int, functions: Sequence[str] = ("=",)) -> Pairs:
    """Return (left field, right field) of each equality between a column of either side."""
    found = []
    for p in parts:
        if isinstance(p, Call) and p.function in functions and len(p.args) == 2:
            a, b = p.args
            if isinstance(a, InputRef) and isinstance(b, InputRef) and (a.index < width) != (b.index < width):
                low, high = sorted((a.index, b.index))
                found.append((low, high - width))
    return tuple(dict.fromkeys(found))


def null_safe(parts: Sequence[Rex], width: int, pairs: Pairs) -> tuple[bool, ...]:
    """Return for each pair whether NULL equals NULL in it (IS NOT DISTINCT FROM)."""
    safe = equalities(parts, width, ("IS NOT DISTINCT FROM",))
    plain = equalities(parts, width)
    return tuple(p in safe and p not in plain for p in pairs)


def with_key_columns(node: _J) -> _J:
    """Return the join with both sides of each equality as columns of one type; extra ones end either side."""
    width = len(node.left.fields)
    parts = [_null_safe_or(p, width) for p in conjuncts(node.condition)]
    sides = [_sides(p, width) for p in parts]
    lefts = [s[0] for s in sides if s is not None and not isinstance(s[0], InputRef)]
    rights = [s[1] for s in sides if s is not None and not isinstance(s[1], InputRef)]
    if not lefts and not rights:
        return replace(node, condition=make.all_of(parts))
    left, left_places = make.append(node.left, lefts)
    right, right_places = make.append(node.right, [shift(r, -width) for r in rights])
    grown = len(left.fields)
    place = dict(zip(lefts, left_places, strict=True)) | {
        r: p + grown for r, p in zip(rights, right_places, strict=True)
    }
    new_parts = []
    for part, pair in zip(parts, sides, strict=True):
        if pair is None or not isinstance(part, Call):
            new_parts.append(shift(part, grown - width, width))
        else:
            args = [_column(s, place, left, right, width, grown) for s in pair]
            new_parts.append(replace(part, args=tuple(args)))
    return replace(
        node, left=left, right=right, condition=make.all_of(new_parts), fields=_fields(node, left, right, width)
    )


def restored(out: Node, before: Join | TemporalJoin) -> Node:
    """Project a join back to the fields it had before key columns were added."""
    left, right = len(before.left.fields), len(before.right.fields)
    if len(out.fields) == len(before.fields):
        return out
    if before.kind in ("semi", "anti"):
        return make.keep(out, range(left))
    grown = len(out.inputs[0].fields)
    wanted = [*range(left), *range(grown, grown + right)]
    return make.project(out, [make.ref(out, i) for i in wanted], [f.name for f in before.fields])


def _sides(part: Rex, width: int) -> tuple[Rex, Rex] | None:
    """Split an equality into its left and its right side, both cast to one type, or return None."""
    if not (isinstance(part, Call) and part.function in _EQUAL and len(part.args) == 2 and deterministic(part)):
        return None
    for a, b in (part.args, part.args[::-1]):
        a_refs, b_refs = references(a), references(b)
        if a_refs and b_refs and all(i < width for i in a_refs) and all(i >= width for i in b_refs):
            common = common_type([a.type.as_attribute(None), b.type.as_attribute(None)])
            same = a.type.root is b.type.root
            if common is None or same:
                return a, b
            return expressions.cast(a, common), expressions.cast(b, common)
    return None


def _null_safe_or(part: Rex, width: int) -> Rex:
    """Read ``a = b OR (a IS NULL AND b IS NULL)`` as ``a IS NOT DISTINCT FROM b``."""
    if isinstance(part, Call) and part.function == "OR" and len(part.args) == 2:
        for equal, nulls in (part.args, part.args[::-1]):
            if not isinstance(equal, Call) or equal.function != "=" or _sides(equal, width) is None:
                continue
            if set(equal.args) == _all_null(nulls):
                return expressions.call("IS NOT DISTINCT FROM", equal.args)
    return part


def _all_null(rex: Rex) -> set[Rex]:
    """Return the values that ``x IS NULL AND y IS NULL`` names, or an empty set for another condition."""
    parts = conjuncts(rex)
    tests = [p for p in parts if isinstance(p, Call) and p.function == "IS NULL"]
    return {p.args[0] for p in tests} if len(tests) == len(parts) else set()


def _column(side: Rex, place: dict[Rex, int], left: Node, right: Node, width: int, grown: int) -> Rex:
    if isinstance(side, InputRef):
        return shift(side, grown - width, width)
    i = place[side]
    field = left.fields[i] if i < grown else right.fields[i - grown]
    return InputRef(field.type, i)


def _fields(node: Join | TemporalJoin, left: Node, right: Node, width: int) -> tuple[Field, ...]:
    extra_left = left.fields[width:]
    if node.kind in ("semi", "anti"):
        return (*node.fields, *extra_left)
    more_left = padded(extra_left, node.kind in ("right", "full"))
    more_right = padded(right.fields[len(node.right.fields) :], node.kind in ("left", "full"))
    return (*node.fields[:width], *more_left, *node.fields[width:], *more_right)
