"""Every block of the README is executed or parsed."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from flinkddl.cli.main import COMMANDS
from flinkddl.diagnostics import SourceText
from flinkddl.script.compile import compile_script
from tests.support.newcomer import environment

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.M | re.S)


def blocks(kind: str) -> list[str]:
    found = [text for name, text in BLOCKS if name == kind]
    assert found
    return found


@pytest.mark.parametrize("sql", blocks("sql"))
def test_sql_compiles(sql: str) -> None:
    assert not compile_script(SourceText("README.md", sql)).has_errors


@pytest.mark.parametrize("line", [line for text in blocks("console") for line in text.splitlines()])
def test_commands_exist(line: str) -> None:
    words = line.removeprefix("$ ").split()
    match words:
        case ["export" | "cd", _]:
            pass  # the first job is carried out, line by line
        case ["make", target]:
            assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.M)
        case ["flinkddl", command, *rest]:
            assert command in COMMANDS
            assert all((ROOT / w).exists() for w in rest if w.startswith("samples/"))
        case [script, "client" | "cluster", _, *_] if script.endswith("/submit.sh"):
            assert (ROOT / "flinkddl/deploy/templates/submit.sh").exists()
        case ["python", "-m", module, *_]:
            assert (ROOT / module.replace(".", "/")).exists()
        case _:
            pytest.fail(f"nobody checks '{line}'")


@pytest.mark.kafka
def test_the_first_job_line_by_line(tmp_path: Path) -> None:
    """A newcomer's first ten lines as they stand, at the real port, in a cache of their own."""
    block, printed = re.search(  # type: ignore[union-attr]
        r"^## Your first job\n.*?^```console\n(.*?)^```$.*?^```text\n(.*?)^```$", README, re.M | re.S
    ).groups()
    script = "set -e\n" + block.replace("$ ", "")
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    consumed = [line.split("  ")[2:] for line in done.stdout.splitlines() if re.match(r"\d+:\d+  ", line)]
    assert sorted(consumed) == sorted(line.split("  ")[2:] for line in printed.splitlines())


@pytest.mark.parametrize("text", blocks("python"))
def test_python_parses(text: str) -> None:
    ast.parse(text)


@pytest.mark.spark
@pytest.mark.parametrize("text", blocks("python"))
def test_python_runs(text: str, spark: object) -> None:
    exec(text.replace("Catalog()", "Catalog(spark)"), {"spark": spark})


def test_no_other_kind_of_block() -> None:
    assert {name for name, _ in BLOCKS} == {"sql", "console", "text", "python", "toml"}


def test_the_entry_point_of_a_connector_is_that_of_the_example() -> None:
    (told,) = map(tomllib.loads, blocks("toml"))
    example = tomllib.loads((ROOT / "tests/connectors/countdown/pyproject.toml").read_text())
    assert told["project"]["entry-points"] == example["project"]["entry-points"]
    assert told["tool"] == example["tool"]


def test_diagnostic_in_the_readme_is_what_check_prints() -> None:
    from flinkddl.diagnostics.render import render_text

    options = "'connector' = 'kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'b:1', 'format' = 'json'"
    sql = f"CREATE TABLE t (a INT) WITH (\n\n\n\n\n{options},\n\n  'scan.startup.mod' = 'earliest-offset',\n"
    sql += "'scan.startup.mode' = 'earliest-offset');\nSELECT * FROM t;"
    printed = render_text(compile_script(SourceText("bad.sql", sql)).diagnostics)
    assert printed in README


def test_the_edits_are_counted() -> None:
    from tests.upgrades.edits import EDITS

    told = re.search(
        r"^(\d+) edits of (\d+) scripts\b.* (\d+) of jobs that earlier\ncommits began and (\d+) that", README, re.M
    )
    counted = len(EDITS), len({e.shape.script for e in EDITS}), sum(bool(e.shape.by) for e in EDITS)
    assert told is not None
    assert (*map(int, told.groups()),) == (*counted, sum(bool(e.by) for e in EDITS))


def test_the_nightly_fuzz_is_what_it_says() -> None:
    ran = re.search(r"for state in (.*?);.*\n.*tests\.fuzz --state \$\$state", (ROOT / "Makefile").read_text())
    told = re.search(r"3,000 with each of\n`--state` (.*?) in `make nightly`", README)
    assert ran is not None
    assert told is not None
    assert re.findall(r"\w+", told[1]) == ran[1].split()


def test_all_that_lies_in_a_jobs_folder_is_told() -> None:
    names = set()
    for file in (ROOT / "flinkddl/runtime").rglob("*.py"):
        names |= set(re.findall(r'= "(flinkddl-[a-z]+)(?:-|\.json)"', file.read_text()))
    section = README.split("\n## Checkpoints\n")[1].split("\n- ")[0]
    assert len(names) >= 9
    # a savepoint's folder is one of its own
    assert {name for name in names if f"`{name}" not in section} == {"flinkddl-savepoint"}
