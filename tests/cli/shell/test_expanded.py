"""Rows a line a column: on the screen of a result, and in tableau mode after ``\\x``."""

from __future__ import annotations

from flinkddl import sqltypes as T
from flinkddl.catalog.settings import Settings
from flinkddl.cli.shell.results import ChangelogResult, TableResult
from flinkddl.cli.shell.view import View
from flinkddl.cli.tables import Columns, Tableau, record
from flinkddl.plan.nodes import Field
from flinkddl.runtime.job.reporting.changes import Change

LONG = "x" * 50
COLUMNS = Columns.of((Field("k", T.STRING), Field("number", T.INT)), Settings(), most=10)
CHANGES = [Change("+I", (LONG, 1)), Change("+I", ("b", 2))]


def test_a_record_shows_values_whole() -> None:
    assert list(record(("k", "number"), (LONG, "1"), 1, width=40)) == [
        "-[ row 1 ]",
        f"k      | {'x' * 31}",
        f"       | {'x' * 19}",
        "number | 1",
    ]


def test_the_screen_shows_one_row_whole() -> None:
    result = TableResult(COLUMNS, 10)
    view = View(result, "title", 10)
    empty = [text for _, text in view.lines(20, 60)]
    assert any("number" in text for text in empty)  # the header is there before a row is
    result.add(CHANGES)
    assert LONG not in "\n".join(text for _, text in view.lines(20, 60))
    view.expanded = True
    shown = [text for _, text in view.lines(20, 60)]
    assert shown[1].startswith("page 1 of 2")
    assert shown[2:] == ["-[ row 1 ]", f"k      | {LONG}", "number | 1"]
    view.top = 1
    assert view.lines(20, 60)[3][1] == "k      | b"


def test_a_changelog_begins_at_its_last_page() -> None:
    result = ChangelogResult(COLUMNS, 100)
    view = View(result, "title", 10)
    result.add([Change("+I", ("b", n)) for n in range(30)])
    assert view.lines(17, 60)[1][1].startswith("page 3 of 3")
    assert not View(TableResult(COLUMNS, 10), "title", 10).follows


def test_tableau_expanded_and_its_header_at_once() -> None:
    said: list[str] = []
    tableau = Tableau(COLUMNS, streaming=True, write=said.append)
    tableau.begin()
    tableau.begin()
    assert len(said) == 3
    said.clear()
    tableau = Tableau(COLUMNS, streaming=True, write=said.append, expanded=True)
    tableau.begin()
    tableau.add(CHANGES[:1])
    tableau.end()
    assert said == ["-[ row 1 ]", "op     | +I", f"k      | {LONG}", "number | 1", "Received a total of 1 row"]
    said.clear()
    batch = Tableau(COLUMNS, streaming=False, write=said.append, expanded=True)
    batch.add(CHANGES)
    batch.end()
    assert said[-4:] == ["-[ row 2 ]", "k      | b", "number | 2", "2 rows in set"]
