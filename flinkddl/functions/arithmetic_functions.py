"""Numeric functions: rounding, logarithms, trigonometry, random numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl import sqltypes as T
from flinkddl.functions.core import Function, Lowered, Operands, Options, SignatureError, same
from flinkddl.sqltypes import Root, spark_type

if TYPE_CHECKING:
    from collections.abc import Callable

    from flinkddl.sqltypes import DataType

WRAP = {Root.TINYINT: "flinkddl.wrap_byte", Root.SMALLINT: "flinkddl.wrap_short", Root.INT: "flinkddl.wrap_int"}


def narrow(text: str, t: DataType) -> str:
    """Return a BIGINT text as the integer type ``t``; what does not fit wraps."""
    return f"{WRAP[t.root]}({text})" if t.root in WRAP else text


def _whole(args: Operands, _: Options) -> DataType:
    t = args[0].type
    return T.DECIMAL(t.precision or 10, 0) if t.root is Root.DECIMAL else t


def _floor(name: str) -> Callable[[Lowered], str]:
    def lower(call: Lowered) -> str:
        value, t = call.a[0], call.type
        if t.root in T.INTEGER:
            return value
        if t.root is Root.DECIMAL:
            return f"CAST({name}({value}) AS {spark_type(t)})"
        return f"CAST(flinkddl.{name}_double(CAST({value} AS DOUBLE)) AS {spark_type(t)})"

    return lower


def _round_result(args: Operands, _: Options) -> DataType:
    """DECIMAL: by the digits when they are a literal, else the argument's own type."""
    t = args[0].type
    digits = args[1].value if len(args) > 1 else 0
    p, s = t.precision or 0, t.scale or 0
    if t.root is not Root.DECIMAL or not isinstance(digits, int) or digits >= s:
        return t
    if digits < 0:
        return T.DECIMAL(min(T.MAX_DECIMAL, 1 + p - s), 0)
    return T.DECIMAL(1 + p - s + digits, digits)


def _round(up: bool) -> Callable[[Lowered], str]:
    def lower(call: Lowered) -> str:
        value, t = call.a[0], call.type
        digits = call.a[1] if len(call.a) > 1 else "0"
        source = call.t[0]
        if t.root in T.INTEGER:
            return narrow(f"flinkddl.round_long(CAST({value} AS BIGINT), {digits}, {str(up).lower()})", t)
        if t.root is Root.DECIMAL:
            return _round_decimal(value, source, t, digits, up, isinstance(call.literal(1), int) or len(call.a) == 1)
        if t.root is Root.FLOAT:
            # through text: 0.1 as FLOAT is 0.10000000149 as DOUBLE
            value = f"CAST(CAST({value} AS STRING) AS DOUBLE)"
        return f"CAST(flinkddl.round_double({value}, {digits}, {str(up).lower()}) AS {spark_type(t)})"

    return lower


def _round_decimal(value: str, source: DataType, t: DataType, digits: str, up: bool, known: bool) -> str:
    if known and up:
        return f"CAST(round({value}, {digits}) AS {spark_type(t)})"
    if known:
        text = f"if({value} >= 0, floor({value}, {digits}), ceil({value}, {digits}))"
        return f"CAST({text} AS {spark_type(t)})"
    steps = range(-(source.precision or 0) + (source.scale or 0), (source.scale or 0) + 1)
    branches = " ".join(f"WHEN {n} THEN {_round_decimal(value, source, t, str(n), up, True)}" for n in steps)
    low = f"WHEN {digits} < {steps[0]} THEN CAST(0 AS {spark_type(t)})"
    return f"(CASE WHEN {digits} IS NULL THEN NULL {low} ELSE CASE {digits} {branches} ELSE {value} END END)"


def _abs(call: Lowered) -> str:
    value, t = call.a[0], call.type
    if t.root in T.INTEGER:
        negative = f"flinkddl.subtract_long(0L, CAST({value} AS BIGINT))"
        return f"if({value} < 0, {narrow(negative, t)}, {value})"
    return f"abs({value})"


def _no_tinyint(args: Operands, _: Options) -> None:
    if args[0].type.root in (Root.TINYINT, Root.SMALLINT):
        raise SignatureError(f"SIGN of {args[0].type.summary} does not run in Flink; cast it to INT")


# of an odd number of digits the first is only checked
_ODD_HEX = "if(left({0}, 1) rlike '[0-9A-Fa-f]', concat('00', substring({0}, 2)), 'x')"
_UNHEX = f"unhex(if(length({{0}}) % 2 = 0, {{0}}, {_ODD_HEX}))"
D = T.DOUBLE
_AS_SPARK = ("SIN", "COS", "TAN", "ASIN", "ACOS", "ATAN", "SINH", "COSH", "TANH", "DEGREES", "RADIANS", "SQRT")
FUNCTIONS = (
    Function("ABS", "numeric", same(), _abs),
    Function("FLOOR", "numeric", _whole, _floor("floor")),
    Function("CEIL", "numeric", _whole, _floor("ceil")),
    Function("ROUND", "numeric int?", _round_result, _round(True)),
    Function("TRUNCATE", "numeric int?", _round_result, _round(False)),
    Function("SIGN", "numeric", same(), lambda c: f"CAST(sign({c.a[0]}) AS {spark_type(c.type)})", check=_no_tinyint),
    *(Function(name, "DOUBLE", D, f"{name.lower()}({{0}})") for name in _AS_SPARK),
    Function("COT", "DOUBLE", D, "flinkddl.divide_double(CAST(1 AS DOUBLE), tan({0}))"),
    Function("ATAN2", "DOUBLE DOUBLE", D, "atan2({0}, {1})"),
    Function("EXP", "DOUBLE", D, "flinkddl.exp({0})"),
    Function("POWER", "DOUBLE DOUBLE", D, "flinkddl.power({0}, {1})"),
    Function("LN", "DOUBLE", D, "flinkddl.ln({0})"),
    Function("LOG10", "DOUBLE", D, "flinkddl.log10({0})"),
    Function("LOG2", "DOUBLE", D, "flinkddl.log_base(CAST(2 AS DOUBLE), {0})"),
    Function("LOG", "DOUBLE;DOUBLE DOUBLE", D, {1: "flinkddl.ln({0})", 2: "flinkddl.log_base({0}, {1})"}),
    Function("PI", "", D, "pi()"),
    Function("E", "", D, "e()"),
    Function("RAND", "int?", D, "rand({all})", deterministic=False),
    Function(
        "RAND_INTEGER",
        "int;int int",
        T.INT,
        {1: "CAST(floor(rand() * {0}) AS INT)", 2: "CAST(floor(rand({0}) * {1}) AS INT)"},
        deterministic=False,
    ),
    Function("UUID", "", T.CHAR(36), "uuid()", nulls="no", deterministic=False),
    Function("BIN", "integer", T.STRING, "bin(CAST({0} AS BIGINT))"),
    Function(
        "HEX",
        "integer;string",
        T.STRING,
        lambda c: f"hex({c.a[0]})" if c.t[0].root in T.CHARACTER else f"hex(CAST({c.a[0]} AS BIGINT))",
    ),
    Function("UNHEX", "STRING", T.BYTES, _UNHEX, nulls="yes"),
)
