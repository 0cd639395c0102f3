"""``flinkddl assess``: verdicts, reasons, and a script that breaks nobody else's."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from flinkddl.cli import assess as kit
from flinkddl.cli.main import main

JOBS = Path(__file__).parents[1] / "cases" / "jobs"
GOOD = "CREATE TABLE s (a INT) WITH ('connector' = 'datagen');\nCREATE TABLE p (a INT) WITH ('connector' = 'print');\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    texts = {
        "fine": f"{GOOD}INSERT INTO p SELECT a FROM s;",
        "noted": f"SET 'pipeline.object-reuse' = 'true';\n{GOOD}INSERT INTO p SELECT a FROM s;",
        "variable": f"{GOOD}INSERT INTO p SELECT a + ${{STEP}} FROM s;",
        "unknown": f"{GOOD}INSERT INTO p SELECT b FROM s;\nINSERT INTO p SELECT c FROM s;",
        "also_unknown": f"{GOOD}INSERT INTO p SELECT b FROM s;",
        "syntax": "SELEC 1;",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.sql").write_text(text, encoding="utf-8")
    (tmp_path / "latin.sql").write_bytes("-- caf\xe9\n".encode("latin-1"))
    return tmp_path


def test_verdicts(folder: Path) -> None:
    found = {Path(a.path).stem: a for a in (kit.assess(str(p), {}) for p in folder.glob("*.sql"))}
    assert {name: (a.verdict, a.reasons) for name, a in found.items()} == {
        "fine": ("runs", ()),
        "noted": ("runs with notes", ("FD332",)),
        "variable": ("runs with notes", ("FD106",)),
        "unknown": ("refused", ("FD450",)),
        "also_unknown": ("refused", ("FD450",)),
        "syntax": ("refused", ("FD101",)),
        "latin": ("refused", ("FD801",)),
    }
    assert found["fine"].jobs == ("insert-into_default_catalog.default_database.p",)
    assert found["fine"].statements == 3


def test_a_variable_that_is_given_is_no_note(folder: Path) -> None:
    assert kit.assess(str(folder / "variable.sql"), {"STEP": "2"}).verdict == "runs"


def test_table_groups_by_reason(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["assess", str(folder), "--json", str(folder / "out.json")]) == 1
    printed = capsys.readouterr().out
    assert "7 scripts: 1 run, 2 run with notes, 4 refused" in printed
    assert "FD450  a column is not known  (2 scripts)" in printed
    data = json.loads((folder / "out.json").read_text(encoding="utf-8"))
    assert data["summary"] == {"runs": 1, "runs with notes": 2, "refused": 4}
    assert data["reasons"]["refused"][0]["code"] == "FD450"
    assert len(data["reasons"]["refused"][0]["findings"]) == 3


def test_a_defect_of_ours_is_told_and_stops_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import flinkddl.script.compile as script

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("oh")

    monkeypatch.setattr(script, "compile_script", broken)
    found = kit.assess(str(folder / "fine.sql"), {})
    assert (found.verdict, found.reasons) == ("refused", ("FD901",))


def test_no_script_is_wrong_usage(tmp_path: Path) -> None:
    assert main(["assess", str(tmp_path)]) == 2


def test_scripts_of_all_kinds() -> None:
    """Each script of the collection gets the verdict that its first line expects, and none breaks us."""
    found = [kit.assess(str(p), {}) for p in sorted(JOBS.glob("*.sql"))]
    assert len(found) >= 50
    for a in found:
        expected = Path(a.path).read_text(encoding="utf-8").splitlines()[0]
        codes = set(expected.removeprefix("-- expect: ").split()) - {"fine", "FD106"}
        assert (a.verdict == "refused") == bool(codes), (a.path, a.findings)
    assert "FD901" not in {c for a in found for c in a.reasons}
    assert set(Counter(a.verdict for a in found)) == {"runs", "runs with notes", "refused"}
