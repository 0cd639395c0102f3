"""What Flink 2.3 refuses and is taken here: one warning (FD477) that says what to write, an error with ``--strict``.

Each refusal was asked of a Flink 2.3; what stands in ``FINE`` it takes.
"""

from __future__ import annotations

import pytest

from flinkddl.api import Catalog
from flinkddl.catalog.settings import STRICT
from flinkddl.catalog.state import Catalog as CatalogState
from flinkddl.diagnostics import Diagnostic, FlinkDdlError, SourceText
from flinkddl.script.compile import compile_script

SOURCE, SINK = "WITH ('connector' = 'datagen')", "WITH ('connector' = 'blackhole')"
T = f"CREATE TABLE t (id INT, `value` STRING, `date` DATE, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) {SOURCE};\n"

# what stands after T, and the bare words in it
WORDS = {
    "an alias": ("SELECT COUNT(*) AS count FROM t", ["count"]),
    "an alias without AS": ("SELECT id value FROM t", ["value"]),
    "a column": ("SELECT value FROM t", ["value"]),
    "behind a dot": ("SELECT t.value FROM t", ["value"]),
    "a word that no bare name begins with": ("SELECT x.table FROM (SELECT id AS `table` FROM t) AS x", ["table"]),
    "in a condition": ("SELECT id FROM t WHERE date > DATE '2020-01-01'", ["date"]),
    "a key": ("SELECT `value` FROM t GROUP BY value", ["value"]),
    "a table's alias": ("SELECT User.id FROM t AS User", ["User", "User"]),
    "a table's alias without AS": ("SELECT a.id FROM t a JOIN t user ON a.id = user.id", ["user", "user"]),
    "a WITH query": ("WITH day AS (SELECT id FROM t) SELECT id FROM day", ["day", "day"]),
    "columns of an alias": ("SELECT x.`value` FROM (VALUES (1)) AS x (value)", ["value"]),
    "a joined column": ("SELECT a.id FROM t a JOIN t b USING (date)", ["date"]),
    "a window": ("SELECT COUNT(*) OVER period FROM t WINDOW period AS (PARTITION BY id ORDER BY ts)", ["period"] * 2),
    "an argument": (
        "SELECT id FROM TABLE(TUMBLE(DATA => TABLE t, TIMECOL => DESCRIPTOR(ts), SIZE => INTERVAL '9' MINUTES, "
        "OFFSET => INTERVAL '1' MINUTE))",
        ["OFFSET"],
    ),
    "a table": (f"CREATE TABLE user (id INT) {SOURCE}; SELECT id FROM user", ["user", "user"]),
    "a declared column": (f"CREATE TABLE u (value STRING, `date` DATE) {SOURCE}", ["value"]),
    "a computed column": (f"CREATE TABLE u (id INT, rank AS id) {SOURCE}", ["rank"]),
    "a watermark": (f"CREATE TABLE u (`time` TIMESTAMP(3), WATERMARK FOR time AS `time`) {SOURCE}", ["time"]),
    "a PRIMARY KEY": (f"CREATE TABLE u (`value` INT, PRIMARY KEY (value) NOT ENFORCED) {SINK}", ["value"]),
    "a field": (f"CREATE TABLE u (r ROW<a INT, select INT, `from` INT>) {SOURCE}", ["select"]),
    "a view's column": ("CREATE VIEW v (date, b) AS SELECT id, ts FROM t", ["date"]),
    "an INSERT's column": (
        f"CREATE TABLE s (`value` STRING) {SINK}; INSERT INTO s (value) SELECT `value` FROM t",
        ["value"],
    ),
    "a database": ("CREATE DATABASE time; USE time", ["time", "time"]),
    "a table to drop": ("DROP TABLE IF EXISTS user", ["user"]),
    "in a hint": (
        "SELECT /*+ BROADCAST(user) */ `user`.id FROM t AS `user` JOIN t b ON `user`.id = b.id",
        ["user"],
    ),
    "in a statement set": (
        f"CREATE TABLE s (`value` STRING) {SINK}; "
        "EXECUTE STATEMENT SET BEGIN INSERT INTO s SELECT value FROM t; INSERT INTO s SELECT t.value FROM t; END",
        ["value", "value"],
    ),
    "a plan": ("EXPLAIN SELECT value FROM t", ["value"]),
}

