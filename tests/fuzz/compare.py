"""Rows of both engines as values that can be counted: text out of Spark, Python values out of DuckDB."""

from __future__ import annotations

import math
from collections import Counter
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.fuzz.world import Column


def from_spark(value: str | None, kind: str) -> Any:
    if value is None:
        return None
    match kind:
        case "bool":
            return value == "true"
        case "array":
            items = value[1:-1].split(", ") if value != "[]" else []
            return tuple(sorted(items))
        case "ts":
            return datetime.fromisoformat(value).isoformat()
    return _either(value, kind)


def from_duck(value: Any, kind: str) -> Any:
    if value is None:
        return None
    if kind == "array":
        return tuple(sorted("null" if v is None else str(v) for v in value))
    if isinstance(value, datetime | date):
        return value.isoformat()
    return _either(value, kind)


def _either(value: Any, kind: str) -> Any:
    """Read the kinds that both engines write alike; others stand as they are."""
    match kind:
        case "int" | "big":
            return int(value)
        case "dbl" | "approx":
            return _float(float(value))
        case "dec":
            return Decimal(value).normalize() + 0
        case "listed":
            return tuple(sorted(value.split(",")))
    return value


def _float(value: float) -> Any:
    """Round to nine significant digits: the order of additions does not count. NaN is one value."""
    return "NaN" if math.isnan(value) else float(f"{value:.9g}") + 0.0


def table(rows: Counter[Any], columns: Sequence[Column]) -> Counter[Any]:
    out: Counter[Any] = Counter()
    for row, n in rows.items():
        out[tuple(from_spark(v, c.type) for v, c in zip(row, columns, strict=True))] += n
    return out


def expected(db: Any, sql: str, columns: Sequence[Column]) -> Counter[Any]:
    found = db.execute(sql).fetchall()
    return Counter(tuple(from_duck(v, c.type) for v, c in zip(row, columns, strict=True)) for row in found)
