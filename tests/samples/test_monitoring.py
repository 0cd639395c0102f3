"""samples/monitoring: what Prometheus takes, and that dashboard and alerts ask for figures that there are."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from flinkddl.cli.metrics import metrics_text

MONITORING = Path(__file__).parents[2] / "samples/monitoring"
DASHBOARD: dict[str, Any] = json.loads((MONITORING / "dashboard.json").read_text())
README = (Path(__file__).parents[2] / "README.md").read_text()
THERE = set(re.findall(r"^# HELP flinkddl_(\S+)", metrics_text([]), re.MULTILINE))
EXPRESSIONS = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="needs Debian's package prometheus")


def test_dashboard_and_alerts_ask_for_figures_that_there_are() -> None:
    asked = re.findall(r"flinkddl_(\w+)", " ".join(EXPRESSIONS) + (MONITORING / "alerts.yml").read_text())
    assert set(asked) - THERE == set()
    assert len(set(asked)) > 15


def test_readme_names_every_figure() -> None:
    chapter = README.partition("## Watching jobs\n")[2].partition("\n## ")[0]
    named = {
        name for row in re.findall(r"^\| .*\|(.*)\|$", chapter, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)
    }
    assert named - {"topic", "code", "phase", "percentile", "node", "name", "from"} == THERE


def test_the_panels_of_the_dashboard_do_not_lie_over_one_another() -> None:
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in DASHBOARD["panels"])
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) == 23


@promtool
@pytest.mark.parametrize(
    "arguments",
    [("check", "config", str(MONITORING / "prometheus.yml")), ("test", "rules", "alerts_test.yml")],
    ids=["config", "alerts"],
)
def test_prometheus_takes_it(arguments: tuple[str, ...]) -> None:
    done = subprocess.run(
        ["promtool", *arguments], cwd=Path(__file__).parent, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
