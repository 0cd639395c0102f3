"""Slips of a first hour: each is named once, at its place, and nothing is said of what only follows from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from flinkddl.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

DATA = "WITH ('connector' = 'datagen')"
# name -> script, what is said (code, part of the message or help), each once and in this order
SLIPS: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "if-not-exist": (
        f"CREATE TABLE IF NOT EXIST t (id INT) {DATA}; SELECT id FROM t;",
        [("FD102", "did you mean 'EXISTS'?")],
    ),
    "if-exist": ("DROP TABLE IF EXIST t;", [("FD102", "did you mean 'EXISTS'?")]),
    "comma-of-columns": (
        f"CREATE TABLE t (id INT name STRING) {DATA}; SELECT id FROM t;",
        [("FD102", "is the comma before it missing?")],
    ),
    "comma-of-options": (
        "CREATE TABLE c.d.t (id INT) WITH ('connector' = 'datagen' 'number-of-rows' = '1'); SELECT id FROM c.d.t;",
        [("FD102", "is the comma before it missing?")],
    ),
    "reserved-columns": (
        f"CREATE TABLE t (id INT, order STRING, group INT) {DATA}; SELECT id FROM t;",
        [("FD107", "`order`"), ("FD107", "`group`")],
    ),
    "count-with-a-letter-too-many": (
        f"CREATE TABLE t (id INT) {DATA}; SELECT COUNTT(*) FROM t;",
        [("FD400", "did you mean 'COUNT'?")],
    ),
    "constraints-are-none": (f"CREATE TABLE t (id INT, UNIQUE (id)) {DATA};", [("FD306", "UNIQUE")]),
    "a-view-that-is-not-read": ("CREATE VIEW v AS SELEC 1; SELECT * FROM v;", [("FD102", "'SELEC'")]),
    "a-setting-of-ours": (
        "SET 'flinkddl.execution.mod' = 'realtime';",
        [("FD485", "did you mean 'flinkddl.execution.mode'?")],
    ),
    "a-setting-near-ours": ("SET 'flinkdl.execution.mode' = 'realtime';", [("FD485", "flinkddl.execution.mode")]),
    "a-setting-of-flink": ("SET 'table.exec.state.tll' = '1 h';", [("FD331", "table.exec.state.ttl")]),
    "a-table-nobody-uses": (
        "CREATE TABLE t (id INT) WITH ('connector' = 'kafak', 'topic' = 'x');",
        [("FD202", "did you mean 'kafka'?")],
    ),
    "a-pattern-for-others": (
        "CREATE TABLE t (id INT) WITH ('connector' = 'kafka'); CREATE TABLE u WITH ('topic' = 'x', "
        "'properties.bootstrap.servers' = 'b:1', 'format' = 'json') LIKE t;",
        [],
    ),
    "a-sink-nobody-uses": ("CREATE TABLE t (id INT) WITH ('connector' = 'blackhole');", []),
}


@pytest.mark.parametrize("name", SLIPS)
def test_a_slip_is_named(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sql, wanted = SLIPS[name]
    file = tmp_path / "job.sql"
    file.write_text(sql)
    main(["check", str(file)])
    said = capsys.readouterr().err.split(f"{file}:")[1:]
    found = [part for part in said if " FD" in part]
    assert len(found) == len(wanted), said
    for part, (code, text) in zip(found, wanted, strict=True):
        assert f" {code}: " in part
        assert text in part