FINE = {
    "in back-ticks": "SELECT `value` AS `count`, t.`date` FROM t AS `t`",
    "functions": (
        "SELECT YEAR(ts), HOUR(ts), SECOND(ts), POSITION('a' IN `value`), FIRST_VALUE(id), MIN(id), COUNT(*), "
        "POWER(id, 2) FROM t GROUP BY ts, `value`, id"
    ),
    "words of the grammar": "SELECT EXTRACT(DAY FROM ts), FLOOR(ts TO HOUR), TIMESTAMPDIFF(DAY, ts, ts) FROM t",
    "literals": "SELECT DATE '2020-01-01', TIME '10:00:00', TIMESTAMP '2020-01-01 00:00:00', CURRENT_DATE FROM t",
    "words that are not reserved": "SELECT id AS name, id AS type, id AS k, id AS key, id AS `offset` FROM t",
}


def said(script: str, strict: bool = False) -> list[Diagnostic]:
    catalog = CatalogState().starting(STRICT) if strict else None
    return compile_script(SourceText("case.sql", T + script), catalog).diagnostics


def of_the_code(found: list[Diagnostic]) -> list[Diagnostic]:
    return [d for d in found if d.code == "FD477"]


def check(script: str, places: list[str], words: str, help: str) -> None:
    """Check that each place has one warning, an error when strict, and that nothing else is new then."""
    found = said(script)
    mine = of_the_code(found)
    assert [d.span.text if d.span else None for d in mine] == places
    assert {d.severity for d in mine} == {"warning"}
    assert not [d for d in found if d.severity == "error"]
    for d in mine:
        assert words in d.message
        assert d.message.endswith(": Flink 2.3 refuses it")
        assert help in str(d.help)
    again = said(script, strict=True)
    assert [d.span for d in again if d.severity == "error"] == [d.span for d in mine]
    assert of_the_code(again) == [d for d in again if d.severity == "error"]


@pytest.mark.parametrize(("script", "words"), WORDS.values(), ids=WORDS)
def test_a_reserved_word_is_taken_as_a_name(script: str, words: list[str]) -> None:
    check(script, words, "is a reserved word and no bare name", "write `")
    assert [d.fix for d in of_the_code(said(script))] == [f"`{w}`" for w in words]
    assert {f"write `{w}`" for w in words} == {d.help for d in of_the_code(said(script))}


@pytest.mark.parametrize("script", FINE.values(), ids=FINE)
def test_what_flink_takes_is_not_told_of(script: str) -> None:
    assert of_the_code(said(script, strict=True)) == []
    assert not [d for d in said(script, strict=True) if d.severity == "error"]


def test_the_session_decides_where_it_stands() -> None:
    select = "SELECT value FROM t;"
    found = said(f"{select} SET 'flinkddl.strict' = 'true'; {select} RESET; {select}")
    assert [d.severity for d in of_the_code(found)] == ["warning", "error", "warning"]


def test_a_refused_table_is_there_for_what_follows() -> None:
    found = said(f"CREATE TABLE u (value STRING, b INT) {SOURCE}; SELECT b, nothing FROM u", strict=True)
    assert [d.code for d in found] == ["FD477", "FD450"]


def test_a_strict_catalog_refuses_and_an_ordinary_one_warns() -> None:
    heard: list[str] = []
    Catalog(notice=heard.append).execute(f"CREATE TABLE u (value STRING) {SOURCE}")
    assert "<sql>:1:17: warning FD477" in heard[0]
    with pytest.raises(FlinkDdlError, match="FD477"):
        Catalog(strict=True).execute(f"CREATE TABLE u (value STRING) {SOURCE}")


def test_a_name_out_of_a_variable_has_no_fix() -> None:
    source = SourceText("case.sql", T + "SELECT ${column} FROM t")
    (found,) = of_the_code(compile_script(source, variables={"column": "value"}).diagnostics)
    assert (found.fix, found.help) == (None, "write `value`")
