"""Jobs as files of a user: who is found under which name, who is lost, what is asked, how much is kept."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import pytest

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.job import registry
from flinkddl.runtime.job.registry import Entry, Log, Record, Request, ask, find, jobs_dir, records
from flinkddl.runtime.machine.process import began

if TYPE_CHECKING:
    from pathlib import Path


def put(folder: Path, id: str, name: str, state: str = "RUNNING", **more: object) -> Record:
    record = Record(id, name, f"insert-into_{name}", f"{name}.sql", state=state, started=float(len(id)), **more)  # type: ignore[arg-type]
    (folder / f"{id}.json").write_text(json.dumps(asdict(record)))
    return record


@pytest.mark.parametrize(
    ("wanted", "found"),
    [("1-1", "1-1"), ("a", "22-1"), ("insert-into_a", "22-1"), ("b", "333-1"), ("c", "55555-1")],
    ids=["id", "the-one-that-runs", "flinks-name", "ended", "the-last-that-ended"],
)
def test_found_by(tmp_path: Path, wanted: str, found: str) -> None:
    put(tmp_path, "1-1", "a", "FINISHED")
    put(tmp_path, "22-1", "a")
    put(tmp_path, "333-1", "b", "FAILED")
    put(tmp_path, "4444-1", "c", "FINISHED")
    put(tmp_path, "55555-1", "c", "CANCELED")
    (tmp_path / "6.json").write_text("{half")
    assert find(tmp_path, wanted).id == found


def test_names_that_say_nothing(tmp_path: Path) -> None:
    put(tmp_path, "1-1", "pageviews")
    put(tmp_path, "22-1", "pageviews")
    with pytest.raises(FlinkDdlError, match=r"FD855: 2 jobs named 'pageviews' run: 1-1 .*, 22-1"):
        find(tmp_path, "pageviews")
    with pytest.raises(FlinkDdlError, match="FD854") as error:
        find(tmp_path, "pageview")
    assert error.value.diagnostics[0].help == "did you mean 'pageviews'?"
    with pytest.raises(FlinkDdlError, match="FD854"):
        find(tmp_path / "nowhere", "x")


def test_who_is_lost(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    here = {"pid": child.pid, "began": began(child.pid)}
    put(tmp_path, "1-1", "lives", **here)
    put(tmp_path, "22-1", "number-used-again", **(here | {"began": "1"}))
    put(tmp_path, "333-1", "ended", "FINISHED", **(here | {"began": "1"}))
    put(tmp_path, "4444-1", "far", machine="other", updated=1.0)
    put(tmp_path, "55555-1", "far-and-well", machine="other", updated=2e9)
    try:
        states = [r.state for r in records(tmp_path)]
        assert states == ["RUNNING", "LOST", "FINISHED", "LOST", "RUNNING"]
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # a zombie until it is waited for: dead all the same
        assert find(tmp_path, "lives").state == "LOST"
    finally:
        child.kill()
        child.communicate()
    assert find(tmp_path, "lives").state == "LOST"


def test_an_entry_is_private_written_whole_and_has_an_id_of_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "state" / "jobs"
    first, second = Entry(folder, "a", "j", "a.sql"), Entry(folder, "a", "j", "a.sql")
    assert {first.record.id, second.record.id} == {f"{os.getpid()}-1", f"{os.getpid()}-2"}
    first.publish(state="RUNNING", batches=3)
    first.log.write("hello\n")
    assert find(folder, first.record.id).batches == 3
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(p.stat().st_mode) for p in folder.iterdir()} == {0o600}
    assert {p.suffix for p in folder.iterdir()} == {".json", ".log"}  # no part is left


def test_a_request_is_taken_once(tmp_path: Path) -> None:
    entry = Entry(tmp_path, "a", "j", "a.sql")
    assert entry.requested() is None
    request = Request("stop", now=True)
    ask(tmp_path, find(tmp_path, "a"), request)
    assert entry.requested() == request
    assert entry.requested() is None
    (tmp_path / f"{entry.record.id}.request").write_text("rubbish")
    assert entry.requested() is None
    with pytest.raises(FlinkDdlError, match="FD856: job 'a' runs on host 'far'"):
        ask(tmp_path, replace(entry.record, machine="other", host="far"), request)
    with pytest.raises(FlinkDdlError, match="FD856: job 'a' cannot be asked"):
        ask(tmp_path / "gone", entry.record, request)


def test_ended_jobs_are_forgotten_with_their_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "KEPT", 2)
    for n in range(1, 5):
        id = "9" * n + "-1"
        put(tmp_path, id, f"j{n}", "FINISHED")
        (tmp_path / f"{id}.log").write_text("x")
    Entry(tmp_path, "new", "j", "a.sql")
    assert [r.name for r in records(tmp_path)] == ["j3", "j4", "new"]
    assert sorted(p.name for p in tmp_path.glob("*.log")) == ["999-1.log", "9999-1.log"]


def test_a_log_is_bounded_and_holds_no_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "LOG_BYTES", 1000)
    log = Log(tmp_path / "a.log")
    for n in range(100):
        log.write(f"line {n} jdbc:mysql://ann:hush@host/db?password=hush\n")
    sizes = {p.name: p.stat().st_size for p in tmp_path.iterdir()}
    assert sizes.keys() == {"a.log", "a.log.1"}
    assert max(sizes.values()) <= 1000
    text = (tmp_path / "a.log.1").read_text() + (tmp_path / "a.log").read_text()
    assert "hush" not in text
    assert text.rstrip().splitlines()[-1].startswith("line 99 ")


def test_where_jobs_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FLINKDDL_JOBS", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert jobs_dir() == tmp_path / "flinkddl/jobs"
    monkeypatch.setenv("FLINKDDL_JOBS", str(tmp_path / "own"))
    assert jobs_dir() == tmp_path / "own"
    assert jobs_dir(str(tmp_path / "given")) == tmp_path / "given"
