"""Where statements end while they are typed or piped in."""

from __future__ import annotations

import io

import pytest

from flinkddl.cli.shell.command import statements
from flinkddl.cli.shell.split import is_complete, split

SET_BLOCK = (
    "EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT CASE WHEN x THEN 1 END FROM t; INSERT INTO b SELECT 1; END;"
)
OLD_BLOCK = "BEGIN STATEMENT SET; INSERT INTO a SELECT 1; END;"

SPLITS = [
    ("SELECT 1;", ["SELECT 1;"], ""),
    ("SELECT 1; SELECT", ["SELECT 1;"], " SELECT"),
    ("SELECT ';' -- ;\n, 2;", ["SELECT ';' -- ;\n, 2;"], ""),
    ("SELECT /* ; */ 1;", ["SELECT /* ; */ 1;"], ""),
    ("SELECT 'it''s;", [], "SELECT 'it''s;"),
    ("SELECT /* open;", [], "SELECT /* open;"),
    (";;SELECT 1;", ["SELECT 1;"], ""),
    (SET_BLOCK + " SELECT 1;", [SET_BLOCK, "SELECT 1;"], ""),
    ("EXPLAIN " + SET_BLOCK, ["EXPLAIN " + SET_BLOCK], ""),
    (OLD_BLOCK, [OLD_BLOCK], ""),
    ("BEGIN STATEMENT SET; INSERT INTO a SELECT 1;", [], "BEGIN STATEMENT SET; INSERT INTO a SELECT 1;"),
    ("SET a.b = c;", ["SET a.b = c;"], ""),
]


@pytest.mark.parametrize(("text", "whole", "rest"), SPLITS)
def test_statements_and_the_rest(text: str, whole: list[str], rest: str) -> None:
    found = split(text)
    assert (list(found.statements), found.rest) == (whole, rest)


COMPLETE = [
    ("", True),
    ("SELECT 1", False),
    ("SELECT 1;", True),
    ("SELECT 1; -- done", True),
    ("SELECT 1; SELECT", False),
    ("quit", True),
    ("HELP;", True),
    ("SELECT 'a;", False),
    ("SELECT 'a;\n", True),
    ("SELECT a,\n", False),
]


@pytest.mark.parametrize(("text", "complete"), COMPLETE)
def test_whether_enter_runs_it(text: str, complete: bool) -> None:
    assert is_complete(text) is complete


def test_a_stream_gives_each_statement_as_soon_as_it_is_whole() -> None:
    text = f"SELECT\n 1; SELECT 'a;\nb';\nhelp\n-- only a comment\n{OLD_BLOCK}\nSELECT 2"
    assert list(statements(io.StringIO(text))) == [
        "SELECT\n 1;",
        "SELECT 'a;\nb';",
        "help",
        f"-- only a comment\n{OLD_BLOCK}",
        "SELECT 2",
    ]
