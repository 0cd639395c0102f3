"""Literals of Flink SQL as typed Rex values, and the text of intervals.

Source: Calcite's literal typing (1.5 is DECIMAL(2, 1), 'ab' CHAR(2), a timestamp has as many fraction digits as are
written) and its interval qualifiers with their precision checks.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING

from sqlglot import exp

from flinkddl import sqltypes as T
from flinkddl.plan.rex import Literal

if TYPE_CHECKING:
    from flinkddl.sqltypes import DataType

_MILLIS = {"DAY": 86_400_000, "HOUR": 3_600_000, "MINUTE": 60_000, "SECOND": 1000, "WEEK": 7 * 86_400_000}
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12, "DECADE": 120, "CENTURY": 1200, "MILLENNIUM": 12000}
_UNITS = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")
_LIMIT = {"HOUR": 24, "MINUTE": 60, "SECOND": 60, "MONTH": 12}
_DEFAULT_PRECISION = 2
MAX_LONG = 2**63 - 1
MAX_INT = 2**31 - 1


class LiteralError(ValueError):
    """The text is no value of its type; the message says why."""


def number(text: str) -> Literal:
    """Return a numeric literal: INT, BIGINT, DECIMAL, or DOUBLE for the exponent form. Raises LiteralError."""
    if "e" in text.lower():
        if abs(float(text)) == float("inf"):
            raise LiteralError(f"numeric literal '{text}' is out of range")
        return Literal(T.DOUBLE.not_null(), float(text) + 0.0)  # there is no literal for minus zero
    if re.fullmatch(r"[+-]?\d+\.?", text):
        value = int(text.rstrip("."))
        if not -MAX_LONG - 1 <= value <= MAX_LONG:
            raise LiteralError(f"numeric literal '{text}' is out of range")
        return Literal((T.INT if -MAX_INT - 1 <= value <= MAX_INT else T.BIGINT).not_null(), value)
    exact = Decimal(text)
    _, digits, exponent = exact.as_tuple()
    scale = -int(exponent)
    before = 0 if text.lstrip("+-").startswith(".") else 1  # 0.05 has a digit before the point
    precision = max(len(digits), scale + before)
    if abs(int(exact.scaleb(scale))) > MAX_LONG:
        raise LiteralError(f"numeric literal '{text}' is out of range")
    return Literal(T.DECIMAL(precision, scale).not_null(), exact)


def text(value: str) -> Literal:
    """Return a character literal: CHAR(n) NOT NULL, n in Java's characters (one above U+FFFF counts twice)."""
    return Literal(T.CHAR(len(value.encode("utf-16-le")) // 2).not_null(), value)


def binary(digits: str) -> Literal:
    """Return ``X'..'`` as BINARY(n) NOT NULL. Raises LiteralError."""
    try:
        value = bytes.fromhex(digits)
    except ValueError:
        raise LiteralError(f"binary literal '{digits}' must be pairs of hexadecimal digits") from None
    return Literal(T.BINARY(len(value)).not_null(), value)


_DATE = re.compile(r"(\d{1,4})-(\d{1,2})-(\d{1,2})")
_TIME = re.compile(r"(\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d{1,9}))?")


def date_literal(value: str) -> Literal:
    """Return ``DATE 'yyyy-mm-dd'``. Raises LiteralError."""
    match = _DATE.fullmatch(value.strip())
    if match is None:
        raise LiteralError(f"illegal DATE literal '{value}': not in format 'yyyy-MM-dd'")
    return Literal(T.DATE.not_null(), _date(value, *map(int, match.groups())))


def time_literal(value: str) -> Literal:
    """Return ``TIME 'hh:mm:ss[.fff]'`` as milliseconds of the day. Raises LiteralError."""
    match = _TIME.fullmatch(value.strip())
    if match is None:
        raise LiteralError(f"illegal TIME literal '{value}': not in format 'HH:mm:ss'")
    hour, minute, second = map(int, match.groups()[:3])
    fraction = match.group(4) or ""
    try:
        time(hour, minute, second)
    except ValueError as e:
        raise LiteralError(f"illegal TIME literal '{value}': {e}") from None
    millis = ((hour * 60 + minute) * 60 + second) * 1000 + int(fraction.ljust(3, "0")[:3])
    return Literal(T.TIME(min(len(fraction), 3)).not_null(), millis)


def timestamp_literal(value: str) -> Literal:
    """Return ``TIMESTAMP 'yyyy-mm-dd hh:mm:ss[.fff]'``. Raises LiteralError, also for digits beyond microseconds."""
    day, _, clock = value.strip().partition(" ")
    clock = clock or "00:00:00"
    d, t = _DATE.fullmatch(day), _TIME.fullmatch(clock.strip())
    if d is None or t is None:
        raise LiteralError(f"illegal TIMESTAMP literal '{value}': not in format 'yyyy-MM-dd HH:mm:ss'")
    fraction = t.group(4) or ""
    if fraction[6:].strip("0"):
        raise LiteralError(f"TIMESTAMP literal '{value}' goes beyond microseconds, which is all that Spark holds")
    try:
        hour, minute, second = map(int, t.groups()[:3])
        clock_time = time(hour, minute, second, int(fraction.ljust(6, "0")[:6]))
    except ValueError as e:
        raise LiteralError(f"illegal TIMESTAMP literal '{value}': {e}") from None
    moment = datetime.combine(_date(value, *map(int, d.groups())), clock_time)
    return Literal(T.TIMESTAMP(len(fraction)).not_null(), moment)


_LEFT_OUT = (date(1582, 10, 5), date(1582, 10, 14))


def _date(value: str, year: int, month: int, day: int) -> date:
    try:
        found = date(year, month, day)
    except ValueError as e:
        raise LiteralError(f"illegal DATE '{value}': {e}") from None
    if _LEFT_OUT[0] <= found <= _LEFT_OUT[1]:
        raise LiteralError(f"illegal DATE '{value}': the Gregorian calendar left this day out")
    return found


def interval_type(first: str) -> DataType:
    """Return the type of an interval that begins with this unit: Flink's planner knows only two."""
    return T.INTERVAL_YM("MONTH") if first in _MONTHS else T.INTERVAL_DT("SECOND", None, 3)


def counted(node: exp.Expression, target: DataType) -> Decimal | None:
    """Return the bare exact number that a CAST to an interval of one unit takes as so many units, or None.

    Any other whole number is an amount of the base unit, months or milliseconds. Flink's rule is Calcite's
    StandardConvertletTable.convertCast, which asks for a SqlNumericLiteral.
    """
    sign = 1
    while isinstance(node, exp.Paren | exp.Neg):
        sign, node = -sign if isinstance(node, exp.Neg) else sign, node.this
    if target.root not in T.INTERVAL or " TO " in str(target.qualifier):
        return None
    if not isinstance(node, exp.Literal) or node.is_string or "e" in node.name.lower():
        return None
    return sign * Decimal(node.name)


def amount(count: Decimal, target: DataType) -> Literal:
    """Return ``CAST(1.5 AS INTERVAL HOUR)``: 1.5 hours. Raises LiteralError beyond what Spark's intervals hold."""
    unit = str(target.qualifier)
    t = interval_type(unit)
    whole = int(count * {**_MILLIS, **_MONTHS}[unit])
    if t.root is T.Root.INTERVAL_YEAR_MONTH:
        return Literal(t.not_null(), (whole + 2**31) % 2**32 - 2**31)  # Flink keeps months in an int
    if abs(whole) > MAX_LONG // 1000:
        raise LiteralError(f"{count} {unit}s are more than an interval of Spark holds")
    return Literal(t.not_null(), whole)


def interval(value: str, first: str, last: str | None = None, precision: int | None = None) -> Literal:
    """Return an interval literal in milliseconds or months. Units are singular, upper case. Raises LiteralError."""
    sign, body = (-1, value.strip()[1:]) if value.strip().startswith("-") else (1, value.strip().removeprefix("+"))
    t = interval_type(first)
    if last is not None:
        amount = _compound(value, body, first, last, precision or _DEFAULT_PRECISION)
    else:
        amount = _single(value, body, first, precision or _DEFAULT_PRECISION)
    return Literal(t.not_null(), sign * amount)


def _single(value: str, body: str, unit: str, precision: int) -> int:
    whole, _, fraction = body.partition(".")
    if not whole.isdigit() or (fraction and (unit != "SECOND" or not fraction.isdigit())):
        raise LiteralError(f"illegal interval literal '{value}' for {unit}")
    if len(whole.lstrip("0")) > precision:
        raise LiteralError(f"interval field value {int(whole)} exceeds precision of {unit}({precision}) field")
    if unit in _MONTHS:
        return int(whole) * _MONTHS[unit]
    return int(whole) * _MILLIS[unit] + (int(fraction.ljust(3, "0")[:3]) if fraction else 0)


_PATTERN = {"YEAR": "", "MONTH": "-", "DAY": "", "HOUR": " ", "MINUTE": ":", "SECOND": ":"}


def _compound(value: str, body: str, first: str, last: str, precision: int) -> int:
    units = _UNITS[_UNITS.index(first) : _UNITS.index(last) + 1]
    pattern = r"(\d+)" + "".join(_PATTERN[u] + r"\s*(\d+)" for u in units[1:]) + r"(?:\.(\d+))?"
    match = re.fullmatch(pattern, body)
    if match is None or (match.group(len(units) + 1) and last != "SECOND"):
        raise LiteralError(f"illegal interval literal '{value}' for {first} TO {last}")
    numbers = [int(n) for n in match.groups()[: len(units)]]
    if len(str(numbers[0])) > precision:
        raise LiteralError(f"interval field value {numbers[0]} exceeds precision of {first}({precision}) field")
    for unit, n in zip(units[1:], numbers[1:], strict=True):
        if n >= _LIMIT[unit]:
            raise LiteralError(f"illegal interval literal '{value}': {n} is no {unit}")
    if first == "YEAR":
        return numbers[0] * 12 + numbers[1]
    fraction = (match.group(len(units) + 1) or "").ljust(3, "0")[:3]
    return sum(n * _MILLIS[u] for u, n in zip(units, numbers, strict=True)) + int(fraction)
