"""COMPILE PLAN and EXECUTE PLAN, and functions given on the command line, as far as no Spark is needed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from flinkddl.catalog.state import Catalog
from flinkddl.cli.main import main
from flinkddl.diagnostics import SourceText
from flinkddl.script.compile import Compiled, Start, WritePlan, compile_script
from flinkddl.script.planfile import store

if TYPE_CHECKING:
    from pathlib import Path

TABLES = """
CREATE TABLE src (id INT, name STRING) WITH ('connector' = 'datagen', 'number-of-rows' = '5');
CREATE TABLE p (name STRING) WITH ('connector' = 'print', 'print-identifier' = 'it''s');
CREATE TEMPORARY VIEW upper_names AS SELECT UPPER(name) AS name FROM src;
CREATE FUNCTION f AS 'tests.functions.udfs.annotated' LANGUAGE PYTHON;
SET 'pipeline.name' = 'planned';
"""
JOB = "INSERT INTO p SELECT name || f(1, 2.0E0) FROM upper_names"


def compiled(text: str, catalog: Catalog | None = None) -> Compiled:
    return compile_script(SourceText("script", text), catalog)


def codes(script: Compiled) -> list[str]:
    return [d.code for d in script.diagnostics if d.severity == "error"]


def write(script: Compiled) -> None:
    for action in script.actions:
        if isinstance(action, WritePlan):
            store(action.path, action.text)


def test_a_plan_file_rebuilds_the_job_in_an_empty_session(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    script = compiled(f"{TABLES} COMPILE PLAN '{path}' FOR {JOB}")
    assert codes(script) == []
    assert not path.exists()  # nothing happens before the script runs
    write(script)
    assert path.stat().st_mode & 0o077 == 0  # the options in it may hold passwords
    (direct,) = (a.job for a in compiled(f"{TABLES} {JOB}").actions if isinstance(a, Start))
    (again,) = (a.job for a in compiled(f"EXECUTE PLAN '{path}'").actions if isinstance(a, Start))
    assert again == direct
    assert again.name == "planned"


def test_a_script_executes_the_plan_that_it_compiles(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    script = compiled(f"{TABLES} COMPILE PLAN '{path}' FOR {JOB}; EXECUTE PLAN 'file://{path}'")
    assert codes(script) == []
    assert [type(a) for a in script.actions[-2:]] == [WritePlan, Start]
    both = compiled(f"{TABLES} COMPILE AND EXECUTE PLAN '{path}' FOR {JOB}")
    assert [type(a) for a in both.actions[-2:]] == [WritePlan, Start]
    assert len(both.states) == len(both.actions)


def test_an_existing_plan_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    write(compiled(f"{TABLES} COMPILE PLAN '{path}' FOR {JOB}"))
    other = "INSERT INTO p SELECT name FROM src"
    assert codes(compiled(f"{TABLES} COMPILE PLAN '{path}' FOR {other}")) == ["FD321"]
    kept = compiled(f"{TABLES} COMPILE PLAN '{path}' IF NOT EXISTS FOR {other}")
    assert codes(kept) == []
    assert not any(isinstance(a, WritePlan) for a in kept.actions)
    forced = compiled(f"{TABLES} SET 'table.plan.force-recompile' = 'true'; COMPILE PLAN '{path}' FOR {other}")
    assert codes(forced) == []
    assert any(isinstance(a, WritePlan) for a in forced.actions)


@pytest.mark.parametrize("text", ["{}", "no json", json.dumps({"flinkVersion": "2.3", "nodes": []})])
def test_a_file_that_is_no_plan_of_ours(text: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(text, encoding="utf-8")
    assert codes(compiled(f"EXECUTE PLAN '{path}'")) == ["FD321"]
    assert codes(compiled(f"EXECUTE PLAN '{tmp_path}/none.json'")) == ["FD321"]
    assert codes(compiled("EXECUTE PLAN 'hdfs://h/plan.json'")) == ["FD321"]


SCRIPT = """
CREATE FUNCTION geo AS 'com.acme.Geo' LANGUAGE JAVA;
CREATE TABLE t (a INT, b DOUBLE) WITH ('connector' = 'datagen', 'number-of-rows' = '5');
CREATE TABLE p (g STRING) WITH ('connector' = 'print');
INSERT INTO p SELECT geo(a, b) FROM t;
"""


def test_a_function_from_outside_stands_in_for_a_java_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "job.sql"
    path.write_text(SCRIPT, encoding="utf-8")
    assert main(["check", str(path)]) == 1
    assert "=module:function'" in capsys.readouterr().err
    assert main(["check", str(path), "--udf", "geo=tests.functions.udfs:annotated"]) == 0
    assert main(["compile", str(path), "--udf", "geo=tests.functions.udfs:annotated"]) == 0
    assert "tests.functions.udfs" in capsys.readouterr().out


def test_given_functions_are_found_first_and_in_any_case() -> None:
    catalog = Catalog().with_functions({"Geo": "tests.functions.udfs:annotated"})
    assert codes(compiled(SCRIPT, catalog)) == []
    assert codes(compiled(f"CREATE TEMPORARY SYSTEM FUNCTION geo AS 'x.Y'; {SCRIPT}", catalog)) == []
