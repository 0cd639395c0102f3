"""The notebook of samples/notebook, executed in a kernel of its own as `jupyter execute` would do it."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from flinkddl.runtime.broker.server import Broker

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
NOTEBOOK = Path(__file__).parents[2] / "samples" / "notebook" / "pageviews.ipynb"


def execute(notebook: Any, folder: Path, seconds: int = 300) -> None:
    """Run all cells with this Python; outputs are put into the notebook, the last state of each."""
    spec = folder / "kernels" / "flinkddl-test" / "kernel.json"
    spec.parent.mkdir(parents=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec.write_text(json.dumps({"argv": command, "display_name": "test", "language": "python"}))
    client = nbclient.NotebookClient(
        notebook, timeout=seconds, kernel_name="flinkddl-test", resources={"metadata": {"path": str(folder)}}
    )
    client.execute()


def html(cell: Any) -> str:
    return "".join(o.get("data", {}).get("text/html", "") for o in cell.outputs)


def rows(cell: Any) -> list[list[str]]:
    found = re.findall(r"<tr>(.*?)</tr>", html(cell))
    return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in found if "<td" in row]


@pytest.mark.kafka
def test_notebook(broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_SERVERS", broker.bootstrap)
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    execute(notebook, tmp_path)
    magic = {c.source.split("\n", 1)[0]: c for c in notebook.cells if c.source.startswith("%%flinksql --")}
    table = rows(magic["%%flinksql --wait --stop"])
    assert sum(int(n) for _, n, _ in table) == 1000
    assert [region for region, _, _ in sorted(table)] == ["east", "north", "south"]
    assert "stopped" in html(magic["%%flinksql --wait --stop"])
    panel = html(magic["%%flinksql --wait -o per_region"])
    assert "insert-into_default_catalog.default_database.pageviews_per_region" in panel
    assert ["notebook_pageviews", "0"] in rows(magic["%%flinksql --wait -o per_region"])
    changes = rows(magic["%%flinksql --mode changelog --limit 8 --wait --stop"])
    assert {row[0] for row in changes} <= {"+I", "-U", "+U"}
    mistake = next(c for c in notebook.cells if "user_regoin" in c.source)
    text = "".join("\n".join(o.get("traceback", [])) for o in mistake.outputs)
    assert "did you mean 'user_region'?" in text
    assert "Traceback" not in text
    assert "stopped" in html(notebook.cells[-1])


BRIDGE = NOTEBOOK.with_name("bridge.ipynb")


@pytest.mark.kafka
def test_bridge_notebook(broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Flink's tables in Spark's session, in ten cells; its numbers are recounted here."""
    monkeypatch.setenv("KAFKA_SERVERS", broker.bootstrap)
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    notebook = nbformat.read(BRIDGE, as_version=4)
    execute(notebook, tmp_path)
    cells = [c for c in notebook.cells if c.cell_type == "code"]
    assert len(cells) == 10
    orders = [(i % 5, i % 20 * 100 + 50, i // 40) for i in range(120)]
    names = {0: "Anna", 1: "Bob", 2: "Cy", 4: "Eve"}
    closed = {f"10:0{m}:00": sum(cents for _, cents, minute in orders if minute == m) for m in (0, 1)}
    assert [row[1:] for row in words(cells[3])] == [[minute, str(cents)] for minute, cents in closed.items()]
    assert words(cells[4]) == [[str(key), name] for key, name in names.items()]
    in_oslo = sum(customer in (0, 2) for customer, _, _ in orders)
    in_rome = sum(customer in (1, 4) for customer, _, _ in orders)
    assert sorted(rows(cells[6])) == [["Oslo", str(in_oslo)], ["Rome", str(in_rome)]]
    revenue = {name: sum(cents for c, cents, _ in orders if c == customer) for customer, name in names.items()}
    assert words(cells[9]) == [[name, str(cents)] for name, cents in revenue.items()]


def words(cell: Any) -> list[list[str]]:
    """Return the words of each row of a table that pandas shows, its index left out."""
    text = "".join(o.get("text") or o.get("data", {}).get("text/plain", "") for o in cell.outputs)
    return [re.sub(r"^\d+ ", "", line).split() for line in text.splitlines()[1:]]
