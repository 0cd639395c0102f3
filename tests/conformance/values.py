"""Values as Flink's Java objects print, from what PySpark collects, by Flink type: the text that goldens hold."""

from __future__ import annotations

import json
import struct
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from flinkddl.sqltypes import DataType, Root


def show(value: Any, t: DataType) -> Any:
    """Return None, text, or nested lists and objects of text, as the recorder wrote them."""
    if value is None:
        return None
    match t.root:
        case Root.ROW:
            return [show(v, f.type) for v, f in zip(value, t.fields, strict=True)]
        case Root.ARRAY:
            return [show(v, t.element) for v in value]
        case Root.MAP:
            pairs = {_text(show(k, t.key)): show(v, t.value) for k, v in value.items()}
            return dict(sorted(pairs.items()))
        case Root.MULTISET:
            pairs = {_text(show(k, t.element)): str(v) for k, v in value.items()}
            return dict(sorted(pairs.items()))
        case Root.BOOLEAN:
            return "true" if value else "false"
        case Root.DOUBLE:
            return java_double(float(value), repr(float(value)))
        case Root.FLOAT:
            return java_double(float(value), _shortest_float(float(value)))
        case Root.BINARY | Root.VARBINARY:
            return "0x" + bytes(value).hex()
        case Root.TIMESTAMP:
            return local_date_time(value)
        case Root.TIMESTAMP_LTZ:
            return instant(value)
        case Root.TIME:
            return local_time(value)
        case Root.DECIMAL:
            return f"{Decimal(value):f}"
        case Root.INTERVAL_DAY_TIME:
            return duration(value)
        case Root.INTERVAL_YEAR_MONTH:
            return period(int(value))
        case Root.DATE:
            return value.isoformat() if isinstance(value, date) else str(value)
        case _:
            return str(value)


def _text(node: Any) -> str:
    if node is None:
        return "null"
    return node if isinstance(node, str) else json.dumps(node, ensure_ascii=False, separators=(",", ":"))


def java_double(value: float, digits: str) -> str:
    """Return Double.toString from the shortest decimal digits (Python's repr)."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0.0" if str(value).startswith("-") else "0.0"
    number = Decimal(digits)
    if Decimal("0.001") <= abs(number) < Decimal(10_000_000):
        text = f"{number:f}"
        return text if "." in text else f"{text}.0"
    sign, parts, exponent = number.normalize().as_tuple()
    power = len(parts) - 1 + int(exponent)
    rest = "".join(map(str, parts[1:])) or "0"
    return f"{'-' if sign else ''}{parts[0]}.{rest}E{power}"


def _shortest_float(value: float) -> str:
    for precision in range(1, 10):
        text = f"{value:.{precision}g}"
        if struct.unpack("f", struct.pack("f", float(text)))[0] == value:
            return text
    return repr(value)


def _fraction(micros: int) -> str:
    """Java prints 3, 6 or 9 digits of a second's fraction, or none."""
    if micros == 0:
        return ""
    return f".{micros // 1000:03d}" if micros % 1000 == 0 else f".{micros:06d}"


def local_date_time(value: datetime) -> str:
    """LocalDateTime.toString: no seconds where seconds and fraction are zero."""
    wall = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo is not None else value
    return f"{wall:%Y-%m-%d}".rjust(10, "0") + f"T{_clock(wall.hour, wall.minute, wall.second, wall.microsecond)}"


def instant(value: datetime) -> str:
    """Instant.toString: seconds always."""
    utc = value.astimezone(UTC) if value.tzinfo is not None else value
    return f"{utc:%Y-%m-%dT%H:%M:%S}{_fraction(utc.microsecond)}Z"


def local_time(millis: int) -> str:
    """LocalTime.toString from milliseconds of the day."""
    seconds, rest = divmod(int(millis), 1000)
    return _clock(seconds // 3600, seconds // 60 % 60, seconds % 60, rest * 1000)


def _clock(hour: int, minute: int, second: int, micros: int) -> str:
    tail = f":{second:02d}{_fraction(micros)}" if second or micros else ""
    return f"{hour:02d}:{minute:02d}{tail}"


def duration(value: timedelta) -> str:
    """Duration.toString: PT1M39S."""
    micros = value // timedelta(microseconds=1)
    seconds, fraction = divmod(abs(micros), 1_000_000)
    sign = "-" if micros < 0 else ""
    hours, minutes, secs = seconds // 3600, seconds // 60 % 60, seconds % 60
    text = (f"{sign}{hours}H" if hours else "") + (f"{sign}{minutes}M" if minutes else "")
    if secs or fraction:
        digits = f".{fraction:06d}".rstrip("0") if fraction else ""
        text += f"{sign}{secs}{digits}S"
    return f"PT{text or '0S'}"


def period(months: int) -> str:
    """Period.toString of years and months: P1Y2M."""
    years, rest = abs(months) // 12, abs(months) % 12
    sign = "-" if months < 0 else ""
    return "P" + ((f"{sign}{years}Y" if years else "") + (f"{sign}{rest}M" if rest else "") or "0D")
