"""``flinkddl assess``: verdicts, reasons, and a script that breaks nobody else's."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from flinkddl.cli import assess as kit
from flinkddl.cli.assessment.causes import causes, steps
from flinkddl.cli.assessment.judge import Judge, assess_all
from flinkddl.cli.assessment.page import page
from flinkddl.cli.main import main
from tests.cli.hundred import compose

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


def test_text_json_and_page_group_by_cause(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {kind: folder / f"out.{kind}" for kind in ("json", "html")}
    assert main(["assess", str(folder), "--json", str(files["json"]), "--html", str(files["html"])]) == 1
    printed = capsys.readouterr().out
    assert printed.startswith("7 scripts: 1 run, 2 run with notes, 4 refused\n")
    assert (
        "  a column is not known  2 scripts, 2 by it alone  (FD450)\n      also_unknown.sql:3:22: column 'b'" in printed
    )
    data = json.loads(files["json"].read_text(encoding="utf-8"))
    assert data["summary"] == {"runs": 1, "runs with notes": 2, "refused": 4}
    first = data["causes"][0]
    assert (first["code"], first["kind"], first["scripts"]) == (
        "FD450", "wrong in Flink too", ["also_unknown.sql", "unknown.sql"],
    )  # fmt: skip
    assert first["flink"] == "Column 'b' not found in any table"
    assert len(first["examples"]) == 2  # one a script
    shown = files["html"].read_text(encoding="utf-8")
    assert "<b>a column is not known</b>" in shown
    assert "http" not in shown  # it needs nothing else


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


# ---- a hundred scripts ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hundred(tmp_path_factory: pytest.TempPathFactory) -> list[kit.Assessment]:
    folder = tmp_path_factory.mktemp("hundred")
    assert compose(folder) == 100
    return assess_all([str(folder)], Judge({}))


WEIGHTS = {
    # cause: kind, scripts, those that it alone keeps out
    "connector 'iceberg'": ("not here", 19, 8),
    "--udf BIGINT_TO_TS": ("not here", 13, 8),
    "connector 'mysql-cdc'": ("not here", 6, 0),
    "catalog of type 'hive'": ("not here", 5, 5),
    "Hive's dialect": ("not here", 2, 2),
    "options of the style 'connector.type', before Flink 1.11": ("not here", 1, 1),
    "format 'protobuf'": ("not here", 1, 1),
    "connector 'db2-cdc'": ("not here", 1, 1),
    "DELETE": ("not here", 1, 1),
    "MATCH_RECOGNIZE is not available": ("not here", 1, 1),
    "catalog 'prod'": ("declared elsewhere", 3, 3),
    "--udf TO_TIMESTAMP_UDF": ("declared elsewhere", 2, 2),
    "table 'clicks_of_the_session'": ("declared elsewhere", 2, 2),
    "table 'nowhere'": ("declared elsewhere", 1, 1),
    "a column is not known": ("wrong in Flink too", 5, 5),
    "connector 'kafak'": ("wrong in Flink too", 1, 1),
    "unknown option 'scan.startup.mod'": ("wrong in Flink too", 1, 1),
}


@pytest.mark.parametrize("label", WEIGHTS)
def test_weight_of_a_cause(label: str, hundred: list[kit.Assessment]) -> None:
    cause = next(c for c in causes(hundred) if c.label == label)
    assert (cause.kind, len(cause.scripts), len(cause.alone)) == WEIGHTS[label]
    assert cause.help
    assert (cause.flink != "") == (cause.kind != "not here")


def test_what_to_do_next(hundred: list[kit.Assessment]) -> None:
    assert [(s.cause.label, s.freed, s.running) for s in steps(hundred)] == [
        ("connector 'iceberg'", 8, 45),
        ("--udf BIGINT_TO_TS", 13, 58),
        ("connector 'mysql-cdc'", 6, 64),
    ]


SCRIPTS = {
    # script: verdict, jobs, latency, state, scripts that were carried out before it
    "sales/copy_1.sql": ("runs", 1, ("micro-batches, or real-time mode",), (), ()),
    "sales/sums_1.sql": (
        "runs",
        1,
        ("micro-batches, or real-time mode",),
        ("Aggregate: one row of totals a group",),
        (),
    ),
    "sales/with_common_1.sql": ("runs", 1, ("micro-batches, or real-time mode",), (), ("common/ddl.sql",)),
    "sales/variable_1.sql": ("runs with notes", 1, ("micro-batches, or real-time mode",), (), ()),
    "common/ddl.sql": ("runs", 0, (), (), ()),
    "apps/deployment.yaml": ("runs", 1, ("micro-batches, or real-time mode",), (), ()),
    "apps/README.md": ("runs", 1, ("micro-batches, or real-time mode",), (), ()),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_script_of_the_hundred(name: str, hundred: list[kit.Assessment]) -> None:
    a = next(a for a in hundred if a.path == name)
    assert (a.verdict, len(a.jobs), a.latency, a.state, a.before) == SCRIPTS[name]


def test_page_tells_all_of_the_hundred(hundred: list[kit.Assessment]) -> None:
    shown = page(hundred, "<jobs>")
    assert "&lt;jobs&gt;" in shown
    linked = '<b><a href="#cause-connector-iceberg-">connector &#x27;iceberg&#x27;</a></b>'
    assert f"{linked} <span class=soft>19 scripts, 8 by it alone; then 8 more run: 45 of" in shown
    assert all(a.path in shown for a in hundred)
    assert shown.count("this statement is put together by the program") == 2  # the cause, and Job.scala's own line


def test_names_are_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compose(tmp_path / "jobs")
    monkeypatch.chdir(tmp_path)
    assert assess_all(["jobs/wrong"], Judge({}))[0].path == "jobs/wrong/column_1.sql"
    assert assess_all([str(tmp_path / "jobs/wrong")], Judge({}))[0].path == "jobs/wrong/column_1.sql"


# ---- -i ------------------------------------------------------------------------------------------------------------

INSERT = "INSERT INTO p SELECT a FROM s;\n"


@pytest.mark.parametrize("command", ["check", "compile", "explain", "assess"])
@pytest.mark.parametrize("given", ["ddl.sql", "common"])
def test_scripts_before(command: str, given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("common").mkdir()
    for name, text in {"ddl.sql": GOOD, "common/ddl.sql": GOOD, "job.sql": INSERT}.items():
        Path(name).write_text(text, encoding="utf-8")
    assert main([command, "job.sql"]) == 1
    assert main([command, "-i", given, "job.sql"]) == 0


def test_what_is_wrong_in_a_script_before_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ddl.sql").write_text(GOOD.replace("datagen", "hudi"), encoding="utf-8")
    for name in ("a.sql", "b.sql"):
        Path(name).write_text(INSERT, encoding="utf-8")
    assert main(["check", "-i", "ddl.sql", "a.sql", "b.sql"]) == 1
    said = capsys.readouterr().err
    assert said.count("error FD") == 1
    assert "ddl.sql:1:44: error FD203: connector 'hudi' is not available" in said
    assert "2 scripts: 0 fine, 2 with errors" in said


@pytest.mark.parametrize("command", ["check", "compile", "assess"])
def test_a_script_before_starts_no_job(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ddl.sql").write_text(GOOD + INSERT, encoding="utf-8")
    Path("job.sql").write_text(INSERT, encoding="utf-8")
    assert main([command, "-i", "ddl.sql", "job.sql"]) == 1
    assert "ddl.sql:3:1: error FD675" in capsys.readouterr().err
