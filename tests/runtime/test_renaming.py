"""A job under another name, told which one it had: its folder gets the new name, or nothing changes at all."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import pytest

from flinkddl.cli.common import add_spark_arguments, run_options
from flinkddl.diagnostics import FlinkDdlError, SourceText
from flinkddl.runtime.job.run_options import RunOptions
from flinkddl.runtime.job.supervising.renaming import brought, check_kept, place_before
from flinkddl.runtime.storage import moves
from flinkddl.runtime.storage.checkpoint import (
    PLAN_FILE,
    checked_at,
    job_folder,
    mark_drained,
    note_plan,
    open_checkpoint,
    stored_plan,
)
from flinkddl.runtime.storage.file_systems import LOCAL
from flinkddl.runtime.storage.hold import take
from flinkddl.script.compile import Start, compile_script
from tests.runtime.test_neighbours import COUNT, INTO_A, INTO_B, SETS, TABLES, job, ran

if TYPE_CHECKING:
    from pathlib import Path

    from flinkddl.spark.job import SparkJob

SHOP, STORE = (f"SET 'pipeline.name' = '{name}';" for name in ("shop", "store"))


def asked(*names: str, **more: bool) -> RunOptions:
    return RunOptions(continue_job=names, **more)  # type: ignore[arg-type]


def place(root: Path, made: SparkJob) -> str:
    """Return the folder of a script's job, twice its name."""
    return job_folder(job_folder(str(root), made), made)


def goes_on(sql: str, root: Path, options: RunOptions) -> str:
    """Start as far as the checkpoint is this job's; return what is said of it."""
    made = job(sql)
    folder = place(root, made)
    if not brought(LOCAL, folder, made, options):
        return "nothing is brought"
    checkpoint = checked_at(made, folder)
    note_plan(checkpoint, made, ("", ""))
    return checkpoint.changed


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (STORE + INTO_A, "the job's name. State: kept: a (Aggregate(by=[k], COUNT(*))"),
        (STORE + INTO_B, "State: kept: b (Aggregate(by=[k], COUNT(*))"),
        (STORE + INTO_A.replace("GROUP BY k", "GROUP BY k HAVING k <> 'x'"), "State: kept: a ("),
        (STORE + SETS, "new: b ("),
    ],
    ids=["renamed", "and its sink", "and edited", "into a statement set"],
)
def test_its_state_goes_on(now: str, said: str, tmp_path: Path) -> None:
    old = ran(SHOP + INTO_A, tmp_path, twice=True)
    assert place_before(LOCAL, place(tmp_path, job(now)), job(now), asked("shop")) == str(old)
    told = goes_on(now, tmp_path, asked("shop"))
    assert said in told
    assert "(was job shop)" in told
    assert not old.parent.exists()
    folder = place(tmp_path, job(now))
    assert open_checkpoint(job(now), job_folder(str(tmp_path), job(now))).started(job(now).writes[0].name)
    stored = stored_plan(LOCAL, folder)
    assert stored is not None
    assert (stored["job"], stored["was"], stored["renamed"]) == ("store", ("shop",), "")


def test_the_flag_may_stay(tmp_path: Path) -> None:
    ran(SHOP + INTO_A, tmp_path, twice=True)
    assert goes_on(STORE + INTO_A, tmp_path, asked("shop"))
    assert goes_on(STORE + INTO_A, tmp_path, asked("shop")) == ""
    assert place_before(LOCAL, place(tmp_path, job(STORE + INTO_A)), job(STORE + INTO_A), asked("shop")) is None
    assert goes_on(STORE + INTO_A, tmp_path, asked("store")) == "nothing is brought"
    # and back
    assert "(was job store)" in goes_on(SHOP + INTO_A, tmp_path, asked("store"))


def test_a_start_that_was_killed_between_is_told_of_all_the_same(tmp_path: Path) -> None:
    ran(SHOP + INTO_A, tmp_path, twice=True)
    assert brought(LOCAL, place(tmp_path, job(STORE + INTO_A)), job(STORE + INTO_A), asked("shop"))
    assert "(was job shop)" in goes_on(STORE + INTO_A, tmp_path, asked("shop"))


def test_of_several_jobs_the_one_that_is_named(tmp_path: Path) -> None:
    ran(SHOP + INTO_A, tmp_path, twice=True)
    assert goes_on("SET 'pipeline.name' = 'other';" + INTO_B, tmp_path, asked("store=shop")) == "nothing is brought"
    assert "(was job shop)" in goes_on(STORE + INTO_A, tmp_path, asked("store=shop"))
    assert goes_on(COUNT, tmp_path, asked("shop")) == "nothing is brought"  # a SELECT has no state that is kept


