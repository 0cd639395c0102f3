"""Comparisons, three-valued logic, IN, LIKE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl import sqltypes as T
from flinkddl.functions.cast_sql import cast_sql
from flinkddl.functions.core import NO_VALUE, Function, Lowered, Operands, Options, SignatureError
from flinkddl.functions.typing import common_numeric, common_type
from flinkddl.sqltypes import DataType, Root

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_COMPARED_AS_TEXT = T.NUMERIC | T.DATETIME | {Root.BOOLEAN}


def _equal(args: Operands, _: Options) -> Sequence[DataType]:
    """Rules of ``=``: text against a number is refused, text against a date or time is cast."""
    a, b = args[0].type, args[1].type
    if {a.root, b.root} & T.NUMERIC and {a.root, b.root} & T.CHARACTER:
        raise SignatureError(f"there is no implicit conversion between {a.summary} and {b.summary}; write a CAST")
    if {a.root, b.root} & T.CHARACTER and Root.BOOLEAN in {a.root, b.root}:
        return [a, b]
    return _both(args)


def _ordered(args: Operands, _: Options) -> Sequence[DataType]:
    """Rules of ``<`` and its kin."""
    if args[0].type.root is Root.MAP:
        raise SignatureError("maps have no order on Spark")
    return _both(args)


def _both(args: Operands) -> Sequence[DataType]:
    """Return the two types that a comparison works on. Raises SignatureError when there are none."""
    a, b = args[0].type, args[1].type
    if a.root is Root.NULL or b.root is Root.NULL:
        return [b, b] if a.root is Root.NULL else [a, a]
    for x, y, flip in ((a, b, False), (b, a, True)):
        if x.root in T.CHARACTER and y.root in _COMPARED_AS_TEXT:
            if y.root in T.DATETIME:
                return [a, b]  # the text is read leniently, see _moments
            number = T.DECIMAL(38, 19) if y.root is Root.DECIMAL else y
            cast = number.with_nullable(x.nullable)
            return [y, cast] if flip else [cast, y]
    if a.is_a(T.NUMERIC) and b.is_a(T.NUMERIC):
        t = T.FLOAT if {a.root, b.root} == {Root.FLOAT, Root.DOUBLE} else common_numeric(a, b)
        return [t.with_nullable(a.nullable), t.with_nullable(b.nullable)] if a.root is not b.root else [a, b]
    merged = common_type([a, b])
    if merged is None or a.root in _INCOMPARABLE:
        raise SignatureError(f"{a.summary} and {b.summary} cannot be compared")
    if a.is_a(T.CHARACTER | T.BYTES_FAMILY):
        return [a, b]
    return [merged.with_nullable(a.nullable), merged.with_nullable(b.nullable)]


_INCOMPARABLE = frozenset({Root.RAW, Root.VARIANT, Root.SYMBOL, Root.DESCRIPTOR})


def _floats(call: Lowered) -> tuple[bool, bool]:
    """Which sides may be NaN: approximate numbers that are no plain literal."""

    def unsure(i: int) -> bool:
        return call.t[i].root in T.APPROXIMATE and call.literal(i) in (NO_VALUE, None)

    return unsure(0), unsure(1)


# Spark holds NaN equal to itself and above all numbers, Flink holds it unequal and unordered (Java's rules).
_NAN_GUARD = {"=": (0,), "<": (1,), "<=": (1,), ">": (0,), ">=": (0,)}


def _compare(operator: str) -> Callable[[Lowered], str]:
    def lower(call: Lowered) -> str:
        kinds = {t.root for t in call.t}
        if kinds & T.CHARACTER and kinds & T.DATETIME:
            return _moments(operator, call)
        if kinds & T.CHARACTER and Root.BOOLEAN in kinds and operator in ("=", "<>"):
            # in Flink a BOOLEAN is never equal to text
            nothing = " OR ".join(f"{x} IS NULL" for x in call.a)
            return f"if({nothing}, NULL, {'false' if operator == '=' else 'true'})"
        if Root.MAP in kinds:
            return _maps(operator, call)
        return _compare_texts(operator, call)

    return lower


def _compare_texts(operator: str, call: Lowered) -> str:
    a, b = call.a
    floats = _floats(call)
    text = f"({a} {operator} {b})"
    if operator == "<>":
        return f"({text} OR (isnan({a}) AND {b} IS NOT NULL))" if all(floats) else text
    guards = [f"NOT isnan({call.a[i]})" for i in _NAN_GUARD[operator] if floats[i]]
    return f"({' AND '.join([text, *guards])})" if guards else text


def _moments(operator: str, call: Lowered) -> str:
    """A date or time against text: ``=`` with text that is none is FALSE, ``<`` and its kin fail the job."""
    lenient = operator in ("=", "<>")
    moment = next(t for t in call.t if t.root in T.DATETIME)
    sides = [
        cast_sql(x, t, moment, call.zone, lenient) if t.root in T.CHARACTER else x
        for x, t in zip(call.a, call.t, strict=True)
    ]
    text = f"({sides[0]} {operator} {sides[1]})"
    if not lenient:
        return text
    if any(t.nullable for t in call.t):
        nothing = " OR ".join(f"{x} IS NULL" for x in call.a)
        return f"if({nothing}, NULL, coalesce({text}, false))"
    return f"coalesce({text}, false)"


def _maps(operator: str, call: Lowered) -> str:
    """Spark compares no maps: their sorted entries stand for them."""
    a, b = (f"array_sort(map_entries({x}))" for x in call.a)
    return f"({a} {operator} {b})"


def _in_types(args: Operands, options: Options) -> Sequence[DataType]:
    first = args[0].type
    items = [a.type for a in args]
    merged = common_type(items)
    if merged is None:
        kinds = {t.root for t in items}
        if kinds & T.CHARACTER and kinds & _COMPARED_AS_TEXT:
            other = common_type([t for t in items if t.root not in T.CHARACTER])
            if other is not None:
                return [other.with_nullable(t.nullable) for t in items]
        raise SignatureError(f"values of different types in IN: {', '.join(sorted({t.summary for t in items}))}")
    if first.root in T.CHARACTER | T.BYTES_FAMILY:
        return [t if t.root is not Root.NULL else merged for t in items]
    return [merged.with_nullable(t.nullable) for t in items]


def _in(call: Lowered) -> str:
    return f"({call.a[0]} IN ({', '.join(call.a[1:])}))"


def _any_of(operator: str) -> Callable[[Lowered], str]:
    return lambda call: "(" + f" {operator} ".join(call.a) + ")"


B = T.BOOLEAN
FUNCTIONS = (
    *(Function(op, "null null", B, _compare(op), check=_equal) for op in ("=", "<>")),
    *(Function(op, "null null", B, _compare(op), check=_ordered) for op in ("<", "<=", ">", ">=")),
    Function("IS DISTINCT FROM", "null null", B, "(NOT ({0} <=> {1}))", nulls="no", check=_equal),
    Function("IS NOT DISTINCT FROM", "null null", B, "({0} <=> {1})", nulls="no", check=_equal),
    Function("IS NULL", "null", B, "({0} IS NULL)", nulls="no"),
    Function("IS NOT NULL", "null", B, "({0} IS NOT NULL)", nulls="no"),
    *(Function(f"IS {w}", "BOOLEAN", B, f"({{0}} IS {w})", nulls="no") for w in ("TRUE", "FALSE", "UNKNOWN")),
    *(Function(f"IS NOT {w}", "BOOLEAN", B, f"({{0}} IS NOT {w})", nulls="no") for w in ("TRUE", "FALSE", "UNKNOWN")),
    Function("AND", "BOOLEAN*", B, _any_of("AND")),
    Function("OR", "BOOLEAN*", B, _any_of("OR")),
    Function("NOT", "BOOLEAN", B, "(NOT {0})"),
    Function("IN", "null null*", B, _in, check=_in_types),
)
