"""Values as the goldens print them: Java's text of Flink's external types."""

from __future__ import annotations

import datetime as dt
import struct
from decimal import Decimal
from typing import Any

from flinkddl.sqltypes import DataType, Root

UTC = dt.UTC


def java_float(x: float, single: bool) -> str:
    """Return Float.toString or Double.toString of a value (the shortest text that reads back)."""
    if x != x:
        return "NaN"
    if x in (float("inf"), float("-inf")):
        return "Infinity" if x > 0 else "-Infinity"
    if single:
        text = next(t for p in range(1, 10) if struct.pack("f", float(t := f"{x:.{p}g}")) == struct.pack("f", x))
    else:
        text = repr(x)
    sign, digits, exponent = Decimal(text).as_tuple()
    assert isinstance(exponent, int)
    if len(digits) == 1 and x:  # Java shows at least two digits and takes the nearest two
        sign, digits, exponent = Decimal(f"{x:.1e}").as_tuple()
        assert isinstance(exponent, int)
    shown = "".join(map(str, digits)).rstrip("0") or "0"
    exponent += len(digits) - 1
    minus = "-" if sign or text.startswith("-") else ""
    if x == 0:
        return minus + "0.0"
    if -3 <= exponent < 7:
        whole = shown[: exponent + 1].ljust(exponent + 1, "0") if exponent >= 0 else "0"
        rest = shown[exponent + 1 :] if exponent >= 0 else "0" * (-exponent - 1) + shown
        return f"{minus}{whole}.{rest or '0'}"
    return f"{minus}{shown[0]}.{shown[1:] or '0'}E{exponent}"


def _fraction(micros: int) -> str:
    if micros == 0:
        return ""
    return f".{micros // 1000:03d}" if micros % 1000 == 0 else f".{micros:06d}"


def local_time(millis: int) -> str:
    seconds, ms = divmod(millis, 1000)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}"
    return text if seconds % 60 == 0 and ms == 0 else f"{text}:{seconds % 60:02d}{_fraction(ms * 1000)}"


def local_date_time(v: dt.datetime) -> str:
    millis = (v.hour * 3600 + v.minute * 60 + v.second) * 1000
    if v.microsecond % 1000:
        return f"{v:%Y-%m-%d}".rjust(10, "0") + f"T{v:%H:%M:%S}{_fraction(v.microsecond)}"
    return f"{v:%Y-%m-%d}".rjust(10, "0") + "T" + local_time(millis + v.microsecond // 1000)


def java_text(v: Any, t: DataType) -> Any:
    """Return a value that Spark handed out as the goldens hold it."""
    if v is None:
        return None
    match t.root:
        case Root.BOOLEAN:
            return str(v).lower()
        case Root.FLOAT | Root.DOUBLE:
            return java_float(v, t.root is Root.FLOAT)
        case Root.BINARY | Root.VARBINARY:
            return "0x" + bytes(v).hex()
        case Root.TIME:
            return local_time(v)
        case Root.TIMESTAMP:
            return local_date_time(v)
        case Root.TIMESTAMP_LTZ:
            return f"{v:%Y-%m-%d}".rjust(10, "0") + f"T{v:%H:%M:%S}{_fraction(v.microsecond)}Z"
        case Root.ARRAY:
            return [java_text(x, t.element) for x in v]
        case Root.MAP:
            return {str(java_text(k, t.key)): java_text(x, t.value) for k, x in sorted(v.items())}
        case Root.MULTISET:
            return {str(java_text(k, t.element)): str(x) for k, x in sorted(v.items())}
        case Root.ROW:
            return [java_text(x, f.type) for x, f in zip(v, t.fields, strict=True)]
        case _:
            return str(v)
