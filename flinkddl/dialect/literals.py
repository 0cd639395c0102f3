"""Checks of literals that Flink makes while parsing: dates, times and intervals."""

from __future__ import annotations

import calendar
import re

_DATE = re.compile(r"\s*(\d{4})-(\d{1,2})-(\d{1,2})\s*")
_TIME = re.compile(r"\s*(\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.\d*)?\s*")
_TIMESTAMP = re.compile(r"\s*(\d{4})-(\d{1,2})-(\d{1,2})(?: +(\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.\d*)?)?\s*")
_FORMS = {
    "DATE": (_DATE, "DATE '2024-12-31'"),
    "TIME": (_TIME, "TIME '23:59:59.123'"),
    "TIMESTAMP": (_TIMESTAMP, "TIMESTAMP '2024-12-31 23:59:59.123'"),
}


def check_datetime(kind: str, text: str) -> str | None:
    """Return what is wrong with the text of a DATE, TIME or TIMESTAMP literal, or None."""
    form, example = _FORMS[kind]
    found = form.fullmatch(text)
    if found is None:
        return f"'{text}' is no {kind}, expected something like {example}"
    numbers = [int(g) if g else 0 for g in found.groups()]
    if kind != "TIME" and not _is_day(*numbers[:3]):
        return f"'{text}' is no {kind}: there is no such day"
    hour, minute, second = numbers[-3:] if kind != "DATE" else (0, 0, 0)
    if hour > 23 or minute > 59 or second > 59:
        return f"'{text}' is no {kind}: there is no such time of day"
    return None


def _is_day(year: int, month: int, day: int) -> bool:
    return year > 0 and 1 <= month <= 12 and 1 <= day <= calendar.monthrange(year, month)[1]


_FIELDS = {
    "YEAR TO MONTH": r"(\d+)-(\d{1,2})",
    "DAY TO HOUR": r"(\d+) (\d{1,2})",
    "DAY TO MINUTE": r"(\d+) (\d{1,2}):(\d{1,2})",
    "DAY TO SECOND": r"(\d+) (\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.\d{1,9})?",
    "HOUR TO MINUTE": r"(\d+):(\d{1,2})",
    "HOUR TO SECOND": r"(\d+):(\d{1,2}):(\d{1,2})(?:\.\d{1,9})?",
    "MINUTE TO SECOND": r"(\d+):(\d{1,2})(?:\.\d{1,9})?",
    "SECOND": r"(\d+)(?:\.\d{1,9})?",
}
_EXAMPLES = {
    "YEAR TO MONTH": "1-6",
    "DAY TO HOUR": "1 12",
    "DAY TO MINUTE": "1 12:30",
    "DAY TO SECOND": "1 12:30:00.000",
    "HOUR TO MINUTE": "12:30",
    "HOUR TO SECOND": "12:30:00",
    "MINUTE TO SECOND": "30:00",
}
_LIMITS = {"MONTH": 11, "HOUR": 23, "MINUTE": 59, "SECOND": 59}
_CHAIN = ("DAY", "HOUR", "MINUTE", "SECOND")


def check_interval(text: str, unit: str, precision: int | None) -> tuple[str, str | None] | None:
    """Return message and help when the text of an interval literal does not fit its units, or None.

    The leading number has at most ``precision`` digits, 2 by default, as Flink demands.
    """
    found = re.fullmatch(r"\s*[+-]?" + _FIELDS.get(unit, r"(\d+)") + r"\s*", text)
    if found is None:
        example = _EXAMPLES.get(unit, "5")
        return f"'{text}' is no interval of {unit}", f"write INTERVAL '{example}' {unit}"
    first, _, last = unit.partition(" TO ")
    digits = len(found[1].lstrip("0"))
    if digits > (2 if precision is None else precision):
        wide = f"{first}({digits})" + (f" TO {last}" if last else "")
        return f"'{found[1]}' has more digits than {first} holds", f"write INTERVAL '{text}' {wide}"
    names = ("MONTH",) if last == "MONTH" else _CHAIN[_CHAIN.index(first) + 1 :] if first in _CHAIN else ()
    for name, value in zip(names, found.groups()[1:], strict=False):
        if int(value) > _LIMITS[name]:
            return f"'{text}' is no interval of {unit}: {value} is too much for {name}", None
    return None
