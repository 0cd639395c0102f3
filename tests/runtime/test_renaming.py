"""A job under another name, told which one it had: its folder gets the new name, or nothing changes at all."""

from __future__ import annotations

import argparse
import json
import re
import shlex
from contextlib import nullcontext
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.cli.common import add_spark_arguments, run_options
from flinkddl.diagnostics import FlinkDdlError, SourceText
from flinkddl.runtime.job.run_options import RunOptions, continued
from flinkddl.runtime.job.supervising import recovering, renaming
from flinkddl.runtime.job.supervising.renaming import brought, check_kept, place_before
from flinkddl.runtime.storage import moves
from flinkddl.runtime.storage.checkpoint import (
    PLAN_FILE,
    checked_at,
    fingerprint,
    job_folder,
    mark_drained,
    note_plan,
    open_checkpoint,
    stored_plan,
)
from flinkddl.runtime.storage.file_systems import LOCAL
from flinkddl.runtime.storage.hold import holder, take
from flinkddl.runtime.storage.neighbours import check_neighbours
from flinkddl.script.compile import Start, compile_script
from tests.runtime.test_neighbours import COUNT, INTO_A, INTO_B, SETS, TABLES, job, ran

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from flinkddl.runtime.storage.file_systems import Storage
    from flinkddl.runtime.storage.hold import Hold
    from flinkddl.spark.job import SparkJob

SHOP, STORE = (f"SET 'pipeline.name' = '{name}';" for name in ("shop", "store"))


ONCE = """CREATE TABLE once (k STRING, v INT) WITH ('connector' = 'kafka', 'topic' = 'out', 'format' = 'json',
  'properties.bootstrap.servers' = 'b:1', 'sink.delivery-guarantee' = 'exactly-once'{});
INSERT INTO once SELECT k, v FROM o;"""
ONCE_WRITE = "default_catalog.default_database.once"


def once(prefix: str = "") -> str:
    return ONCE.format(f", 'sink.transactional-id-prefix' = '{prefix}'" if prefix else "")


def files(root: Path) -> dict[Path, bytes]:
    return {p: p.read_bytes() for p in root.rglob("*") if p.is_file() and "owner" not in p.name}


def asked(*names: str, **more: Any) -> RunOptions:
    return RunOptions(continue_job=names, **more)


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
    assert "refused" not in told
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
    before = files(old)
    with pytest.raises(FlinkDdlError, match=code) as refused:
        goes_on(now, tmp_path, options)
    assert said in str(refused.value)
    for hold in holds:
        hold.release()
    assert files(old) == before
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


# ---- exactly-once: Kafka knows by the transactional id which batches are written ------------------------------------


@pytest.mark.parametrize("ended", [False, True], ids=["within a batch", "between two"])
@pytest.mark.parametrize("noted", [True, False], ids=["", "of an earlier version"])
def test_a_transactional_id_that_is_made_of_the_name_is_not_left_behind(
    ended: bool, noted: bool, tmp_path: Path
) -> None:
    old = ran(SHOP + once(), tmp_path, twice=True)
    if ended:
        LOCAL.write(f"{old}/{job(once()).writes[0].name}/commits/0", "v1")
    if not noted:
        plan = json.loads((old / PLAN_FILE).read_text())
        del plan["ids"]
        (old / PLAN_FILE).write_text(json.dumps(plan))
    before = files(tmp_path)
    with pytest.raises(FlinkDdlError, match="FD820") as refused:
        goes_on(STORE + once(), tmp_path, asked("shop"))
    wanted = "'shop-out'" if noted else "what it was (where none was given, 'NAME-TOPIC' of"
    assert f"give table '{ONCE_WRITE}' 'sink.transactional-id-prefix' = {wanted}" in str(refused.value)
    assert files(tmp_path) == before
    take(LOCAL, str(old), "shop").release()
    # the help holds
    told = goes_on(STORE + once("shop-out"), tmp_path, asked("shop"))
    assert "(was job shop)" in told
    assert "refused" not in told


def test_into_a_statement_set_it_says_which_prefix_to_give(tmp_path: Path) -> None:
    """Another job's name and another plan at once."""
    ran(SHOP + once(), tmp_path, twice=True)
    table, insert = (f"{part};" for part in once().removesuffix(";").split(";"))
    sets = f"{table} EXECUTE STATEMENT SET BEGIN {insert} {INTO_A} END;"
    with pytest.raises(FlinkDdlError, match="FD820") as refused:
        goes_on(STORE + sets, tmp_path, asked("shop"))
    assert f"give table '{ONCE_WRITE}' 'sink.transactional-id-prefix' = 'shop-out', or start" in str(refused.value)
    sets = sets.replace("'exactly-once'", "'exactly-once', 'sink.transactional-id-prefix' = 'shop-out'")
    assert "(was job shop)" in goes_on(STORE + sets, tmp_path, asked("shop"))