@pytest.mark.parametrize(
    ("how", "code", "said"),
    [
        ("no such job", "FD529", "jobs with a checkpoint there: 'shop'"),
        ("it has one", "FD529", "job 'store' has a checkpoint of its own"),
        ("it has read", "FD529", "job 'store' has a checkpoint of its own"),
        ("fresh", "FD529", "cannot begin anew"),
        ("the old one runs", "FD823", "is held by"),
        ("the new one runs", "FD823", "is held by"),
        ("another query", "FD820", "SUM(v)"),
        ("drained", "FD821", "was drained"),
    ],
)
def test_what_is_refused_changes_nothing(how: str, code: str, said: str, tmp_path: Path) -> None:
    old = ran(SHOP + INTO_A, tmp_path, twice=True)
    new = place(tmp_path, job(STORE + INTO_A))
    now, options, holds = STORE + INTO_A, asked("shop"), []
    match how:
        case "no such job":
            options = asked("shops")
        case "it has one":
            ran(now, tmp_path, twice=True)
        case "it has read":
            LOCAL.write(f"{new}/q/offsets/0", "v1")
        case "fresh":
            options = asked("shop", fresh=True)
        case "the old one runs":
            holds.append(take(LOCAL, str(old), "shop"))
        case "the new one runs":
            holds.append(take(LOCAL, new, "store"))
        case "another query":
            now = STORE + "INSERT INTO a SELECT k, SUM(v) FROM o GROUP BY k;"
        case "drained":
            done = job(SHOP + INTO_A)
            mark_drained(open_checkpoint(done, job_folder(str(tmp_path), done)), done)
    before = {p: p.read_bytes() for p in old.rglob("*") if p.is_file() and "owner" not in p.name}
    with pytest.raises(FlinkDdlError, match=code) as refused:
        goes_on(now, tmp_path, options)
    assert said in str(refused.value)
    for hold in holds:
        hold.release()
    assert {p: p.read_bytes() for p in old.rglob("*") if p.is_file() and "owner" not in p.name} == before
    take(LOCAL, str(old), "shop").release()  # nobody holds it


def test_a_store_that_copies_folders_and_a_run_without_a_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran(SHOP + INTO_A, tmp_path)
    plan = (tmp_path / "shop" / PLAN_FILE).read_text()
    monkeypatch.setattr(LOCAL.__class__, "read", lambda _, path: plan if path == f"s3a://b/shop/{PLAN_FILE}" else None)
    made = job(STORE + INTO_A)
    with pytest.raises(FlinkDdlError, match=r"FD529.*s3a:// copies folders"):
        brought(LOCAL, "s3a://b/store", made, asked("shop"))
    with pytest.raises(FlinkDdlError, match=r"FD529.*no checkpoint directory is set"):
        check_kept(made, asked("shop"))
    check_kept(made, asked())


def test_an_edit_that_was_killed_under_the_old_name_is_ended_first(tmp_path: Path) -> None:
    """Its journal is of that folder: what it says is done before the folder gets another name."""
    old = ran(SHOP + INTO_A, tmp_path, twice=True)
    plan = (old / PLAN_FILE).read_text()
    (old / PLAN_FILE).write_text("{}")
    moves.begin(LOCAL, str(old), [], plan)
    assert "(was job shop)" in goes_on(STORE + INTO_A, tmp_path, asked("shop"))


def test_a_job_of_the_same_script_keeps_its_state() -> None:
    """Whichever of the two starts first."""
    from flinkddl.api import Catalog

    out = compile_script(SourceText("<t>", TABLES + INTO_A + INTO_B))
    a, b = (x for x in out.actions if isinstance(x, Start))
    catalog = Catalog(views=False)
    assert catalog._run_options(a, {"continue_job": a.job.name}).continue_job == (a.job.name,)
    with pytest.raises(FlinkDdlError, match=r"FD529.*a job of the same script"):
        catalog._run_options(b, {"continue_job": (f"{b.job.name}={a.job.name}",)})
    assert catalog._run_options(b, {}).continue_job == ()


def test_the_flag_of_the_command_line_and_of_the_magic() -> None:
    from flinkddl.notebook.magic import arguments

    parser = argparse.ArgumentParser()
    add_spark_arguments(parser)
    given = ["--continue-job", "old", "--continue-job", "b=a"]
    assert run_options(parser.parse_args(given))["continue_job"] == ("old", "b=a")
    assert run_options(parser.parse_args([]))["continue_job"] == ()
    assert arguments().parse_args(given).continue_job == ["old", "b=a"]


def test_a_job_that_begins_under_the_old_name_finds_no_state_there(tmp_path: Path) -> None:
    """Stores of a run that ended a moment ago upload what waits for it by the path that they know."""
    old = ran(SHOP + INTO_A, tmp_path, twice=True)
    assert goes_on(STORE + INTO_A, tmp_path, asked("shop"))
    query = old / job(INTO_A).writes[0].name
    LOCAL.write(f"{query}/state/0/0/9.zip", "late")
    made = job(SHOP + INTO_A)
    open_checkpoint(made, job_folder(str(tmp_path), made))
    assert not list(query.rglob("*.zip"))
