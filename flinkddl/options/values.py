"""Option values: text to typed value, as Flink's ConfigOption does it.

Every parser raises ValueError with what was expected, in words for a message. Durations are milliseconds (what is
below one is cut), sizes are bytes. Sources: Flink's TimeUtils, MemorySize, ConfigurationUtils and
StructuredOptionsSplitter.
"""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

INT_MIN, INT_MAX = -(2**31), 2**31 - 1
LONG_MIN, LONG_MAX = -(2**63), 2**63 - 1

_DURATION_UNITS: dict[str, tuple[tuple[str, ...], int]] = {
    "days": (("d", "day", "days"), 86_400_000_000_000),
    "hours": (("h", "hour", "hours"), 3_600_000_000_000),
    "minutes": (("m", "min", "minute", "minutes"), 60_000_000_000),
    "seconds": (("s", "sec", "secs", "second", "seconds"), 1_000_000_000),
    "milliseconds": (("ms", "milli", "millis", "millisecond", "milliseconds"), 1_000_000),
    "microseconds": (("µs", "micro", "micros", "microsecond", "microseconds"), 1_000),
    "nanoseconds": (("ns", "nano", "nanos", "nanosecond", "nanoseconds"), 1),
}
_NANOS = {label: nanos for labels, nanos in _DURATION_UNITS.values() for label in labels}
_MEMORY_UNITS = {
    **dict.fromkeys(("", "b", "bytes"), 1),
    **dict.fromkeys(("k", "kb", "kibibytes"), 1 << 10),
    **dict.fromkeys(("m", "mb", "mebibytes"), 1 << 20),
    **dict.fromkeys(("g", "gb", "gibibytes"), 1 << 30),
    **dict.fromkeys(("t", "tb", "tebibytes"), 1 << 40),
}
_ISO_DURATION = re.compile(
    r"(?P<sign>[-+]?)P(?:(?P<d>[-+]?\d+)D)?(?:T(?=[-+\d])(?:(?P<h>[-+]?\d+)H)?(?:(?P<m>[-+]?\d+)M)?"
    r"(?:(?P<s>[-+]?\d+)(?:[.,](?P<f>\d{0,9}))?S)?)?",
    re.IGNORECASE,
)
_JAVA_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", '"': '"', "'": "'", "\\": "\\"}


def parse_duration(text: str) -> int:
    """Return milliseconds of ``100``, ``5 min``, ``1d``, ``PT5M``; a bare number is milliseconds."""
    return parse_duration_nanos(text) // 1_000_000


def parse_duration_nanos(text: str) -> int:
    """Return nanoseconds of a duration text. Raises ValueError."""
    trimmed = text.strip()
    if not trimmed:
        raise ValueError("expected a duration such as '10 s', but the text is empty")
    digits = re.match(r"[0-9]*", trimmed).group()  # type: ignore[union-attr]  # the pattern matches the empty text
    unit = trimmed[len(digits) :].strip().lower()
    if not digits:
        return _iso_duration(trimmed)
    value = int(digits)
    if value > LONG_MAX:
        raise ValueError(f"expected a duration, but {digits} is too large")
    if not unit:
        return value * 1_000_000
    if unit not in _NANOS:
        labels = ", ".join(labels[0] for labels, _ in _DURATION_UNITS.values())
        raise ValueError(f"expected a duration such as '10 s', but '{unit}' is no unit of time (units: {labels})")
    return value * _NANOS[unit]