def test_a_prefix_of_its_own_goes_on_under_another_name(tmp_path: Path) -> None:
    ran(SHOP + once("p"), tmp_path, twice=True)
    assert "refused" not in goes_on(STORE + once("p"), tmp_path, asked("shop"))


def test_another_prefix_under_the_same_name_waits_for_the_batch_that_may_be_written(tmp_path: Path) -> None:
    old = ran(SHOP + once("p"), tmp_path)
    made = job(SHOP + once("q"))
    with pytest.raises(FlinkDdlError, match=r"FD820.*may be written already.*another transactional id") as refused:
        open_checkpoint(made, str(tmp_path))
    assert "'sink.transactional-id-prefix' = 'p'" in str(refused.value)
    open_checkpoint(job(SHOP + once("p")), str(tmp_path))
    plan = (old / PLAN_FILE).read_text()
    (old / PLAN_FILE).write_text(plan.replace('"folder": "', '"folder": "its-'))  # a query that had another name
    (old / made.writes[0].name).rename(old / f"its-{made.writes[0].name}")
    with pytest.raises(FlinkDdlError, match=r"FD820.*may be written already"):
        open_checkpoint(made, str(tmp_path))
    LOCAL.write(f"{old}/its-{made.writes[0].name}/commits/0", "v1")
    open_checkpoint(made, str(tmp_path))


def test_another_prefix_and_another_column_at_once(tmp_path: Path) -> None:
    """Which goes on by its essence, not by its plan."""
    ran(SHOP + once("p"), tmp_path)
    with pytest.raises(FlinkDdlError, match=r"FD820.*another transactional id"):
        open_checkpoint(job(SHOP + once("q").replace("SELECT k, v", "SELECT k, v + 1")), str(tmp_path))
    open_checkpoint(job(SHOP + once("p").replace("SELECT k, v", "SELECT k, v + 1")), str(tmp_path))


# ---- the old script ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("now", [INTO_A, "INSERT INTO a SELECT k, SUM(v) FROM o GROUP BY k;"], ids=["alike", "edited"])
@pytest.mark.parametrize("runs", [True, False])
def test_the_old_script_does_not_begin_anew_in_silence(runs: bool, now: str, tmp_path: Path) -> None:
    ran(SHOP + INTO_A, tmp_path, twice=True)
    goes_on(STORE + INTO_A, tmp_path, asked("shop"))
    hold = take(LOCAL, place(tmp_path, job(STORE + INTO_A)), "store")
    if not runs:
        hold.release()
    old = job(SHOP + now)
    with pytest.raises(FlinkDdlError, match=r"FD825: job 'shop' .* of job 'store'.*was its own until") as refused:
        check_neighbours(LOCAL, job_folder(str(tmp_path), old), old, {"shop"})
    assert "run with --continue-job store;" in str(refused.value)
    check_neighbours(LOCAL, job_folder(str(tmp_path), old), old, {"shop", "store"})  # a script that has both
    hold.release()


# ---- what comes in between, and what fails --------------------------------------------------------------------------


