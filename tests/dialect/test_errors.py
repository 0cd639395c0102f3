"""Mistakes: code, the text pointed at, and the help. ``tests/cases/dialect/errors.jsonl`` is the table."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot.errors import SqlglotError

from flinkddl.diagnostics import SourceText
from flinkddl.dialect import nodes
from flinkddl.dialect.script import MOST_COMMAS, parse_script
from flinkddl.script.compile import compile_script
from tests.dialect.helpers import CASES, json_lines, script

TABLE = json_lines(CASES / "errors.jsonl")


@pytest.mark.parametrize("case", TABLE, ids=lambda c: c["sql"][:50])
def test_mistake(case: dict[str, str]) -> None:
    found = script(case["sql"]).diagnostics
    assert len(found) == 1, found
    first = found[0]
    assert first.span is not None
    assert (first.code, first.span.text, first.message, first.help) == (
        case["code"],
        case["at"],
        case["message"],
        case.get("help"),
    )


def test_eight_mistakes_in_one_go() -> None:
    text = """CREATE TABLE a (id INT, name STRNG) WITH ('connector' = 'datagen');
SELECT id FORM a b c;
SELECT "id" FROM a;
CREATE TABLE ok (id INT) WITH ('connector' = 'datagen');
INSERT INTO a SELECT * FROM ok WHERE id != 1;
CREATE TABEL b (id INT);
EXECUTE STATEMENT SET BEGIN
INSERT INTO a SELECT FROM ok;
INSERT INTO a SELECT INTERVAL '5' SECNOD FROM ok;
INSERT INTO a SELECT 1;
END;
SELECT 'a
"""
    parsed = script(text)
    lines = [d.span.position[0] for d in parsed.diagnostics if d.span]
    assert lines == [1, 2, 3, 5, 6, 8, 9, 12]
    ill, good, last = (s.span.text for s in parsed.statements)  # of the first the type alone, of the last its string
    assert (ill[:14], good[:15], last[:9]) == ("CREATE TABLE a", "CREATE TABLE ok", "SELECT 'a")


def test_a_missing_semicolon_keeps_both_statements() -> None:
    parsed = script("CREATE TABLE a (x INT) WITH ('connector' = 'datagen')\nINSERT INTO b SELECT * FROM a")
    assert [d.code for d in parsed.diagnostics] == ["FD108"]
    assert len(parsed.statements) == 2


PLACED = "CREATE TABLE t (a INT) WITH ('connector' = 'kafka', 'topic' = '{}')"


@pytest.mark.parametrize(
    ("text", "noted"),
    [
        ("{{ TOPIC }}", ["{{ TOPIC }} is plain text here, as in Flink"]),
        ("{{secret:topics/orders}}", ["{{secret:topics/orders}} is plain text here, as in Flink"]),
        ('{"a":{"b":{}}}', []),
        ("{{", []),
    ],
)
def test_placeholders_of_templates_are_text(text: str, noted: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOPIC", "orders")
    parsed = script(PLACED.replace("{}", text), TOPIC="orders")
    assert [(d.code, d.severity, d.message) for d in parsed.diagnostics] == [("FD672", "note", n) for n in noted]
    assert parsed.ok
    (statement,) = parsed.statements
    assert text in {o.expression.name for o in statement.tree.find_all(nodes.Option)}


def test_a_placeholder_outside_of_quotes_is_no_sql() -> None:
    found = script("SELECT {{ a }} FROM t", a="b").diagnostics
    assert {d.code: d.severity for d in found} == {"FD102": "error", "FD672": "note"}


def test_compiled_classes_of_sqlglot_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their first value of a class in Python fails so; tried with sqlglotc 30.30 itself, which no test can install."""

    def refused(self, **args):
        raise TypeError("interpreted classes cannot inherit from compiled")

    monkeypatch.setattr(nodes.Set, "__init__", refused)
    (said,) = parse_script(SourceText("s.sql", "CREATE TABLE t (a INT);")).diagnostics
    assert (said.code, "sqlglotc" in (said.help or "")) == ("FD476", True)
    for way in ({"read": "flink"}, {"write": "flink"}):
        with pytest.raises(SqlglotError, match=r"FD476: .*; pip uninstall sqlglotc"):
            sqlglot.transpile("SELECT 1", **way)


COMMAS = {
    "SELECT a b c FROM t; SELECT 1": (["c"], 2),
    "SELECT a b c, d + 1 e f, g FROM t": (["c", "f"], 1),
    "CREATE VIEW v AS SELECT a, b count(*) FROM t": (["("], 1),
    "INSERT INTO s VALUES (1, 'a') (2, 'b') (3, 'c')": (["(", "("], 1),
    "EXECUTE STATEMENT SET BEGIN INSERT INTO s SELECT a b c FROM t; INSERT INTO s SELECT a FROM t; END": (["c"], 1),
    "SELECT a b c FROM t WHERE WHERE": (["c"], 0),
    "SELECT a b c FROM t GROUP (a); SELECT 1": (["c"], 1),
}
"""Texts: where a comma is missing, and how many statements are read all the same."""


@pytest.mark.parametrize("text", COMMAS)
def test_a_statement_without_a_comma_is_read_as_with_it(text: str) -> None:
    """Another mistake behind it may only follow from where the comma was put: it is not told."""
    places, read = COMMAS[text]
    found = script(text)
    assert [d.span.text for d in found.diagnostics if d.span] == places
    assert {(d.code, d.help and "comma" in d.help) for d in found.diagnostics} == {("FD102", True)}
    assert len(found.statements) == read
    assert found.whole == (read == text.count("; SELECT 1") + 1)
    assert not found.ok


def test_each_missing_comma_is_told_of_up_to_a_number() -> None:
    for count in (MOST_COMMAS, MOST_COMMAS + 1):
        found = script(f"SELECT {' '.join(['a b'] * (count + 1))} FROM t")
        assert len(found.diagnostics) == MOST_COMMAS


def test_what_else_is_wrong_with_it_is_told() -> None:
    text = "CREATE TABLE t (a INT, b INT) WITH ('connector' = 'datagen'); SELECT a b c, UPPERR(a) FROM t WHERE d > 3"
    out = compile_script(SourceText("<t>", text))
    assert [(d.code, d.span.text) for d in out.diagnostics if d.span] == [
        ("FD102", "c"), ("FD450", "c"), ("FD400", "UPPERR(a)"), ("FD450", "d"),
    ]  # fmt: skip
    assert out.has_errors
