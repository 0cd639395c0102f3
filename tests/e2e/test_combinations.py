"""Combinations of sources, joins, windows and orders that ``check`` passes: each runs and gives what Flink 2.3 gives.

``tests/data/goldens/combinations.jsonl`` holds one a line: the query, the modes it is for, and by mode Flink's rows, or
the code with which it is refused here, or ``runs`` where Flink itself fails or its rows are a race.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flinkddl.api import Catalog
from flinkddl.diagnostics import SourceText
from flinkddl.script.compile import compile_script
from tests.conformance.product import QUICK
from tests.conformance.values import show
from tests.support.kernels import kernel_session

LINES = (Path(__file__).parents[1] / "data" / "goldens" / "combinations.jsonl").read_text(encoding="utf-8").splitlines()
SETUP, *CASES = map(json.loads, LINES)
assert "files" in SETUP  # the first line: the rows of the tables and their DDL
EACH = [(mode, case) for mode in ("batch", "streaming") for case in CASES if mode in case]
# one of each kind that once was planned and then failed; the others run at night
SOON = {("batch", id) for id in ("unn4", "ov11", "a81")} | {
    ("streaming", id)
    for id in (
        *("ord8", "ord17", "val1", "val10", "vj_left_l", "vj_full_u", "in5", "ij_left_nokey", "w_SESSION_ts_se"),
        *("g_SESSION_ts_se", "w_HOP_ts_top", "tj_left", "ov8", "top6"),
    )
}


def statements(mode: str, case: dict[str, Any], root: Path) -> list[str]:
    for name, lines in SETUP["files"].items():
        (root / name).mkdir(parents=True, exist_ok=True)
        (root / name / "a.json").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    made = [s.replace("{root}", str(root)) for s in (*SETUP["ddl"], *case.get("setup", ()))]
    return [f"SET 'execution.runtime-mode' = '{mode}'", *made]


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_what_is_refused(mode: str, tmp_path: Path) -> None:
    """All of them, in one go: nothing else is refused, and nothing with another code."""
    found = {}
    tables = compile_script(SourceText("tables", ";\n".join(statements(mode, {}, tmp_path)))).catalog
    for case in (c for m, c in EACH if m == mode):
        script = SourceText(case["id"], ";\n".join([*case.get("setup", ()), case["query"]]))
        errors = [d.code for d in compile_script(script, tables).diagnostics if d.severity == "error"]
        found[case["id"]] = errors[:1]
    assert found == {c["id"]: [c[mode]["refused"]] if "refused" in c[mode] else [] for m, c in EACH if m == mode}


def _runs(mode: str, case: dict[str, Any], root: Path) -> None:
    catalog = Catalog(kernel_session(**QUICK), views=False)
    for statement in statements(mode, case, root):
        catalog.execute(statement)
    result = catalog.execute(case["query"])
    rows = [[show(v, f.type) for v, f in zip(row, result.fields, strict=True)] for row in result.collect()]
    if "rows" in case[mode]:
        assert sorted(map(json.dumps, rows)) == sorted(map(json.dumps, case[mode]["rows"]))


RUNNABLE = [(mode, case) for mode, case in EACH if "refused" not in case[mode]]
FIRST = [x for x in RUNNABLE if (x[0], x[1]["id"]) in SOON]
REST = [x for x in RUNNABLE if (x[0], x[1]["id"]) not in SOON]


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(("mode", "case"), FIRST, ids=[f"{m}-{c['id']}" for m, c in FIRST])
def test_runs(mode: str, case: dict[str, Any], tmp_path: Path) -> None:
    _runs(mode, case, tmp_path)


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.slow
@pytest.mark.parametrize(("mode", "case"), REST, ids=[f"{m}-{c['id']}" for m, c in REST])
def test_the_others_run(mode: str, case: dict[str, Any], tmp_path: Path) -> None:
    _runs(mode, case, tmp_path)