def duration_text(ms: int) -> str:
    """Return a duration of whole milliseconds as Flink's TimeUtils writes it: ``1 h``, ``90 s``, ``0 ms``."""
    fitting = (labels[0] for labels, nanos in _DURATION_UNITS.values() if not ms % max(nanos // 1_000_000, 1))
    unit = next(fitting) if ms else "ms"
    return f"{ms * 1_000_000 // _NANOS[unit]} {unit}"


def _iso_duration(text: str) -> int:
    found = _ISO_DURATION.fullmatch(text)
    if not found or not any(found[g] for g in "dhms"):
        raise ValueError("expected a duration such as '10 s' or 'PT10S'")
    seconds = int(found["d"] or 0) * 86400 + int(found["h"] or 0) * 3600 + int(found["m"] or 0) * 60
    nanos = (seconds + int(found["s"] or 0)) * 1_000_000_000
    fraction = int((found["f"] or "").ljust(9, "0"))
    nanos += -fraction if (found["s"] or "").startswith("-") else fraction
    nanos = -nanos if found["sign"] == "-" else nanos
    if nanos < 0:
        raise ValueError("expected a duration, but a negative one is not supported")
    return nanos


def parse_memory(text: str) -> int:
    """Return bytes of ``128mb``, ``64 kb``, ``1024``."""
    found = re.fullmatch(r"([0-9]+)\s*(.*)", text.strip())
    if not found:
        raise ValueError("expected a size such as '128mb'")
    number, unit = found.groups()
    if unit.lower() not in _MEMORY_UNITS:
        raise ValueError(f"expected a size such as '128mb', but '{unit}' is no unit (units: b, kb, mb, gb, tb)")
    return int(number) * _MEMORY_UNITS[unit.lower()]


def parse_bool(text: str) -> bool:
    """Return the value of ``true`` or ``false`` in any case."""
    lowered = text.lower()
    if lowered not in ("true", "false"):
        raise ValueError("expected true or false")
    return lowered == "true"


def _integer(text: str, low: int, high: int, word: str) -> int:
    # Java's parseInt: an optional sign and digits, nothing else; digits of other scripts count in both languages.
    if not re.fullmatch(r"[-+]?\d+", text):
        raise ValueError(f"expected {word}")
    value = int(text)
    if not low <= value <= high:
        raise ValueError(f"expected {word}, but {text} is out of range")
    return value


def parse_int(text: str) -> int:
    """Return a 32-bit whole number."""
    return _integer(text, INT_MIN, INT_MAX, "a whole number")


def parse_long(text: str) -> int:
    """Return a 64-bit whole number."""
    return _integer(text, LONG_MIN, LONG_MAX, "a whole number")


def parse_double(text: str) -> float:
    """Return a floating-point number."""
    try:
        return float(text.strip().rstrip("dDfF") or "x")
    except ValueError:
        raise ValueError("expected a number") from None


def parse_enum(text: str, choices: tuple[str, ...]) -> str:
    """Return the choice that equals the text in any case, in its printed spelling."""
    for choice in choices:
        if choice.lower() == text.lower():
            return choice
    raise ValueError(f"expected one of: {', '.join(choices)}")


def parse_list(text: str) -> tuple[str, ...]:
    """Return the items of ``a;b`` or of a YAML flow list ``[a, b]``; items may be quoted with ``'`` or ``"``."""
    stripped = text.strip()
    if stripped.startswith("[") and stripped.endswith("]"):
        inner = stripped[1:-1].strip()
        return tuple(_unquote(part) for part in split_escaped(inner, ",")) if inner else ()
    return tuple(_unquote(part) for part in split_escaped(text, ";"))


def split_escaped(text: str, delimiter: str) -> list[str]:
    """Split at a delimiter that stands outside quotes; a trailing delimiter adds nothing. Raises ValueError."""
    parts: list[str] = []
    start = 0
    quote = ""
    for i, c in enumerate(text):
        if quote:
            quote = "" if c == quote else quote
        elif c in "'\"" and not text[start:i].strip():
            quote = c
        elif c == delimiter:
            parts.append(text[start:i].strip())
            start = i + 1
        elif c in "'\"" and text[start:i].strip()[:1] == c:
            quote = c  # a doubled quote inside a quoted item
    if quote:
        raise ValueError("expected a list, but a quote is not closed")
    last = text[start:].strip()
    return [*parts, last] if last else parts


def _unquote(part: str) -> str:
    if len(part) >= 2 and part[0] == part[-1] and part[0] in "'\"":
        return part[1:-1].replace(part[0] * 2, part[0])
    return part


def parse_map(text: str) -> dict[str, str]:
    """Return the entries of ``k1:v1,k2:v2``. Raises ValueError."""
    out: dict[str, str] = {}
    for part in split_escaped(text, ","):
        key, colon, value = part.partition(":")
        if not colon:
            raise ValueError("expected a map such as 'key:value,key:value'")
        out[_unquote(key.strip())] = _unquote(value.strip())
    return out


def parse_char(text: str) -> str:
    r"""Return the text with Java escapes (``\t``, ``\\``, ``\u0001``) undone; a schema rule checks its length."""

    def undo(match: re.Match[str]) -> str:
        body = match.group(1)
        return chr(int(body[-4:], 16)) if body[0] == "u" else _JAVA_ESCAPES.get(body, body)

    return re.sub(r"\\(u+[0-9a-fA-F]{4}|.)", undo, text, flags=re.DOTALL)


def parse_regex(text: str) -> str:
    """Return a Java regular expression after a check of its brackets and quantifiers. Raises ValueError."""
    translated = _JAVA_ONLY.sub(lambda m: _JAVA_REGEX.get(m.group()[:2], "x"), text)
    try:
        re.compile(translated)
    except re.error as error:
        raise ValueError(f"expected a regular expression, but {error}") from None
    return text


def parse_charset(text: str) -> str:
    """Return a charset name that both Java and Python know. Raises ValueError."""
    try:
        info = codecs.lookup(text)
    except LookupError:
        raise ValueError("expected the name of a charset, such as UTF-8") from None
    if not info._is_text_encoding:  # rot13 and the like
        raise ValueError("expected the name of a charset, such as UTF-8")
    return text


# What Java's regular expressions write differently from Python's; only the shape matters for the check.
_JAVA_ONLY = re.compile(r"\(\?<(?![=!])|\\[pP]\{\w+\}|\\[QEhHRXGkzZ]")
_JAVA_REGEX = {"(?": "(?P<"}
_PARSERS: dict[str, Callable[[str], Any]] = {
    "string": str,
    "any": str,
    "int": parse_int,
    "long": parse_long,
    "double": parse_double,
    "bool": parse_bool,
    "duration": parse_duration,
    "memory": parse_memory,
    "list": parse_list,
    "map": parse_map,
    "char": parse_char,
    "regex": parse_regex,
    "charset": parse_charset,
}
KINDS = frozenset({*_PARSERS, "enum"})


def parse(kind: str, text: str, choices: tuple[str, ...] = ()) -> Any:
    """Return the typed value of an option text. Raises ValueError saying what was expected."""
    return parse_enum(text, choices) if kind == "enum" else _PARSERS[kind](text)
