"""What the documents show and Flink 2.3 refuses: taken with one warning, refused with ``--strict``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from flinkddl.api import Catalog
from flinkddl.catalog.settings import STRICT
from flinkddl.catalog.state import Catalog as CatalogState
from flinkddl.diagnostics import Diagnostic, FlinkDdlError, SourceText
from flinkddl.script.compile import Compiled, Start, compile_script
from flinkddl.spark import job as J

ROOT = Path(__file__).parents[2]
WHERE = "'connector' = 'kafka', 'topic' = 'x', 'properties.bootstrap.servers' = 'b:1', 'format' = 'json'"
UPSERT = (
    "'connector' = 'upsert-kafka', 'topic' = 'x', 'properties.bootstrap.servers' = 'b:1', "
    "'key.format' = 'json', 'value.format' = 'json'"
)
KEYED = "id INT, PRIMARY KEY (id) NOT ENFORCED"
READ, WRITE = "SELECT id FROM t;", "INSERT INTO t VALUES (1);"
EARLIEST = ", 'scan.startup.mode' = 'earliest-offset'"


def table(columns: str, options: str) -> str:
    return f"CREATE TABLE t ({columns}) WITH ({options});"


# name, script, code of the warning, what it says, code of the refusal
DIFFERENT = [
    (
        "a bare TIMESTAMP",
        table("id INT, ts TIMESTAMP, WATERMARK FOR ts AS ts", WHERE + EARLIEST) + READ,
        "FD473",
        "taken as TIMESTAMP(3)",
        "FD307",
    ),
    (
        "TIMESTAMP_LTZ of metadata",
        table("id INT, ts TIMESTAMP_LTZ METADATA FROM 'timestamp', WATERMARK FOR ts AS ts", WHERE + EARLIEST) + READ,
        "FD473",
        "taken as TIMESTAMP_LTZ(3)",
        "FD307",
    ),
    (
        "a computed TIMESTAMP",
        table("id INT, s STRING, ts AS CAST(s AS TIMESTAMP(9)), WATERMARK FOR ts AS ts", WHERE + EARLIEST) + READ,
        "FD473",
        "'ts' is TIMESTAMP(9)",
        "FD471",
    ),
    (
        "no group",
        table("id INT", WHERE) + READ,
        "FD227",
        "'KafkaSource-default_catalog.default_database.t', whose first start is at the earliest offset",
        "FD220",
    ),
    (
        "no group, mode written",
        table("id INT", f"{WHERE}, 'scan.startup.mode' = 'group-offsets'") + READ,
        "FD227",
        "KafkaSource-",
        "FD220",
    ),
    (
        "no prefix",
        table("id INT", f"{WHERE}, 'sink.delivery-guarantee' = 'exactly-once'") + WRITE,
        "FD228",
        "'flinkddl-x'",
        "FD218",
    ),
    (
        "no prefix, older word",
        "SET 'pipeline.name' = 'totals';" + table("id INT", f"{WHERE}, 'sink.semantic' = 'exactly-once'") + WRITE,
        "FD228",
        "'totals-x'",
        "FD218",
    ),
    (
        "no prefix of upsert-kafka",
        table(KEYED, f"{UPSERT}, 'sink.delivery-guarantee' = 'exactly-once'") + WRITE,
        "FD228",
        "'flinkddl-x'",
        "FD218",
    ),
]
SAME = [
    ("a group", table("id INT", f"{WHERE}, 'properties.group.id' = 'g'") + READ, "g"),
    ("another start", table("id INT", WHERE + EARLIEST) + READ, None),
    ("read twice", table("id INT", f"{WHERE}, 'properties.group.id' = 'g'") + READ + READ, "g"),
]


def compiled(script: str, strict: bool = False) -> Compiled:
    catalog = CatalogState().starting(STRICT) if strict else None
    return compile_script(SourceText("case.sql", script), catalog)


def reading(script: str) -> J.Read:
    """Return the step that reads the script's first table."""
    steps = [s for a in compiled(script).actions if isinstance(a, Start) for s in a.job.steps]
    return next(s for s in steps if isinstance(s, J.Read))


def said(script: str, strict: bool = False) -> list[Diagnostic]:
    return compiled(script, strict).diagnostics


