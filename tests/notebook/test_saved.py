"""A notebook as it is saved and exported: what it showed stands in it, whoever looks at it later and with what."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.notebook.test_magic import SOURCE, values
from tests.samples.test_notebook import execute

if TYPE_CHECKING:
    from pathlib import Path

nbformat = pytest.importorskip("nbformat")

SINK = "CREATE TABLE b (id INT) WITH ('connector' = 'blackhole');"
CELLS = [
    "import sys\nsys.modules['ipywidgets'] = None  # not to be found\n%load_ext flinkddl",
    f"%%flinksql\n{SOURCE} {SINK}\nSHOW TABLES;",
    "%%flinksql\nSELECT id, id * 2 AS twice FROM s;",
    "%%flinksql --wait\nINSERT INTO b SELECT id FROM s;",
    "del sys.modules['ipywidgets']\nfrom importlib.util import find_spec\nprint(find_spec('ipywidgets') is not None)",
    "%%flinksql\nSELECT id, id * 3 AS thrice FROM s;",
]
ROWS = [["1", "2"], ["2", "4"], ["3", "6"]]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Execute the cells in a kernel of their own; return the notebook as it is read from its file again."""
    folder = tmp_path_factory.mktemp("notebook")
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS])
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("JUPYTER_PATH", str(folder))
        execute(made, folder)
    nbformat.write(made, folder / "saved.ipynb")
    return nbformat.read(folder / "saved.ipynb", as_version=4)


def shown(saved: Any, cell: int) -> list[dict[str, str]]:
    """Return what a cell displays, by MIME type; outputs without anything to see left out."""
    found = [o.data for o in saved.cells[cell].outputs if "data" in o]
    return [dict(d) for d in found if d.get("text/html") or d.get("text/plain")]


@pytest.mark.spark
def test_results_and_panels_stand_in_the_file_as_html_and_as_text(saved: Any) -> None:
    (tables,) = shown(saved, 1)
    assert values(tables["text/html"]) == [["b"], ["s"]]
    assert tables["text/plain"].split() == ["table", "name", "b", "s"]
    (result,) = shown(saved, 2)
    assert sorted(values(result["text/html"])) == ROWS
    lines = [line.split() for line in result["text/plain"].splitlines()]
    assert lines[0] == ["id", "twice"]
    assert sorted(lines[1:4]) == ROWS
    (panel,) = shown(saved, 3)
    for text in panel["text/html"], panel["text/plain"]:
        assert "insert-into_default_catalog.default_database.b" in text
        assert "finished" in text
    for cell in (1, 2, 3):
        assert "application/vnd.jupyter.widget-view+json" not in {k for d in shown(saved, cell) for k in d}


@pytest.mark.spark
def test_a_stop_button_leaves_nothing_but_the_result(saved: Any) -> None:
    if saved.cells[4].outputs[0].text.strip() != "True":
        pytest.skip("ipywidgets is not installed")
    (result,) = shown(saved, 5)
    assert sorted(values(result["text/html"])) == [["1", "3"], ["2", "6"], ["3", "9"]]


@pytest.mark.spark
def test_the_exported_page_shows_rows_in_a_browser(saved: Any, tmp_path: Path) -> None:
    exporter = pytest.importorskip("nbconvert").HTMLExporter()
    browser = shutil.which("chromium") or shutil.which("google-chrome") or pytest.skip("no Chromium here")
    page = tmp_path / "saved.html"
    page.write_text(_alone(exporter.from_notebook_node(saved)[0]), encoding="utf-8")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    dom = subprocess.run(
        [*command, "--dump-dom", page.as_uri()], capture_output=True, text=True, timeout=60, check=True
    )
    body = dom.stdout[dom.stdout.index("<body") :]
    rows = values(re.sub(r"\s*\n\s*", "", body))
    assert [r for r in rows if len(r) == 2 and r in ROWS] != []
    assert all(row in rows for row in [*ROWS, ["b"], ["s"]])
    assert "insert-into_default_catalog.default_database.b" in body


def _alone(page: str) -> str:
    """Return a page without what it would fetch from elsewhere: scripts that draw formulas."""
    return re.sub(r"<script[^>]*\bsrc=.*?</script>", "", page, flags=re.S)
