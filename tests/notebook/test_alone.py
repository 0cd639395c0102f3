"""Results and jobs in a notebook that has loaded no extension, and in plain Python."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from flinkddl.api import Catalog
from flinkddl.notebook import pages
from tests.notebook.test_magic import ENDLESS, SOURCE, Notebook, values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

pytest.importorskip("IPython")


@pytest.fixture
def bare() -> Iterator[Notebook]:
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    shell.reset()
    yield Notebook(shell)
    for panel in [t for t in threading.enumerate() if t.name == "flinkddl notebook"]:
        panel.join(30)  # its last word is for this shell, and not for the output of the next test
    InteractiveShell.clear_instance()


def test_a_result_says_what_it_is_in_one_line() -> None:
    catalog = Catalog()
    assert repr(catalog.execute(SOURCE)) == "<Result: 1 row of result>"
    assert repr(catalog.execute("SHOW TABLES")) == "<Result: 1 row of table name>"
    assert repr(catalog.execute("SELECT id, id + 1 AS n FROM s")) == "<Result: a SELECT of id INT, n INT>"
    catalog.execute(ENDLESS)
    endless = catalog.execute("SELECT id FROM u")
    assert repr(endless) == "<Result: a SELECT without end of id INT>"
    assert values(endless._repr_html_()) == [["id", "INT"]]
    assert values(catalog.execute("SHOW TABLES")._repr_html_()) == [["s"], ["u"]]


def test_pages_as_text() -> None:
    html = pages.block(pages.table(("a", "long name"), [("1", "x < y"), ("22", "")]), pages.caption("2 rows", "done"))
    assert pages.as_text(html) == "a   long name\n1   x < y\n22\n2 rows · done"
    assert pages.as_text("") == ""


@pytest.mark.spark
def test_results_show_themselves(bare: Notebook, spark: SparkSession) -> None:
    catalog = bare.shell.user_ns["catalog"] = Catalog(spark, views=False)
    catalog.execute(f"{SOURCE} {ENDLESS} CREATE TABLE b (id INT) WITH ('connector' = 'blackhole');")
    assert values(bare.run("catalog.execute('SHOW TABLES')")) == [["b"], ["s"], ["u"]]
    html = bare.run("catalog.execute('SELECT id FROM s')")
    assert sorted(values(html)) == [["1"], ["2"], ["3"]]
    html = bare.run("watched = catalog.execute('INSERT INTO b SELECT id FROM u')\nwatched")
    assert "insert-into_default_catalog.default_database.b" in html
    assert "stopped" in bare.run("watched.job.stop()\nwatched.job")


@pytest.mark.spark
def test_show_of_a_query_without_end_says_how_long_it_waits(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    catalog = Catalog(spark, views=False)
    catalog.execute(ENDLESS)
    catalog.execute("SELECT id FROM u").show(limit=1, seconds=30)
    shown = capsys.readouterr().out
    assert shown.startswith("unbounded: reading what is there now, at most 30 s ...")
    assert "the query has no end" in " ".join(shown.split())
    catalog.execute(SOURCE)
    catalog.execute("SELECT id FROM s").show(limit=2)
    shown = capsys.readouterr().out
    assert "unbounded" not in shown
    assert "the first 2 of 3 rows" in shown