@pytest.mark.parametrize(
    ("script", "code", "words", "refusal"), [c[1:] for c in DIFFERENT], ids=[c[0] for c in DIFFERENT]
)
def test_taken_with_one_warning_and_refused_when_strict(script: str, code: str, words: str, refusal: str) -> None:
    found = [d for d in said(script) if d.code != "FD226"]  # that 'sink.semantic' is an older word
    assert [(d.severity, d.code) for d in found] == [("warning", code)]
    assert words in found[0].message
    assert "Flink 2.3" in found[0].message
    assert found[0].help
    assert found[0].span is not None
    errors = [d for d in said(script, strict=True) if d.severity == "error"]
    assert [d.code for d in errors][:1] == [refusal]


@pytest.mark.parametrize(("script", "group"), [c[1:] for c in SAME], ids=[c[0] for c in SAME])
def test_nothing_is_added_where_nothing_is_missing(script: str, group: str | None) -> None:
    assert said(script) == said(script, strict=True) == []
    assert reading(script).start.get("group") == group


def test_a_table_that_is_used_often_is_warned_of_once() -> None:
    script = table("id INT, ts TIMESTAMP, WATERMARK FOR ts AS ts", WHERE) + READ + READ
    assert sorted(d.code for d in said(script)) == ["FD227", "FD473"]


def test_a_stop_at_the_groups_offsets_needs_a_group_that_has_some() -> None:
    script = table("id INT", f"{WHERE}, 'scan.bounded.mode' = 'group-offsets'") + READ
    assert [d.code for d in said(script) if d.severity == "error"] == ["FD220"] * 2  # start and stop


def test_the_reset_of_the_table_counts() -> None:
    script = table("id INT", f"{WHERE}, 'properties.auto.offset.reset' = 'latest'") + READ
    start = reading(script).start
    assert start["reset"] == "latest"
    assert start["commit-group"] == "KafkaSource-default_catalog.default_database.t"


def test_reset_goes_back_to_what_the_session_began_with() -> None:
    declared = table("id INT", WHERE)
    assert said("RESET;" + declared + READ, strict=True)[0].code == "FD220"
    assert said("RESET 'flinkddl.strict';" + declared + READ, strict=True)[0].code == "FD220"
    assert said("SET 'flinkddl.strict' = 'false';" + declared + READ, strict=True)[0].code == "FD227"
    assert said("SET 'flinkddl.strict' = 'true'; RESET;" + declared + READ)[0].code == "FD227"


def test_a_strict_catalog() -> None:
    script = table("id INT", WHERE) + READ
    assert [d.code for d in Catalog(strict=True).check(script)] == ["FD220"]
    with pytest.raises(FlinkDdlError, match="FD220"):
        Catalog(strict=True).execute(script)


@pytest.mark.parametrize("command", ["check", "explain", "compile", "run", "assess", "shell -f"])
def test_every_command_knows_strict(command: str, tmp_path: Path) -> None:
    """``run`` and ``shell`` refuse before they start anything."""
    path = tmp_path / "job.sql"
    path.write_text(table("id INT", WHERE) + READ, encoding="utf-8")
    words = command.split()
    done = subprocess.run(
        [sys.executable, "-m", "flinkddl", words[0], "--strict", *words[1:], str(path)],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=100,
    )  # fmt: skip
    assert "FD220" in done.stdout + done.stderr
    assert done.returncode == 1


def test_a_catalog_says_what_it_warns_of() -> None:
    said: list[str] = []
    Catalog(notice=said.append).execute(table("id INT, ts TIMESTAMP, WATERMARK FOR ts AS ts", WHERE))
    assert len(said) == 1
    assert "<sql>:1:39: warning FD473" in said[0]


@pytest.mark.parametrize("command", ["compile", "explain"])
def test_a_plan_comes_with_its_warnings(command: str, tmp_path: Path) -> None:
    path = tmp_path / "job.sql"
    path.write_text(table("id INT", WHERE) + READ, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "flinkddl", command, str(path)],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=100,
    )  # fmt: skip
    assert done.returncode == 0
    assert "warning FD227" in done.stderr
    assert "FD227" not in done.stdout
