"""What Flink 2.3 refuses and is taken here: one warning (FD477) that says what to write, an error with ``--strict``.

Each refusal was asked of a Flink 2.3; what stands in ``FINE`` it takes.
"""

from __future__ import annotations

import pytest

from flinkddl.api import Catalog
from flinkddl.catalog.settings import STRICT
from flinkddl.catalog.state import Catalog as CatalogState
from flinkddl.diagnostics import Diagnostic, FlinkDdlError, SourceText
from flinkddl.diagnostics.render import to_json
from flinkddl.dialect import parse_script
from flinkddl.dialect.format import format_script
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

JOIN = "SELECT {} a.id FROM t a JOIN t b ON a.id = b.id"
FROM_A = f"CREATE TABLE a (id INT, n INT NOT NULL) {SOURCE}; CREATE TABLE b (PRIMARY KEY ({{}}) NOT ENFORCED) "
AS_QUERY = f"CREATE TABLE b ({{}} PRIMARY KEY (id) NOT ENFORCED) {SINK} AS SELECT {{}} FROM t"

# what stands after T, the place, a part of the message, a part of the help, and the fix
OTHERS = {
    "REAL": (f"CREATE TABLE u (a REAL) {SOURCE}", "REAL", "REAL is no type", "write FLOAT", "FLOAT"),
    "REAL within": (f"CREATE TABLE u (a MAP<INT, ROW<b REAL>>) {SOURCE}", "REAL", "REAL", "FLOAT", "FLOAT"),
    "REAL of a cast": ("SELECT CAST(id AS REAL) FROM t", "REAL", "REAL", "write FLOAT", "FLOAT"),
    "NULL": (f"CREATE TABLE u (a NULL) {SOURCE}", "NULL", "NULL is no type", "such as STRING", None),
    "NULL within": (f"CREATE TABLE u (a ARRAY<NULL>) {SOURCE}", "NULL", "NULL is no type", "such as STRING", None),
    "a field's COMMENT": (
        f"CREATE TABLE u (r ROW<a INT COMMENT 'x'>) {SOURCE}",
        *("COMMENT", "COMMENT before the text of a field", "write the text alone", ""),
    ),
    "a key from LIKE": (
        FROM_A.format("id") + "WITH ('connector' = 'blackhole') LIKE a",
        *("PRIMARY KEY (id) NOT ENFORCED", "column 'id' of the PRIMARY KEY", "in the base table", None),
    ),
    "a key from AS": (
        AS_QUERY.format("", "id"),
        *("PRIMARY KEY (id) NOT ENFORCED", "column 'id' of the PRIMARY KEY", "COALESCE in the query", None),
    ),
    "a declared key and AS": (AS_QUERY.format("id INT,", "id"), "id INT", "column 'id'", "write COALESCE", None),
    "NOT NULL and AS": (
        f"CREATE TABLE b (id INT NOT NULL) {SINK} AS SELECT id FROM t",
        *("id INT NOT NULL", "column 'id' is NOT NULL here", "INSERT INTO", None),
    ),
    "two columns of a WITH query": (
        "WITH c AS (SELECT id, ts AS id, ts FROM t) SELECT ts FROM c",
        *("ts AS id", "query 'c' has two columns 'id'", "another name", None),
    ),
    "an unread WITH query": (
        "WITH c AS (SELECT a.id, b.id FROM t a JOIN t b ON a.id = b.id) SELECT id FROM t",
        *("b.id", "query 'c' has two columns 'id'", "another name", None),
    ),
    "two names of a WITH query": (
        "WITH c (x, x) AS (SELECT id, ts FROM t) SELECT 1 FROM c",
        *("x", "query 'c' has two columns 'x'", "another name", None),
    ),
    "a number for a setting": ("SET 'pipeline.name' = 2", "2", "without quotes behind a key", "write '2'", "'2'"),
    "a word for a setting": ("SET 'pipeline.name' = two", "two", "behind a key in quotes", "write 'two'", "'two'"),
    "words for a setting": (
        "SET pipeline.name = it's mine",
        *("it's mine", "that is not one word", "write 'it''s mine'", "'it''s mine'"),
    ),
    "a hint nobody knows": (JOIN.format("/*+ FOO(a) */"), "FOO", "there is no hint FOO", "remove it", None),
    "a hint misspelt": (JOIN.format("/*+ BROADCAT(a) */"), "BROADCAT", "no hint", "did you mean BROADCAST?", None),
    "a second hint": (JOIN.format("/*+ BROADCAST(a), foo */"), "foo", "there is no hint FOO", "remove it", None),
    "a table's hint": ("SELECT id FROM t /*+ RESOURCE('a' = 'b') */", "RESOURCE", "there is no hint", "remove", None),
    "a sink's hint": (
        f"CREATE TABLE s (a INT) {SINK}; INSERT INTO s /*+ FOO(t) */ SELECT id FROM t",
        *("FOO", "there is no hint FOO", "remove it", None),
    ),
    "a view's hint": ("CREATE VIEW v AS SELECT /*+ FOO */ id FROM t", "FOO", "there is no hint", "remove it", None),
    "no table": (JOIN.format("/*+ BROADCAST */"), "BROADCAST", "BROADCAST names no table", "(table)", None),
    "no table in brackets": (JOIN.format("/*+ NEST_LOOP() */"), "NEST_LOOP", "names no table", "NEST_LOOP(", None),
    "a pair for a table": (JOIN.format("/*+ SHUFFLE_HASH('a' = 'b') */"), "SHUFFLE_HASH", "no table", "(table)", None),
    "no table to look up": (
        JOIN.format("/*+ LOOKUP('retry-predicate' = 'x') */"),
        "LOOKUP",
        "no table",
        "LOOKUP(",
        None,
    ),
    "no options": ("SELECT id FROM t /*+ OPTIONS() */", "OPTIONS", "holds nothing", "OPTIONS('key' = 'value')", None),
    "no TTL": (JOIN.format("/*+ STATE_TTL() */"), "STATE_TTL", "holds nothing", "STATE_TTL('table' = '1 d')", None),
}

