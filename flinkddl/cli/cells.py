"""Values as Flink's SQL client shows them, and the widths of its columns.

Source of the rules: Flink's RowDataToStringConverterImpl (a value is shown as its CAST to STRING) and PrintStyle.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import timedelta, timezone
from functools import cache
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from flinkddl.sqltypes import Root

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime, tzinfo

    from flinkddl.sqltypes import DataType

NULL = "<NULL>"
MAX_WIDTH = 30
_ELLIPSIS = "..."


def cell(value: Any, t: DataType, zone: str = "UTC") -> str:
    """Return a collected value as the client shows it."""
    return NULL if value is None else text(value, t, zone)


def text(value: Any, t: DataType, zone: str) -> str:
    """Return a value that is not None as CAST to STRING writes it; bytes as hexadecimal digits."""
    match t.root:
        case Root.BOOLEAN:
            return "TRUE" if value else "FALSE"
        case Root.FLOAT | Root.DOUBLE:
            from flinkddl.runtime.job.reporting.changes import java_number

            return java_number(value, single=t.root is Root.FLOAT)
        case Root.DECIMAL:
            return f"{value:f}"
        case Root.BINARY | Root.VARBINARY:
            return f"x'{bytes(value).hex()}'"
        case Root.TIMESTAMP:
            return _moment(value, t.precision or 0)
        case Root.TIMESTAMP_LTZ:  # PySpark hands an instant over as wall time of this process, which astimezone knows
            return _moment(value.astimezone(_zone(zone)), t.precision or 0)
        case Root.TIME:
            return _time(int(value), t.precision or 0)
        case Root.INTERVAL_DAY_TIME:
            return _days(value)
        case Root.INTERVAL_YEAR_MONTH:
            return f"{'-' if value < 0 else '+'}{abs(value) // 12}-{abs(value) % 12:02d}"
        case _:
            return _constructed(value, t, zone)


def _constructed(value: Any, t: DataType, zone: str) -> str:
    def inner(v: Any, kind: DataType) -> str:
        return "NULL" if v is None else text(v, kind, zone)

    match t.root:
        case Root.ARRAY:
            return "[" + ", ".join(inner(v, t.element) for v in value) + "]"
        case Root.MAP:
            return "{" + ", ".join(f"{inner(k, t.key)}={inner(v, t.value)}" for k, v in value.items()) + "}"
        case Root.MULTISET:
            return "{" + ", ".join(f"{inner(k, t.element)}={n}" for k, n in value.items()) + "}"
        case Root.ROW:
            return "(" + ", ".join(inner(v, f.type) for v, f in zip(value, t.fields, strict=True)) + ")"
        case _:
            return str(value)


@cache
def _zone(name: str) -> tzinfo:
    """Return a zone by the names that Flink takes: a region, or an offset such as ``GMT+08:00``."""
    found = re.fullmatch(r"(?:GMT|UTC)?([+-])(\d{1,2})(?::?(\d\d))?", name)
    if found is None:
        return ZoneInfo("UTC" if name in {"default", "Z"} else name)
    offset = timedelta(hours=int(found[2]), minutes=int(found[3] or 0))
    return timezone(-offset if found[1] == "-" else offset)


def _moment(value: datetime, digits: int) -> str:
    fraction = f".{value.microsecond:06d}".ljust(10, "0")[: digits + 1] if digits else ""
    return f"{value.year:04d}-{value:%m-%d %H:%M:%S}{fraction}"


def _time(millis: int, digits: int) -> str:
    seconds, rest = divmod(millis, 1000)
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return clock + (f".{rest:03d}".ljust(10, "0")[: digits + 1] if digits else "")


def _days(value: timedelta) -> str:
    """``+1 02:03:04.500``."""
    size = abs(value)
    hours, rest = divmod(size.seconds, 3600)
    millis = size.microseconds // 1000
    sign = "-" if value < timedelta(0) else "+"
    return f"{sign}{size.days} {hours:02d}:{rest // 60:02d}:{rest % 60:02d}.{millis:03d}"


# ---- columns -------------------------------------------------------------------------------------------------------

_FIXED = {
    Root.TINYINT: 4,
    Root.SMALLINT: 6,
    Root.INT: 11,
    Root.BIGINT: 20,
    Root.BOOLEAN: 5,
    Root.DATE: 10,
}


def type_width(name: str, t: DataType, most: int = MAX_WIDTH) -> int:
    """Return the width of a streaming result's column, known before any row is there."""
    match t.root:
        case Root.DECIMAL:
            width = (t.precision or 10) + 2
        case Root.TIME:
            width = 9 + t.precision if t.precision else 8
        case Root.TIMESTAMP | Root.TIMESTAMP_LTZ:
            width = 20 + t.precision if t.precision else 19
        case root:
            width = _FIXED.get(root, most)
    return max(width, display_width(name), len(NULL))


def data_widths(header: Sequence[str], rows: Sequence[Sequence[str]], most: int | None = None) -> list[int]:
    """Return the widths of columns whose rows are all known, at most ``most`` where that is given."""
    widths = [max(display_width(row[i]) for row in (header, *rows)) for i in range(len(header))]
    if most is None:
        return widths
    return [max(min(w, most), display_width(h)) for w, h in zip(widths, header, strict=True)]


def display_width(value: str) -> int:
    """Return how many columns of a terminal a text takes: East Asian wide characters take two."""
    if value.isascii():
        return len(value)
    return sum(_char_width(c) for c in value)


def _char_width(c: str) -> int:
    if unicodedata.combining(c):
        return 0
    return 2 if unicodedata.east_asian_width(c) in "WF" else 1


def cut(value: str, width: int) -> str:
    """Return a text that fits a width, its end replaced by ``...`` where it does not."""
    if display_width(value) <= width:
        return value
    out, left = [], width - len(_ELLIPSIS)
    for c in value:
        left -= _char_width(c)
        if left < 0:
            break
        out.append(c)
    return "".join(out) + _ELLIPSIS


def pad(value: str, width: int) -> str:
    """Return a text right-aligned in a width."""
    return " " * (width - display_width(value)) + value


def rule(widths: Sequence[int]) -> str:
    """Return the horizontal line of a frame: ``+----+---+``."""
    return "+" + "+".join("-" * (w + 2) for w in widths) + "+"


def line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Return one row of a frame, cells cut and right-aligned."""
    return "|" + "|".join(f" {pad(cut(c, w), w)} " for c, w in zip(cells, widths, strict=True)) + "|"
