"""Starting anew beside state of this very query: what is refused, and what only looks so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from flinkddl.diagnostics import FlinkDdlError, SourceText
from flinkddl.runtime.storage.checkpoint import job_folder, mark_drained, open_checkpoint
from flinkddl.runtime.storage.file_systems import LOCAL
from flinkddl.runtime.storage.hold import take
from flinkddl.runtime.storage.neighbours import check_neighbours
from flinkddl.script.compile import Start, compile_script

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from flinkddl.spark.job import SparkJob

TABLES = """
CREATE TABLE o (k STRING, v INT) WITH ('connector' = 'kafka', 'topic' = 'o', 'properties.bootstrap.servers' = 'b:1',
  'format' = 'json', 'scan.startup.mode' = 'earliest-offset');
CREATE TABLE a (k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'upsert-kafka', 'topic' = 'a',
  'properties.bootstrap.servers' = 'b:1', 'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE b (k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'upsert-kafka', 'topic' = 'a',
  'properties.bootstrap.servers' = 'b:1', 'key.format' = 'json', 'value.format' = 'json');
"""
COUNT = "SELECT k, COUNT(*) AS n FROM o GROUP BY k;"
INTO_A, INTO_B = f"INSERT INTO a {COUNT}", f"INSERT INTO b {COUNT}"
OTHER = "INSERT INTO b SELECT k, SUM(v) FROM o GROUP BY k;"
NAMED = "SET 'pipeline.name' = 'it''s';"
NAME = "insert-into_default_catalog.default_database."


def job(sql: str) -> SparkJob:
    out = compile_script(SourceText("<t>", TABLES + sql))
    assert not out.has_errors, out.diagnostics
    return next(a.job for a in out.actions if isinstance(a, Start))


def ran(sql: str, root: Path, *, twice: bool = False) -> Path:
    """Leave behind what a run of a script does that has read something; a catalog's jobs lie in two folders."""
    done = job(sql)
    folder = job_folder(str(root), done) if twice else str(root)
    checkpoint = open_checkpoint(done, folder)
    LOCAL.write(f"{checkpoint.location(done.writes[0].name)}/offsets/0", "v1")
    assert checkpoint.local is not None
    return checkpoint.local


def starts(sql: str, root: Path, others: Collection[str] = (), *, twice: bool = False) -> str:
    new = job(sql)
    try:
        check_neighbours(LOCAL, job_folder(str(root), new) if twice else str(root), new, others)
    except FlinkDdlError as error:
        return str(error)
    return ""


SETS = f"EXECUTE STATEMENT SET BEGIN {INTO_A} INSERT INTO b SELECT k, SUM(v) FROM o GROUP BY k; END;"


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize(
    ("before", "now", "names", "advice"),
    [
        (INTO_A, INTO_B, (f"{NAME}b", f"{NAME}a"), f"with the state of '{NAME}a', run with --continue-job {NAME}a"),
        (INTO_A, NAMED + INTO_A, ("it's", f"{NAME}a"), f"SET 'pipeline.name' = '{NAME}a'"),
        (
            NAMED + INTO_A,
            INTO_A,
            (f"{NAME}a", "it's"),
            """--continue-job 'it'"'"'s'; to keep the name, SET 'pipeline.name' = 'it''s'""",
        ),
        (INTO_A, SETS, (f"{NAME}a_default_catalog.default_database.b", f"{NAME}a"), f"--continue-job {NAME}a"),
        (SETS, OTHER, (f"{NAME}b", f"{NAME}a_default_catalog.default_database.b"), "together as they were"),
    ],
    ids=["the sink is renamed", "a name is set", "a name is gone", "into a statement set", "out of a statement set"],
)
def test_the_same_query_under_another_name_is_refused(
    before: str, now: str, names: tuple[str, str], advice: str, twice: bool, tmp_path: Path
) -> None:
    ran(before, tmp_path, twice=twice)
    told = starts(now, tmp_path, twice=twice)
    assert f"FD825: job '{names[0]}' would start anew, beside the state of job '{names[1]}'" in told
    assert advice in told
    assert "--fresh" in told


def test_of_two_jobs_it_says_both(tmp_path: Path) -> None:
    for name in ("one", "two"):
        ran(f"SET 'pipeline.name' = '{name}'; {INTO_A}", tmp_path)
    told = starts(INTO_A, tmp_path)
    assert "with the state of 'one' or of 'two', run with --continue-job one" in told


def test_the_advice_holds(tmp_path: Path) -> None:
    state = ran(INTO_A, tmp_path)
    again = job(f"SET 'pipeline.name' = '{NAME}a'; {INTO_A}")
    assert open_checkpoint(again, str(tmp_path)).local == state


def test_what_only_looks_so_starts(tmp_path: Path) -> None:
    state = ran(INTO_A, tmp_path)
    assert "FD825" in starts(INTO_B, tmp_path)
    assert starts(INTO_A, tmp_path) == ""  # it is its own
    assert starts(OTHER, tmp_path) == ""
    assert starts(COUNT, tmp_path) == ""  # a SELECT writes nothing again
    assert starts(INTO_B, tmp_path, {f"{NAME}a"}) == ""  # two INSERTs of one script
    held = take(LOCAL, str(state), "a")
    assert starts(INTO_B, tmp_path) == ""  # it runs
    held.release()
    assert "FD825" in starts(INTO_B, tmp_path)


@pytest.mark.parametrize("how", ["nothing was read", "drained", "set aside", "no state", "broken name"])
def test_what_cannot_be_gone_on_from_starts(how: str, tmp_path: Path) -> None:
    state = ran(INTO_A, tmp_path)
    match how:
        case "nothing was read":
            for file in state.glob("*/offsets/0"):
                file.unlink()
        case "drained":
            done = job(INTO_A)
            mark_drained(open_checkpoint(done, str(tmp_path)), done)
        case "set aside":
            open_checkpoint(job(INTO_A), str(tmp_path), fresh=True)
        case "no state":
            (state / "flinkddl-plan.json").unlink()
        case "broken name":
            state.rename(tmp_path / "lost+found")
            (tmp_path / "lost+found" / "flinkddl-plan.json").rename(tmp_path / "plan")
    assert starts(INTO_B, tmp_path) == ""


def test_a_script_knows_its_jobs() -> None:
    out = compile_script(SourceText("<t>", TABLES + INTO_A + INTO_B))
    assert [a.script_jobs for a in out.actions if isinstance(a, Start)] == [{f"{NAME}a", f"{NAME}b"}] * 2
