"""Rows typed by hand: each line that is none is told with its number and the column."""

from __future__ import annotations

import pytest

from flinkddl.catalog.model import Table
from flinkddl.diagnostics import FlinkDdlError, SourceText
from flinkddl.diagnostics.render import render_text
from flinkddl.runtime.kafka.rows import Line, RowWriter, row_writer
from flinkddl.script.compile import compile_script

COLUMNS = "id BIGINT, price DECIMAL(10, 2), ts TIMESTAMP(3), ok BOOLEAN, r ROW<a INT, b DATE>, l ARRAY<INT>"


def writer(format: str, more: str = "") -> RowWriter:
    options = f"'connector' = 'kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'b:1', {more}"
    ddl = f"CREATE TABLE t ({COLUMNS}) WITH ({options}'value.format' = '{format}')"
    table = compile_script(SourceText("t.sql", ddl)).catalog.find(("t",))
    assert isinstance(table, Table)
    return row_writer(table)


# format, line, place in it, message, help
WRONG = [
    ("json", '{"id": 1, "idd": 2}', (11, '"idd"'), "the table has no column 'idd'", "did you mean 'id'?"),
    ("json", '{"id":1,"x":"idd", "idd" : 2}', (9, '"x"'), "the table has no column 'x'", "columns: id, price"),
    ("json", "[1]", (1, "[1]"), "the line is no JSON object", 'write {"column": value}'),
    ("json", '{"id": 1,', (10, ""), "the line is no row: Expecting property name", "a line is a JSON object"),
    ("csv", '{"r": {"a": 1}}', (2, '"r"'), "the value of column 'r' does not fit a field of CSV: {\"a\": 1}", ""),
    ("avro", '{"ok":true,"id":"abc"}', (12, '"id"'), "the value of column 'id' does not fit BIGINT: \"abc\"", ""),
    ("avro", '{"id": 1.5}', (2, '"id"'), "the value of column 'id' does not fit BIGINT: 1.5", ""),
    ("avro", '{"id": 99999999999999999999}', (2, '"id"'), "does not fit BIGINT: 99999999999999999999", ""),
    ("avro", '{"price": 1.555}', (2, '"price"'), "does not fit DECIMAL(10, 2): 1.555", ""),
    ("avro", '{"ts": "soon"}', (2, '"ts"'), 'does not fit TIMESTAMP(3): "soon"', ""),
    ("avro", '{"ts": 5}', (2, '"ts"'), "does not fit TIMESTAMP(3): 5", ""),
    ("avro", '{"ok": "yes"}', (2, '"ok"'), 'does not fit BOOLEAN: "yes"', ""),
    ("avro", '{"r": 5}', (2, '"r"'), "does not fit ROW<`a` INT, `b` DATE>: 5", ""),
    ("avro", '{"r": {"c": 5}}', (2, '"r"'), 'does not fit ROW<`a` INT, `b` DATE>: {"c": 5}', ""),
    ("avro", '{"l": "abc"}', (2, '"l"'), 'does not fit ARRAY<INT>: "abc"', ""),
    ("json", '{"ok":true,"id":"five"}', (12, '"id"'), "the value of column 'id' does not fit BIGINT: \"five\"", ""),
    ("json", '{"id": true}', (2, '"id"'), "does not fit BIGINT: true", ""),
    ("json", '{"id": 1.5}', (2, '"id"'), "does not fit BIGINT: 1.5", ""),
    ("json", '{"id": 9223372036854775808}', (2, '"id"'), "does not fit BIGINT: 9223372036854775808", ""),
    ("json", '{"price": "dear"}', (2, '"price"'), 'does not fit DECIMAL(10, 2): "dear"', ""),
    ("json", '{"ts": "yesterday"}', (2, '"ts"'), 'does not fit TIMESTAMP(3): "yesterday"', ""),
    ("json", '{"ok": "yes"}', (2, '"ok"'), 'does not fit BOOLEAN: "yes"', ""),
    ("json", '{"r": {"a": 3000000000}}', (2, '"r"'), "does not fit ROW<`a` INT, `b` DATE>: ", ""),
    ("json", '{"l": [1, "x"]}', (2, '"l"'), 'does not fit ARRAY<INT>: [1, "x"]', ""),
    ("csv", '{"id": "five"}', (2, '"id"'), 'does not fit BIGINT: "five"', ""),
]


@pytest.mark.parametrize(("format", "line", "place", "message", "help"), WRONG, ids=[f"{w[0]} {w[1]}" for w in WRONG])
def test_a_wrong_line(format: str, line: str, place: tuple[int, str], message: str, help: str) -> None:
    with pytest.raises(FlinkDdlError) as raised:
        writer(format).record(Line(line, 7))
    (found,) = raised.value.diagnostics
    assert found.span is not None
    assert (found.code, str(found.span), found.span.text) == ("FD868", f"<stdin>:7:{place[0]}", place[1])
    assert message in found.message
    assert help in (found.help or "")


def test_a_column_of_the_key_has_its_own_name() -> None:
    more = "'key.format' = 'avro', 'key.fields' = 'id', 'key.fields-prefix' = '', "
    with pytest.raises(FlinkDdlError) as raised:
        writer("json", more).record(Line('{"id": "x"}', 2))
    assert render_text(raised.value.diagnostics) == (
        "<stdin>:2:2: error FD868: the value of column 'id' does not fit BIGINT: \"x\"\n"
        '    2 | {"id": "x"}\n'
        "      |  ^^^^"
    )


def test_rows_are_written() -> None:
    line = Line('{"id": 1.0, "price": 1.5, "ok": true, "r": {"a": 2}, "l": [3]}')
    assert writer("avro").record(line) == (
        None,
        b"\x02\x02\x02\x04\x00\x96\x00\x02\x01\x02\x02\x04\x00\x02\x02\x02\x06\x00",
    )
    assert writer("csv").record(Line('{"id": 1, "ok": true}')) == (None, b"1,,,true,,")


# values that Flink's text formats read as the types of the columns
READABLE = [
    '{"id":"5","price":"1.5","ts":"2026-01-02 03:04:05.123456789","ok":"TRUE","r":null,"l":["1"]}',
    '{"id":-9223372036854775808,"price":1,"ts":"2026-01-02T03:04:05Z","ok":false,"r":{"a":1,"b":"2026-01-02"},"l":[]}',
]


@pytest.mark.parametrize("line", READABLE)
def test_numbers_in_quotes_are_numbers(line: str) -> None:
    assert writer("json").record(Line(line)) == (None, line.encode())
