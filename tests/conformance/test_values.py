"""Printing of collected values against what Java prints, and the comparison of sink topics."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from flinkddl import sqltypes as T
from tests.conformance.queries import last_values
from tests.conformance.values import show

CASES: list[tuple[T.DataType, Any, Any]] = [
    (T.INT, None, None),
    (T.BOOLEAN, True, "true"),
    (T.DOUBLE, 100.0, "100.0"),
    (T.DOUBLE, 12345678.0, "1.2345678E7"),
    (T.DOUBLE, 0.0001, "1.0E-4"),
    (T.DOUBLE, -0.0, "-0.0"),
    (T.DOUBLE, float("inf"), "Infinity"),
    (T.FLOAT, 0.10000000149011612, "0.1"),
    (T.DECIMAL(10, 4), Decimal("1.1000"), "1.1000"),
    (T.DECIMAL(20, 0), Decimal("1E+3"), "1000"),
    (T.TIMESTAMP(3), datetime(2024, 3, 1, 10), "2024-03-01T10:00"),
    (T.TIMESTAMP(3), datetime(2024, 3, 1, 10, 0, 5, 120000), "2024-03-01T10:00:05.120"),
    (T.TIMESTAMP(6), datetime(2024, 3, 1, 10, 0, 5, 120001), "2024-03-01T10:00:05.120001"),
    (T.TIMESTAMP_LTZ(3), datetime(2024, 3, 1, 10, tzinfo=UTC), "2024-03-01T10:00:00Z"),
    (T.TIME(3), 36_000_500, "10:00:00.500"),
    (T.TIME(0), 36_000_000, "10:00"),
    (T.DATE, date(2024, 3, 1), "2024-03-01"),
    (T.BYTES, bytearray(b"\x01\xff"), "0x01ff"),
    (T.INTERVAL_DT(), timedelta(minutes=1, seconds=39), "PT1M39S"),
    (T.INTERVAL_DT(), timedelta(milliseconds=-1500), "PT-1.5S"),
    (T.INTERVAL_YM(), 14, "P1Y2M"),
    (T.ARRAY(T.INT), [1, None], ["1", None]),
    (T.MAP(T.STRING, T.INT), {"b": 1, "a": 2}, {"a": "2", "b": "1"}),
    (T.MULTISET(T.STRING), {"x": 2}, {"x": "2"}),
    (T.ROW(("a", T.INT), ("b", T.STRING)), (1, "x"), ["1", "x"]),
]


@pytest.mark.parametrize(("type_", "value", "text"), CASES, ids=[f"{t}-{v}" for t, v, _ in CASES])
def test_values_print_as_java_does(type_: T.DataType, value: Any, text: Any) -> None:
    assert show(value, type_) == text


def test_last_values_leave_tombstones_out() -> None:
    records = [("k", "1"), ("l", "2"), ("k", None), (None, "x"), (None, "x"), ("l", "3")]
    assert last_values(records) == [["l", "3"], [None, "x"], [None, "x"]]
