"""Mistakes: code, the text pointed at, and the help. ``tests/cases/dialect/errors.jsonl`` is the table."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot.errors import SqlglotError

from flinkddl.diagnostics import SourceText
from flinkddl.dialect import nodes
from flinkddl.dialect.script import parse_script
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
