from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from flinkddl.runtime.job.reporting.changes import Change, ChangeReader, flink_text, java_number

NUMBERS = [
    (0.0, "0.0"),
    (-0.0, "-0.0"),
    (1.0, "1.0"),
    (-2.5, "-2.5"),
    (123456.789, "123456.789"),
    (1234567.0, "1234567.0"),
    (1e7, "1.0E7"),
    (1.5e10, "1.5E10"),
    (0.001, "0.001"),
    (0.00012, "1.2E-4"),
    (1e300, "1.0E300"),
    (float("inf"), "Infinity"),
    (float("nan"), "NaN"),
]


@pytest.mark.parametrize(("value", "text"), NUMBERS)
def test_numbers_are_written_as_java_does(value: float, text: str) -> None:
    assert java_number(value) == text


def test_single_precision_is_written_short() -> None:
    import struct

    tenth = struct.unpack("f", struct.pack("f", 0.1))[0]
    assert (java_number(tenth), java_number(tenth, single=True)) == ("0.10000000149011612", "0.1")


TEXTS = [
    ("boolean", True, "true"),
    ("string", "a", "a"),
    ("string", None, "null"),
    ("bigint", 7, "7"),
    ("decimal(10,2)", Decimal("1.50"), "1.50"),
    ("binary", b"\x01\xff", "[1, -1]"),
    ("date", date(2024, 2, 29), "2024-02-29"),
    ("timestamp_ntz", datetime(2024, 1, 1), "2024-01-01T00:00"),
    ("timestamp_ntz", datetime(2024, 1, 1, 2, 3, 4, 120000), "2024-01-01T02:03:04.120"),
    ("timestamp", datetime(2024, 1, 1, tzinfo=UTC), "2024-01-01T00:00:00Z"),
    ("array<int>", [1, None], "[1, null]"),
    ("map<string,double>", {"a": 1.0}, "{a=1.0}"),
    ("struct<a:int,b:string>", (1, "x"), "+I[1, x]"),
]


@pytest.mark.parametrize(("ddl", "value", "text"), TEXTS, ids=[f"{d}-{t}" for d, _, t in TEXTS])
def test_values_are_written_as_flink_prints_them(ddl: str, value: Any, text: str) -> None:
    assert flink_text(value, _type(ddl)) == text


def _type(ddl: str) -> Any:
    from pyspark.sql import types as T

    simple: dict[str, Any] = {
        "boolean": T.BooleanType(),
        "string": T.StringType(),
        "bigint": T.LongType(),
        "decimal(10,2)": T.DecimalType(10, 2),
        "binary": T.BinaryType(),
        "date": T.DateType(),
        "timestamp_ntz": T.TimestampNTZType(),
        "timestamp": T.TimestampType(),
        "array<int>": T.ArrayType(T.IntegerType()),
        "map<string,double>": T.MapType(T.StringType(), T.DoubleType()),
        "struct<a:int,b:string>": T.StructType().add("a", "integer").add("b", "string"),
    }
    return simple[ddl]


def test_a_delta_is_summed_and_what_is_taken_back_comes_first() -> None:
    reader = ChangeReader(["a", "__w"])
    rows = [(1, 1), (1, -1), (2, 1), (3, -1), (2, 1)]
    assert reader.read(rows) == [Change("-D", (3,)), Change("+I", (2,)), Change("+I", (2,))]


def test_an_upsert_remembers_rows_over_batches_and_orders_by_version() -> None:
    reader = ChangeReader(["k", "n", "__version", "__deleted"], ("k",))
    assert reader.read([("a", 2, 2, False), ("a", 1, 1, False)]) == [
        Change("+I", ("a", 1)),
        Change("-U", ("a", 1)),
        Change("+U", ("a", 2)),
    ]
    assert reader.read([("a", 2, 3, False), ("b", None, 1, True)]) == []
    assert reader.read([("a", None, 4, True)]) == [Change("-D", ("a", 2))]
    assert reader.read([("a", 5, 5, False)]) == [Change("+I", ("a", 5))]


def test_rows_without_reserved_columns_are_inserts() -> None:
    assert ChangeReader(["a"]).read([(1,), (1,)]) == [Change("+I", (1,)), Change("+I", (1,))]


@pytest.mark.parametrize(
    ("rows", "lines"),
    [
        ([("x", 1, -1), ("x", 2, 1)], ["-U[x, 1]", "+U[x, 2]"]),
        ([("x", 1, -1), ("y", 2, 1)], ["-D[x, 1]", "+I[y, 2]"]),
        ([("x", 1, -1), ("y", 1, -1), ("y", 2, 1)], ["-D[x, 1]", "-U[y, 1]", "+U[y, 2]"]),
        ([("x", 1, -1), ("x", 2, 1), ("x", 2, -1), ("x", 3, 1)], ["-U[x, 1]", "+U[x, 3]"]),
        ([("x", 1, -1), ("x", 1, 1)], []),
        ([("x", 1, -2), ("x", 2, 1)], ["-D[x, 1]", "-D[x, 1]", "+I[x, 2]"]),
    ],
)
def test_a_delta_with_a_key_gives_updates(rows: list[Any], lines: list[str]) -> None:
    reader = ChangeReader(["k", "n", "__w"], ("k",))
    found = [f"{c.kind}[{', '.join(map(str, c.row))}]" for c in reader.read(rows)]
    assert found == lines


@pytest.mark.parametrize(("key", "kinds"), [((), ["-U", "+U"]), (None, ["-D", "+I"])], ids=["one-row", "no-key"])
def test_a_relation_of_one_row_is_updated(key: Any, kinds: list[str]) -> None:
    reader = ChangeReader(["n", "__w"], key)
    assert [c.kind for c in reader.read([(1, -1), (2, 1)])] == kinds