FINE = {
    "numbers without digits": f"CREATE TABLE u (a FLOAT, b DOUBLE PRECISION, c DECIMAL, r ROW<a INT 'x'>) {SOURCE}",
    "own keys": f"CREATE TABLE u (id INT, PRIMARY KEY (id) NOT ENFORCED) {SINK}",
    "an added key": f"CREATE TABLE u (id INT) {SINK}; ALTER TABLE u ADD PRIMARY KEY (id) NOT ENFORCED",
    "a key from LIKE, NOT NULL": FROM_A.format("n") + "WITH ('connector' = 'blackhole') LIKE a",
    "the base's own key": (
        f"CREATE TABLE a (id INT, PRIMARY KEY (id) NOT ENFORCED) {SINK}; "
        "CREATE TABLE b WITH ('property-version' = '1') LIKE a"
    ),
    "a key from AS, NOT NULL": AS_QUERY.format("", "COALESCE(id, 0) AS id"),
    "a declared key and AS, NOT NULL": AS_QUERY.format("id INT,", "COALESCE(id, 0) AS id"),
    "a star's columns": "WITH c AS (SELECT * FROM t a JOIN t b ON a.id = b.id) SELECT 1 FROM c",
    "names of a WITH query": "WITH c (x, y) AS (SELECT id, id FROM t) SELECT x FROM c",
    "settings": (
        "SET pipeline.name = two; SET parallelism.default = 2; SET 'pipeline.name' = '2'; "
        "SET pipeline.name = 'two words'"
    ),
    "no setting": "SET; RESET pipeline.name; RESET 'pipeline.name'",
    "hints": JOIN.format("/*+ broadcast(a), SHUFFLE_MERGE('a', b), STATE_TTL('a' = '1 d'), LOOKUP('table' = 'b') */"),
    "the planner's hints": JOIN.format("/*+ ALIAS('x'), JSON_AGGREGATE_WRAPPED */"),
    "a table's hints": "SELECT id FROM t /*+ OPTIONS('number-of-rows' = '5') */",
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
    assert [to_json(d).get("fix") for d in of_the_code(said(script))] == [f"`{w}`" for w in words]
    assert {f"write `{w}`" for w in words} == {d.help for d in of_the_code(said(script))}


@pytest.mark.parametrize(("script", "place", "words", "help", "fix"), OTHERS.values(), ids=OTHERS)
def test_what_else_is_taken(script: str, place: str, words: str, help: str, fix: str | None) -> None:
    check(script, [place], words, help)
    assert [d.fix for d in of_the_code(said(script))] == [fix]


FIXED = {name: c[0] for name, c in WORDS.items()} | {name: c[0] for name, c in OTHERS.items() if c[4] is not None}


@pytest.mark.parametrize("script", FIXED.values(), ids=FIXED)
def test_format_writes_the_fix_and_nothing_else_changes(script: str) -> None:
    fixed = format_script(T + script, fix=True)
    assert of_the_code(compile_script(SourceText("fixed.sql", fixed)).diagnostics) == []
    before, after = (parse_script(SourceText("case.sql", text)).statements for text in (T + script, fixed))
    assert [s.tree for s in before] == [s.tree for s in after]
    assert format_script(fixed, fix=True) == fixed
    assert format_script(T + script) != fixed


def test_a_ttl_without_a_duration_is_refused() -> None:
    (found,) = [d for d in said(JOIN.format("/*+ STATE_TTL('a') */")) if d.severity == "error"]
    assert (found.code, found.help) == ("FD114", "write STATE_TTL('table' = '1 d')")


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
