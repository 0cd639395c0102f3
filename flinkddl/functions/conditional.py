"""CASE, COALESCE, IF, NULLIF, GREATEST and LEAST."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl import sqltypes as T
from flinkddl.functions.core import Function, Lowered, Operands, Options, SignatureError, same
from flinkddl.functions.typing import common_numeric, common_type, strip_attribute
from flinkddl.sqltypes import DataType, Root

if TYPE_CHECKING:
    from collections.abc import Sequence


def _values(args: Operands) -> list[DataType]:
    """THEN and ELSE types of a CASE, whose operands are condition, value, ..., default."""
    return [a.type for a in args[1::2]] + [args[-1].type]


def _case_types(args: Operands, _: Options) -> Sequence[DataType]:
    merged = common_type(_values(args))
    if merged is None:
        names = ", ".join(dict.fromkeys(t.summary for t in _values(args)))
        raise SignatureError(f"CASE mixes types that have nothing in common: {names}")
    if merged.root is Root.NULL:
        raise SignatureError("ELSE clause or at least one THEN clause must be non-NULL")
    out: list[DataType] = []
    for i, arg in enumerate(args):
        is_value = i % 2 == 1 or i == len(args) - 1
        if not is_value and arg.type.root not in (Root.BOOLEAN, Root.NULL):
            raise SignatureError(f"WHEN needs a BOOLEAN, not {arg.type.summary}")
        out.append(merged.with_nullable(arg.type.nullable) if is_value else T.BOOLEAN.with_nullable(arg.type.nullable))
    return out


def _case_result(args: Operands, _: Options) -> DataType:
    merged = common_type(_values(args))
    assert merged is not None
    return strip_attribute(merged).with_nullable(any(t.nullable for t in _values(args)))


def _case(call: Lowered) -> str:
    pairs = zip(call.a[0:-1:2], call.a[1:-1:2], strict=True)
    branches = " ".join(f"WHEN {c} THEN {v}" for c, v in pairs)
    return f"(CASE {branches} ELSE {call.a[-1]} END)"


def _widest(types: Sequence[DataType]) -> DataType | None:
    """The common type of Flink's own functions: of FLOAT and DOUBLE it is DOUBLE."""
    merged = common_type(types)
    if merged is None or merged.root not in T.APPROXIMATE:
        return merged
    result, *rest = (t for t in types if t.root is not Root.NULL)
    for t in rest:
        result = _wider(result, t)
    return result.with_nullable(merged.nullable)


def _wider(a: DataType, b: DataType) -> DataType:
    """LogicalTypeMerging's pair: FLOAT after DECIMAL stays FLOAT, DECIMAL after FLOAT makes DOUBLE."""
    if a.root is Root.DECIMAL and b.root in T.APPROXIMATE:
        return b
    return T.DOUBLE if {a.root, b.root} == {Root.FLOAT, Root.DOUBLE} else common_numeric(a, b)


def _common(args: Operands, _: Options) -> Sequence[DataType]:
    types = [a.type for a in args]
    merged = _widest(types)
    if merged is None or merged.root is Root.NULL:
        raise SignatureError(f"no common type of {', '.join(t.summary for t in types)}")
    return [strip_attribute(merged).with_nullable(t.nullable) for t in types]


def _first_type(args: Operands, _: Options) -> DataType:
    merged = _widest([a.type for a in args])
    assert merged is not None
    return strip_attribute(merged)


def _coalesce_result(args: Operands, options: Options) -> DataType:
    return _first_type(args, options).with_nullable(all(a.type.nullable for a in args))


class _Keep(Function):
    """A function whose result strategy decides nullability itself."""

    def result_type(self, args: Operands, options: Options) -> DataType:
        assert callable(self.result)
        return self.result(args, options)


def _if_types(args: Operands, options: Options) -> Sequence[DataType]:
    if any(a.type.root is Root.NULL for a in args[1:]):
        raise SignatureError("illegal use of 'NULL'; write CAST(NULL AS type)")
    merged = common_type([a.type for a in args[1:]])
    if merged is None:
        raise SignatureError(f"no common type of {', '.join(a.type.summary for a in args[1:])}")
    return [args[0].type, *(strip_attribute(merged).with_nullable(a.type.nullable) for a in args[1:])]


def _if_result(args: Operands, _: Options) -> DataType:
    merged = common_type([a.type for a in args[1:]])
    assert merged is not None
    return strip_attribute(merged).with_nullable(any(a.type.nullable for a in args))


def _nullif_types(args: Operands, options: Options) -> Sequence[DataType] | None:
    a, b = args[0].type, args[1].type
    if {a.root, b.root} & T.NUMERIC and {a.root, b.root} & T.CHARACTER:
        raise SignatureError(f"implicit type conversion between {a.summary} and {b.summary} is not supported")
    if common_type([a, b]) is None:
        raise SignatureError(f"{a.summary} and {b.summary} cannot be compared")
    return None


def _all_or_null(function: str):  # type: ignore[no-untyped-def]
    """Spark's greatest and least skip NULLs and want two arguments; Flink's give NULL for any."""

    def lower(call: Lowered) -> str:
        if len(call.a) == 1:
            return call.a[0]
        nullable = [a for a, t in zip(call.a, call.t, strict=True) if t.nullable]
        text = f"{function}({', '.join(call.a)})"
        if not nullable:
            return text
        test = " OR ".join(f"{a} IS NULL" for a in nullable)
        return f"(CASE WHEN {test} THEN NULL ELSE {text} END)"

    return lower


FUNCTIONS = (
    _Keep("CASE", "null*", _case_result, _case, check=_case_types),
    _Keep("COALESCE", "null null*", _coalesce_result, "coalesce({all})", check=_common),
    _Keep("IFNULL", "null null", _coalesce_result, "coalesce({all})", check=_common),
    _Keep("IF", "bool null null", _if_result, "if({all})", check=_if_types),
    Function("NULLIF", "any null", same(), "nullif({0}, {1})", "yes", _nullif_types),
    Function("GREATEST", "any any*", _first_type, _all_or_null("greatest"), check=_common),
    Function("LEAST", "any any*", _first_type, _all_or_null("least"), check=_common),
)
