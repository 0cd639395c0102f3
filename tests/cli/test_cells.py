"""Cells and frames as Flink's SQL client prints them: the texts were read off a Flink 2.3 in tableau mode."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from flinkddl import sqltypes as T
from flinkddl.catalog.settings import Settings
from flinkddl.cli.cells import cell, cut, display_width, type_width
from flinkddl.cli.tables import Columns, Tableau, answer_lines, paired
from flinkddl.diagnostics import SourceText
from flinkddl.plan.nodes import Field
from flinkddl.runtime.job.reporting.changes import Change
from flinkddl.script.compile import Start, compile_script

CELLS: list[tuple[T.DataType, Any, str]] = [
    (T.INT, 1, "1"),
    (T.STRING, None, "<NULL>"),
    (T.BOOLEAN, True, "TRUE"),
    (T.DECIMAL(2, 1), Decimal("1.5"), "1.5"),
    (T.DECIMAL(38, 10), Decimal("-1.5").scaleb(0).quantize(Decimal("1e-10")), "-1.5000000000"),
    (T.DECIMAL(20, 10), Decimal("1E-10"), "0.0000000001"),
    (T.DOUBLE, 2.25, "2.25"),
    (T.DOUBLE, 1e10, "1.0E10"),
    (T.DOUBLE, float("nan"), "NaN"),
    (T.FLOAT, 1.5e-10, "1.5E-10"),
    (T.DATE, date(2024, 1, 2), "2024-01-02"),
    (T.TIME(0), 36672000, "10:11:12"),
    (T.TIME(3), 43994500, "12:13:14.500"),
    (T.TIMESTAMP(0), datetime(2024, 1, 2, 3, 4, 5), "2024-01-02 03:04:05"),
    (T.TIMESTAMP(3), datetime(2024, 1, 2, 3, 4, 5, 678000), "2024-01-02 03:04:05.678"),
    (T.TIMESTAMP(9), datetime(2024, 1, 2, 3, 4, 5, 123456), "2024-01-02 03:04:05.123456000"),
    (T.TIMESTAMP_LTZ(3), datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC), "2024-01-02 11:04:05.000"),
    (T.ARRAY(T.STRING), ["q'x", "y", None], "[q'x, y, NULL]"),
    (T.MAP(T.STRING, T.INT), {"a": 1}, "{a=1}"),
    (T.MULTISET(T.STRING), {"a": 2}, "{a=2}"),
    (T.ROW(("a", T.INT), ("b", T.STRING)), (1, None), "(1, NULL)"),
    (T.VARBINARY(), b"\x0a\x0b", "x'0a0b'"),
    (T.INTERVAL_DT(), timedelta(days=1), "+1 00:00:00.000"),
    (T.INTERVAL_DT(), -timedelta(hours=2, milliseconds=5), "-0 02:00:00.005"),
    (T.INTERVAL_YM(), 14, "+1-02"),
]


@pytest.mark.parametrize(("kind", "value", "expected"), CELLS, ids=[f"{t}-{e}" for t, _, e in CELLS])
def test_a_value_is_shown_as_flink_shows_it(kind: T.DataType, value: Any, expected: str) -> None:
    assert cell(value, kind, "Asia/Shanghai") == expected


@pytest.mark.parametrize("zone", ["Asia/Shanghai", "GMT+08:00", "+08:00", "UTC+8"])
def test_zones_by_all_their_names(zone: str) -> None:
    assert cell(datetime(2024, 1, 1, 23, tzinfo=UTC), T.TIMESTAMP_LTZ(0), zone) == "2024-01-02 07:00:00"


WIDTHS = [
    *((T.INT, 11), (T.BIGINT, 20), (T.TINYINT, 6), (T.BOOLEAN, 6), (T.STRING, 30), (T.DOUBLE, 30), (T.DATE, 10)),
    *((T.DECIMAL(2, 1), 6), (T.DECIMAL(10, 3), 12), (T.TIME(0), 8), (T.TIMESTAMP(3), 23), (T.TIMESTAMP_LTZ(3), 23)),
    *((T.ARRAY(T.INT), 30), (T.INTERVAL_DT(), 30), (T.VARBINARY(), 30)),
]


@pytest.mark.parametrize(("kind", "width"), WIDTHS, ids=[str(t) for t, _ in WIDTHS])
def test_widths_follow_types_as_in_flink(kind: T.DataType, width: int) -> None:
    assert type_width("x", kind) == width


def test_wide_characters_take_two_columns() -> None:
    assert display_width("漢字a") == 5
    assert cut("this is a long string that is more than thirty", 30) == "this is a long string that ..."
    assert cut("漢字漢字", 7) == "漢字..."


CHANGES = [Change("+I", ("a", 1)), Change("-U", ("a", 1)), Change("+U", ("a", 2))]
COLUMNS = Columns.of((Field("word", T.STRING), Field("c", T.BIGINT)), Settings(), 8)


def _tableau(streaming: bool, changes: list[Change], **end: Any) -> list[str]:
    out: list[str] = []
    tableau = Tableau(COLUMNS, streaming, out.append)
    tableau.add(changes)
    tableau.end(**end)
    return out


def test_a_stream_is_printed_as_it_comes() -> None:
    assert _tableau(True, CHANGES) == [
        "+----+----------+----------------------+",
        "| op |     word |                    c |",
        "+----+----------+----------------------+",
        "| +I |        a |                    1 |",
        "| -U |        a |                    1 |",
        "| +U |        a |                    2 |",
        "+----+----------+----------------------+",
        "Received a total of 3 rows",
    ]
    assert _tableau(True, [], cancelled=True, note="(1.00 seconds)") == [
        "Query terminated, received a total of 0 rows (1.00 seconds)"
    ]


def test_a_finished_table_takes_the_width_of_its_data() -> None:
    rows = [Change("+I", ("a", 2)), Change("+I", (None, 1))]
    assert _tableau(False, rows) == [
        "+--------+---+",
        "|   word | c |",
        "+--------+---+",
        "|      a | 2 |",
        "| <NULL> | 1 |",
        "+--------+---+",
        "2 rows in set",
    ]
    assert _tableau(False, []) == ["Empty set"]


def test_a_row_stays_on_one_line() -> None:
    printed = _tableau(True, [Change("+I", ("a\nb\x1b[", 1))])
    assert "|   a\\nb\ufffd[ |" in printed[3]


def test_known_answers() -> None:
    assert list(answer_lines(("table name",), [("x",)])) == [
        "+------------+",
        "| table name |",
        "+------------+",
        "|          x |",
        "+------------+",
        "1 row in set",
    ]
    assert list(answer_lines(("name", "extras"), [("a", None)]))[3] == "|    a |        |"
    assert list(answer_lines(("table name",), [])) == ["Empty set"]
    assert list(answer_lines(("result",), [("two\nlines",)])) == ["two", "lines"]


PAIRS = [
    (["-Da1", "-Db1", "+Ia2", "+Ic1"], ["-Db1", "-Ua1", "+Ua2", "+Ic1"]),
    (["-Da1", "+Ia2"], ["-Ua1", "+Ua2"]),
    (["+Ia1", "+Ib1"], ["+Ia1", "+Ib1"]),
    (["-Da1"], ["-Da1"]),
    (["-Ua1", "+Ua2", "-Db1"], ["-Db1", "-Ua1", "+Ua2"]),
]


@pytest.mark.parametrize(("given", "shown"), PAIRS)
def test_a_key_that_goes_and_comes_is_an_update(given: list[str], shown: list[str]) -> None:
    changes: list[Any] = [Change(t[:2], (t[2], t[3])) for t in given]  # type: ignore[arg-type]
    assert [c.kind + "".join(c.row) for c in paired(changes, (0,))] == shown
    assert list(paired(changes, None)) == changes


def test_the_key_of_a_query_comes_from_its_plan() -> None:
    sql = "CREATE TABLE g (k INT, v INT) WITH ('connector' = 'datagen');"
    for query, key in (("k, COUNT(*) FROM g GROUP BY k", (0,)), ("COUNT(*) FROM g", ()), ("* FROM g", None)):
        compiled = compile_script(SourceText("q", f"{sql} SELECT {query};"))
        assert isinstance(start := compiled.actions[-1], Start)
        assert Columns.of_query(start, compiled.catalog).key == key
