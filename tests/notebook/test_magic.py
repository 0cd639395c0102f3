"""``%%flinksql`` in an IPython shell of this process, over the Spark session of the tests."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.api import Catalog

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

pytest.importorskip("IPython")
SOURCE = "CREATE TABLE s (id INT) WITH ('connector' = 'datagen', 'number-of-rows' = '3', 'fields.id.kind' = 'sequence',"
SOURCE += " 'fields.id.start' = '1', 'fields.id.end' = '3');"


class Notebook:
    """A shell whose cells return what they display: the last state of each output."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell

    def run(self, cell: str) -> str:
        from IPython.utils.capture import capture_output

        with capture_output() as captured:
            outcome = self.shell.run_cell(cell)
        self.error = outcome.error_in_exec
        shown: dict[str, str] = {}
        for n, output in enumerate(captured.outputs):
            place = (output.transient or {}).get("display_id", str(n))
            shown[place] = output.data.get("text/html", "")
        return captured.stdout + "\n".join(shown.values())


@pytest.fixture
def notebook() -> Iterator[Notebook]:
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()  # displays are captured for the shell of the process only
    shell.reset()
    shell.run_line_magic("load_ext", "flinkddl")
    yield Notebook(shell)
    shell.run_line_magic("unload_ext", "flinkddl")
    InteractiveShell.clear_instance()


def values(html: str) -> list[list[str]]:
    """Return the cells of the table rows in a piece of HTML."""
    return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", html) if "<td" in row]


def test_strict_holds_from_its_cell_on(notebook: Notebook) -> None:
    table = "CREATE TABLE t (ts TIMESTAMP, WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen');"
    assert "FD473" in notebook.run(f"%%flinksql\n{table}")
    assert "error FD307" in notebook.run(f"%%flinksql --strict\n{table.replace('TABLE t', 'TABLE u')}")
    assert "error FD307" in notebook.run(f"%%flinksql\n{table.replace('TABLE t', 'TABLE u')}")


def test_mistakes_are_shown_at_their_place_without_a_traceback(notebook: Notebook) -> None:
    printed = notebook.run("%%flinksql\nCREATE TABLE t (a INT) WITH ('connector' = 'datagn');\nSELECT b FROM t;")
    assert "cell:1:44: error FD202" in printed
    assert "did you mean 'datagen'?" in printed
    assert "Traceback" not in printed


def test_known_rows_are_a_table(notebook: Notebook) -> None:
    assert notebook.run(f"%%flinksql\n{SOURCE}") == ""
    assert values(notebook.run("%%flinksql\nSHOW TABLES;")) == [["s"]]
    assert values(notebook.run("%flinksql SHOW TABLES")) == [["s"]]


def test_wrong_arguments_are_said(notebook: Notebook) -> None:
    notebook.run("%%flinksql --mode tree\nSHOW TABLES;")
    assert "invalid choice: 'tree'" in str(notebook.error)


def test_catalog_of_the_user_is_taken(notebook: Notebook) -> None:
    mine = notebook.shell.user_ns["catalog"] = Catalog()
    notebook.run(f"%%flinksql\n{SOURCE}")
    assert mine.state.find(("s",)) is not None


@pytest.mark.spark
def test_bounded_query_shows_its_table(notebook: Notebook, spark: SparkSession) -> None:
    notebook.shell.user_ns |= {"spark": spark, "least": 2}
    html = notebook.run(f"%%flinksql -o answer\n{SOURCE}\nSELECT id, id * 2 AS d FROM s WHERE id >= ${{least}};")
    assert sorted(values(html)) == [["2", "4"], ["3", "6"]]
    assert "2 rows" in html
    assert notebook.shell.user_ns["answer"].is_query
    assert notebook.shell.user_ns["catalog"].spark is spark
    again = notebook.run("answer")
    assert sorted(values(again)) == [["2", "4"], ["3", "6"]]


ENDLESS = "CREATE TABLE u (id INT) WITH ('connector' = 'datagen', 'rows-per-second' = '5');"


@pytest.mark.spark
def test_streaming_query_is_live_until_it_is_stopped(notebook: Notebook, spark: SparkSession) -> None:
    notebook.shell.user_ns["spark"] = spark
    html = notebook.run(f"%%flinksql --wait --stop\n{ENDLESS}\nSELECT COUNT(*) AS n, MIN(id) AS least FROM u;")
    assert len(values(html)) <= 1
    assert "stopped" in html
    assert ">n</th>" in html
    html = notebook.run("%%flinksql --wait --stop --mode changelog --limit 2\nSELECT 'x' AS x FROM u;")
    assert {tuple(row) for row in values(html)} <= {("+I", "x")}
    assert "changes" in html


@pytest.mark.spark
def test_insert_shows_its_job(notebook: Notebook, spark: SparkSession) -> None:
    notebook.shell.user_ns["spark"] = spark
    sink = "CREATE TABLE b (id INT) WITH ('connector' = 'blackhole');"
    html = notebook.run(f"%%flinksql --wait --stop\n{ENDLESS}\n{sink}\nINSERT INTO b SELECT id FROM u;")
    assert "insert-into_default_catalog.default_database.b" in html
    assert "stopped" in html
    assert [row[0] for row in values(html)] == ["b"]
    assert "insert-into" in notebook.run("catalog.jobs[-1]")


@pytest.mark.spark
def test_a_job_begins_anew_only_when_told(notebook: Notebook, spark: SparkSession, tmp_path: Path) -> None:
    notebook.shell.user_ns["spark"] = spark
    sink = "CREATE TABLE b (id INT) WITH ('connector' = 'blackhole');"
    tables = f"SET 'execution.checkpointing.dir' = '{tmp_path}'; {ENDLESS} {sink}"
    insert = "INSERT INTO b SELECT id FROM u;"
    notebook.run(f"%%flinksql --wait --stop\n{tables} {insert}")
    notebook.run(f"%%flinksql --wait --stop\nSET 'pipeline.name' = 'daily'; {insert}")
    assert "FD825" in str(notebook.error)
    assert "stopped" in notebook.run(f"%%flinksql --wait --stop --fresh\nSET 'pipeline.name' = 'daily'; {insert}")
    assert notebook.error is None
    weekly = f"%%flinksql --wait --stop --continue-job daily\nSET 'pipeline.name' = 'weekly'; {insert}"
    assert "stopped" in notebook.run(weekly)
    assert notebook.error is None
    assert not (tmp_path / "daily").exists()
    assert list((tmp_path / "weekly" / "weekly").glob("*/offsets/0"))


FUNCTION = "CREATE FUNCTION f AS 'tests.functions.udfs.annotated' LANGUAGE PYTHON; SELECT f(1, 2.0E0) AS r;"


@pytest.mark.spark
def test_a_cell_runs_only_modules_that_it_names(notebook: Notebook, spark: SparkSession) -> None:
    notebook.shell.user_ns["spark"] = spark
    notebook.run(f"%%flinksql --wait\n{FUNCTION}")
    assert "FD670" in str(notebook.error)
    assert "1:2.0" in notebook.run(
        f"%%flinksql --wait --allow-python tests.functions\nDROP FUNCTION IF EXISTS f; {FUNCTION}"
    )
    assert notebook.error is None
