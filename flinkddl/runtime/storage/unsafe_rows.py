"""Spark's UnsafeRow format in Python: rows, arrays and maps of bytes whose types are known (UnsafeRow.java).

Types are as Spark writes them in JSON: ``"long"``, ``"decimal(10,2)"``, ``{"type": "struct", "fields": [..]}``.
"""

from __future__ import annotations

import struct
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_WORD = 8
_DIGITS_IN_A_WORD = 18  # Decimal.MAX_LONG_DIGITS
_FIXED: Mapping[str, str] = {
    "boolean": "?",
    "byte": "b",
    "short": "h",
    "integer": "i",
    "long": "q",
    "float": "f",
    "double": "d",
    "date": "i",
    "timestamp": "q",
    "timestamp_ntz": "q",
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SHOWN: Mapping[str, Callable[[Any], Any]] = {
    "date": lambda days: str(date(1970, 1, 1) + timedelta(days=days)),
    "timestamp": lambda micros: (_EPOCH + timedelta(microseconds=micros)).isoformat(sep=" ").replace("+00:00", "Z"),
    "timestamp_ntz": lambda micros: (_EPOCH + timedelta(microseconds=micros)).isoformat(sep=" ")[:-6],
}


def row_of(data: bytes, fields: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return a row by the names of its fields; bytes as hexadecimal text, times as ISO text, all else as JSON has it.

    Raises ValueError where the bytes are no row of these types.
    """
    start = _bits(len(fields))
    if len(data) < start + _WORD * len(fields):
        raise ValueError(f"{len(data)} bytes are no row of {len(fields)} fields")
    found: dict[str, Any] = {}
    for i, (name, type) in enumerate(fields):
        missing = data[i // 8] >> i % 8 & 1
        found[name] = None if missing else _value(data, start + _WORD * i, type)
    return found


def fields_of(type: Any) -> list[tuple[str, Any]]:
    """Return names and types of a struct's fields."""
    return [(field["name"], field["type"]) for field in type["fields"]]


def _bits(count: int) -> int:
    """Return the bytes of the bits that say which of so many values are NULL."""
    return (count + 63) // 64 * _WORD


def _value(data: bytes, at: int, type: Any) -> Any:
    """Return the value whose word, or whose own fixed bytes, begin at a place."""
    if isinstance(type, str):
        kind = type.partition("(")[0]
        if kind.startswith("interval"):
            kind = "integer" if "year" in kind or "month" in kind else "long"
        elif kind == "time":
            kind = "long"
        elif kind == "decimal":
            precision, scale = map(int, type[len("decimal(") : -1].split(","))
            short = precision <= _DIGITS_IN_A_WORD
            word = data[at : at + _WORD]
            number = int.from_bytes(word if short else _far(data, at), "little" if short else "big", signed=True)
            return str(Decimal(number).scaleb(-scale))
        if kind in _FIXED:
            try:
                value = struct.unpack_from("<" + _FIXED[kind], data, at)[0]
            except struct.error as error:
                raise ValueError(str(error)) from error
            return _SHOWN[kind](value) if kind in _SHOWN else value
        if kind in ("void", "null"):
            return None
        far = _far(data, at)
        return far.decode("utf-8", "replace") if kind in ("string", "varchar", "char") else far.hex()
    return _nested(_far(data, at), type)


def _far(data: bytes, at: int) -> bytes:
    """Return what a word with an offset and a size points to."""
    offset, size = (number := int.from_bytes(data[at : at + _WORD], "little")) >> 32, number & 0xFFFFFFFF
    if offset + size > len(data):
        raise ValueError(f"a value of {size} bytes at {offset} of {len(data)}")
    return data[offset : offset + size]


def _nested(data: bytes, type: Any) -> Any:
    match type["type"]:
        case "struct":
            return row_of(data, fields_of(type))
        case "array":
            return _array(data, type["elementType"])
        case "map":
            split = _WORD + int.from_bytes(data[:_WORD], "little")
            keys = _array(data[_WORD:split], type["keyType"])
            return [[k, v] for k, v in zip(keys, _array(data[split:], type["valueType"]), strict=True)]
    return data.hex()  # a type of Spark's that no table of Flink has


def _array(data: bytes, type: Any) -> list[Any]:
    count = int.from_bytes(data[:_WORD], "little")
    start = _WORD + _bits(count)
    fixed = isinstance(type, str) and type in _FIXED
    size = struct.calcsize("<" + _FIXED[type]) if fixed else _WORD
    if isinstance(type, str) and type.startswith("interval") and ("year" in type or "month" in type):
        size = 4
    missing = [data[_WORD + i // 8] >> i % 8 & 1 for i in range(count)]
    return [None if missing[i] else _value(data, start + size * i, type) for i in range(count)]
