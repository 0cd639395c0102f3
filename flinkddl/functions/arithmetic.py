"""Arithmetic: integers wrap, decimals give NULL on overflow, floating point follows Java."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl import sqltypes as T
from flinkddl.functions.arithmetic_functions import WRAP
from flinkddl.functions.core import Function, Lowered, Operands, Options, SignatureError, same
from flinkddl.functions.typing import as_decimal, common_numeric, decimal_result
from flinkddl.sqltypes import DataType, Root, spark_type

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

WORD = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide"}


def _is_decimal(*types: DataType) -> bool:
    return any(t.root is Root.DECIMAL for t in types) and all(t.root in T.EXACT for t in types)


def _result(operator: str) -> Callable[[Operands, Options], DataType]:
    def result(args: Operands, _: Options) -> DataType:
        a, b = args[0].type, args[1].type
        if a.root in T.INTERVAL or b.root in T.INTERVAL:
            return _interval_result(operator, a, b)
        if _is_decimal(a, b):
            return decimal_result(operator, a, b)
        return _number_result(a, b)

    return result


def _number_result(a: DataType, b: DataType) -> DataType:
    """FLOAT with DOUBLE or an integer stays FLOAT; with DECIMAL it becomes DOUBLE."""
    roots = {a.root, b.root}
    if roots == {Root.FLOAT, Root.DOUBLE}:
        return T.FLOAT if a.root is Root.FLOAT else T.DOUBLE
    return common_numeric(a, b)


def _interval_result(operator: str, a: DataType, b: DataType) -> DataType:
    if operator in "*/":
        return a if a.root in T.INTERVAL else b
    if a.root in T.INTERVAL and b.root in T.INTERVAL:
        return a
    moment = a if a.root in T.DATETIME else b
    return moment.as_attribute(None)


def _check(operator: str) -> Callable[[Operands, Options], Sequence[DataType] | None]:
    def check(args: Operands, options: Options) -> Sequence[DataType] | None:
        a, b = args[0].type, args[1].type
        if a.root in T.INTERVAL or b.root in T.INTERVAL:
            _check_interval(operator, a, b)
            return None
        if a.root in T.NUMERIC and b.root in T.NUMERIC:
            return _operand_types(a, b)
        raise SignatureError(f"'<NUMERIC> {operator} <NUMERIC>' or an interval is expected")

    return check


def _operand_types(a: DataType, b: DataType) -> Sequence[DataType]:
    if _is_decimal(a, b):
        return [as_decimal(a), as_decimal(b)]
    t = _number_result(a, b)
    return [t.with_nullable(a.nullable), t.with_nullable(b.nullable)]


def _check_interval(operator: str, a: DataType, b: DataType) -> None:
    moments = [t for t in (a, b) if t.root in T.DATETIME]
    numbers = [t for t in (a, b) if t.root in T.NUMERIC]
    both = a.root in T.INTERVAL and b.root in T.INTERVAL
    fits = {
        "+": bool(moments) or (both and a.root is b.root),
        "-": (bool(moments) and b.root in T.INTERVAL) or (both and a.root is b.root),
        "*": bool(numbers),
    }
    if not fits.get(operator, False):
        raise SignatureError(f"'{a.summary} {operator} {b.summary}' is not defined")


def _lower(operator: str) -> Callable[[Lowered], str]:
    def lower(call: Lowered) -> str:
        a, b = call.a
        t = call.type
        if any(x.root in T.INTERVAL for x in call.t):
            return _lower_interval(operator, call)
        if t.root is Root.DECIMAL:
            return _lower_decimal(operator, a, b)
        if t.root in T.APPROXIMATE:
            if operator == "/":
                return f"flinkddl.divide_{t.root.value.lower()}({a}, {b})"
            return f"({a} {operator} {b})"
        if t.root is Root.BIGINT:
            return f"flinkddl.{WORD[operator]}_long({a}, {b})"
        if operator == "/":
            return f"{WRAP[t.root]}({a} div {b})"
        return f"{WRAP[t.root]}(CAST({a} AS BIGINT) {operator} CAST({b} AS BIGINT))"

    return lower


def _lower_decimal(operator: str, a: str, b: str) -> str:
    if operator == "/":
        return f"try_divide({a}, if({b} = 0, raise_error('Division by zero'), {b}))"
    return f"try_{WORD[operator]}({a}, {b})"


def _lower_interval(operator: str, call: Lowered) -> str:
    a, b = call.a
    left, right = call.t
    if operator in "*/":
        return f"({a} {operator} {b})"
    if left.root in T.INTERVAL and right.root in T.INTERVAL:
        return f"({a} {operator} {b})"
    if right.root not in T.INTERVAL:
        a, b, left, right = b, a, right, left
    return add_interval(a, left, f"{'-' if operator == '-' else ''}{b}", right, call.zone)


def add_interval(moment: str, t: DataType, interval: str, kind: DataType, zone: str) -> str:
    """Return ``moment + interval`` for each kind of moment; a day-time interval on DATE and TIME drops the rest."""
    months = kind.root is Root.INTERVAL_YEAR_MONTH
    match t.root:
        case Root.DATE if months:
            return f"CAST(({moment} + {interval}) AS DATE)"
        case Root.DATE:
            return f"date_add({moment}, CAST(extract(DAY FROM {interval}) AS INT))"
        case Root.TIME:
            millis = f"(unix_micros(CAST((TIMESTAMP_NTZ '1970-01-01 00:00:00' + {interval}) AS TIMESTAMP)) div 1000)"
            return f"CAST(pmod({moment} + {millis}, 86400000) AS INT)"
        case Root.TIMESTAMP_LTZ if months and zone != "UTC":
            local = f"(convert_timezone('UTC', '{zone}', CAST({moment} AS TIMESTAMP_NTZ)) + {interval})"
            return f"CAST(convert_timezone('{zone}', 'UTC', {local}) AS TIMESTAMP)"
    return f"({moment} + {interval})"


def _check_mod(args: Operands, _: Options) -> Sequence[DataType] | None:
    a, b = args[0].type, args[1].type
    if a.scale or b.scale:
        return [as_decimal(a), as_decimal(b)]
    return None


def _negate(call: Lowered) -> str:
    match call.type.root:
        case Root.BIGINT:
            return f"flinkddl.subtract_long(0L, {call.a[0]})"
        case root if root in WRAP:
            return f"{WRAP[root]}(-CAST({call.a[0]} AS BIGINT))"
        case Root.DECIMAL:
            # a decimal with Spark's unary minus makes later try_ functions raise
            return f"CAST((0 - {call.a[0]}) AS {spark_type(call.type)})"
    return f"(-{call.a[0]})"


def _mod_result(args: Operands, options: Options) -> DataType:
    """Without fractions on both sides the type of the divisor, which always holds the remainder."""
    a, b = args[0].type, args[1].type
    return decimal_result("%", a, b) if a.scale or b.scale else b


def _mod(call: Lowered) -> str:
    a, b = call.a
    if call.type.root is Root.DECIMAL or call.t[0].root is call.t[1].root:
        return f"({a} % {b})"
    return f"CAST(({a} % {b}) AS {spark_type(call.type)})"


FUNCTIONS = (
    *(Function(op, "any any", _result(op), _lower(op), check=_check(op)) for op in ("+", "-", "*", "/")),
    Function("%", "exact exact", _mod_result, _mod, check=_check_mod),
    Function("MOD", "exact exact", _mod_result, _mod, check=_check_mod),
    Function("NEGATE", "numeric;interval", same(), _negate),
)