def test_a_checkpoint_that_came_after_the_check_is_not_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To take the hold of a run that may be dead takes a while, in which the new name may begin by itself."""
    old = ran(SHOP + INTO_A, tmp_path, twice=True)
    new = place(tmp_path, job(STORE + INTO_A))

    def slow(storage: Storage, folder: str, name: str, notice: Callable[[str], None]) -> Hold:
        if folder == str(old):
            ran(STORE + INTO_A, tmp_path, twice=True)
        return take(storage, folder, name, notice)

    monkeypatch.setattr(renaming, "take", slow)
    with pytest.raises(FlinkDdlError, match=r"FD529.*job 'store' has a checkpoint of its own"):
        goes_on(STORE + INTO_A, tmp_path, asked("shop"))
    assert stored_plan(LOCAL, new)
    assert stored_plan(LOCAL, str(old))
    take(LOCAL, new, "store").release()


@pytest.mark.parametrize("moved", [False, True], ids=["before the folder moved", "after"])
def test_a_rename_that_fails_lets_go(moved: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = ran(SHOP + INTO_A, tmp_path, twice=True)
    new = place(tmp_path, job(STORE + INTO_A))

    def fails(storage: Storage, root: str, to: str, plan: str) -> None:
        if moved:
            moves.rename(storage, root, to, plan)
        raise FlinkDdlError.of("FD822", "the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(renaming, "rename", fails)
        with pytest.raises(FlinkDdlError, match="FD822"):
            goes_on(STORE + INTO_A, tmp_path, asked("shop"))
    owners = [p.read_text() for p in tmp_path.rglob("flinkddl-owner-*")]
    assert owners
    assert all(json.loads(text)["ended"] for text in owners)  # also for other processes while this one lives
    assert holder(LOCAL, new if moved else str(old)) is None
    assert "(was job shop)" in goes_on(STORE + INTO_A, tmp_path, asked("shop"))
    assert all(json.loads(p.read_text())["ended"] for p in tmp_path.rglob("flinkddl-owner-*"))


# ---- a savepoint ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["another", "its own", "of another plan"])
def test_a_savepoint_and_the_state_of_another_job(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = ran(SHOP + INTO_A, tmp_path, twice=True)
    plan = () if how == "of another plan" else fingerprint(job(INTO_A))
    found = SimpleNamespace(name="sp-1", plan=plan, path="/sp", job="shop")
    monkeypatch.setattr(recovering, "load", lambda _: found)
    LOCAL.write(f"{old}/flinkddl-restored.json", json.dumps({"savepoint": "sp-2" if how == "another" else "sp-1"}))
    before, options = files(tmp_path), asked("shop", savepoint=str(tmp_path))
    if how == "its own":
        assert "(was job shop)" in goes_on(STORE + INTO_A, tmp_path, options)
        return
    code = "FD529.*cannot begin with savepoint 'sp-1' and go on" if how == "another" else "FD858"
    with pytest.raises(FlinkDdlError, match=code):
        goes_on(STORE + INTO_A, tmp_path, options)
    assert files(tmp_path) == before


# ---- names -----------------------------------------------------------------------------------------------------------


def test_a_name_that_no_job_has_is_refused() -> None:
    from flinkddl.api import Catalog

    (start,) = (x for x in compile_script(SourceText("<t>", TABLES + STORE + INTO_A)).actions if isinstance(x, Start))
    catalog = Catalog(views=False)
    assert catalog._run_options(start, {"continue_job": ("store=shop",)}).continue_job == ("store=shop",)
    with pytest.raises(FlinkDdlError, match=r"FD529: 'stor=shop' names no job") as refused:
        catalog._run_options(start, {"continue_job": ("stor=shop",)})
    assert "its jobs: 'store'; where all of it is the old name, write '=stor=shop'" in str(refused.value)


def test_the_shell_knows_one_statement_at_a_time() -> None:
    """So that what names a job of a statement to come is none of this one's."""
    from flinkddl.cli.shell.engine import Engine

    given: list[tuple[str, ...]] = []
    catalog = SimpleNamespace(reach=lambda _: None, start=lambda _, **run: given.append(run["continue_job"]))
    out = SimpleNamespace(info=print, waiting=lambda _: nullcontext())
    engine = Engine(catalog, SimpleNamespace(wait=lambda: None), out, run={"continue_job": ("other=x", "a=b", "=c=d")})  # type: ignore[arg-type]
    (start,) = (x for x in compile_script(SourceText("<t>", TABLES + STORE + INTO_A)).actions if isinstance(x, Start))
    engine.start(start)
    assert given == [("=c=d",)]


@pytest.mark.parametrize(
    ("text", "job", "said"),
    [
        ("shop", "store", ("shop", False)),
        ("store=shop", "store", ("shop", True)),
        ("store=shop", "other", ("", False)),
        ("store=a=b", "store", ("a=b", True)),
        ("x=y=old", "x=y", ("old", True)),
        ("=a=b", "store", ("a=b", False)),
        ("a=b", "store", ("", False)),
    ],
)
def test_which_name_the_flag_means(text: str, job: str, said: tuple[str, bool]) -> None:
    assert continued(text, job) == said


def test_the_advice_of_a_script_with_several_jobs_says_which(tmp_path: Path) -> None:
    ran(SHOP + INTO_A, tmp_path, twice=True)
    new = job(STORE + INTO_A)
    with pytest.raises(FlinkDdlError, match=r"FD825.*run with --continue-job store=shop;"):
        check_neighbours(LOCAL, job_folder(str(tmp_path), new), new, {"store", "another"})


def test_the_advice_of_a_name_with_a_sign_in_it_is_a_command_that_works(tmp_path: Path) -> None:
    ran("SET 'pipeline.name' = 'a=b';" + INTO_A, tmp_path, twice=True)
    new = job(STORE + INTO_A)
    with pytest.raises(FlinkDdlError, match="FD825") as refused:
        check_neighbours(LOCAL, job_folder(str(tmp_path), new), new, {"store"})
    (advised,) = re.findall(r"--continue-job (.+?);", str(refused.value))
    (flag,) = shlex.split(advised)
    assert flag == "store=a=b"
    assert "(was job a=b)" in goes_on(STORE + INTO_A, tmp_path, asked(flag))
