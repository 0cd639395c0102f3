"""Two runs on one checkpoint: who is refused, and when a hold ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.storage import hold
from flinkddl.runtime.storage.file_systems import LOCAL
from flinkddl.runtime.storage.hold import Hold, holder, take

if TYPE_CHECKING:
    from pathlib import Path

CHILD = """
import sys, time
from flinkddl.runtime.storage.hold import take
from flinkddl.runtime.storage.file_systems import LOCAL
held = take(LOCAL, sys.argv[1], "job")
print("held", flush=True)
sys.stdin.readline()
held.release()
"""


def owners(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(p.read_text()) for p in sorted(folder.glob("flinkddl-owner-*.json"))]


def rewrite(folder: Path, **changes: Any) -> None:
    (file,) = folder.glob("flinkddl-owner-*.json")
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A folder that a run on another machine holds."""
    take(LOCAL, str(tmp_path), "job").forget()
    rewrite(tmp_path, machine="another", host="far", pid=7, user="ann", run="r1", since="2026-01-02 03:04:05 UTC")
    return tmp_path


def test_one_run_at_a_time(tmp_path: Path) -> None:
    first = take(LOCAL, str(tmp_path), "job")
    with pytest.raises(FlinkDdlError, match=r"FD823.*held by a job of this process.*'pipeline.name'"):
        take(LOCAL, str(tmp_path), "job")
    first.check()
    first.release()
    take(LOCAL, str(tmp_path), "job").release()
    (owner,) = owners(tmp_path)  # files of ended holds go
    assert owner["ended"]


@pytest.mark.parametrize("way", ["ends", "is killed"])
def test_another_process_holds_it_until_it(way: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", CHILD, str(tmp_path)]
    other = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert other.stdin is not None
    assert other.stdout is not None
    assert other.stdout.readline() == "held\n"
    with pytest.raises(
        FlinkDdlError, match=rf"FD823.*by process {other.pid} of user '.+' on host '.+', run \w+, since 2"
    ):
        take(LOCAL, str(tmp_path), "job")
    if way == "ends":
        other.stdin.write("\n")
        other.stdin.flush()
    else:
        other.kill()
    other.wait()
    take(LOCAL, str(tmp_path), "job").release()


@pytest.mark.parametrize(
    ("changes", "live"),
    [
        ({"began": "1"}, False),  # the process number belongs to another process now
        ({}, False),  # of this process, which holds it no more
        ({"pid": 1}, False),
        ({"pid": os.getppid(), "began": hold.began(os.getppid())}, True),
        ({"pid": os.getppid(), "began": hold.began(os.getppid()), "beat": 0}, True),  # stopped, but not dead
        ({"machine": "another"}, True),
        ({"machine": "another", "beat": time.time() - 3600}, False),
        ({"machine": "another", "ended": True}, False),
        ({"began": ""}, True),  # where there is no /proc the time decides
        ({"began": "", "beat": time.time() - 3600}, False),
    ],
)
def test_who_is_alive(changes: dict[str, Any], live: bool, tmp_path: Path) -> None:
    take(LOCAL, str(tmp_path), "job").forget()
    rewrite(tmp_path, **changes)
    assert (holder(LOCAL, str(tmp_path)) is not None) == live


def test_a_run_of_another_machine_is_named(elsewhere: Path) -> None:
    told = r"process 7 of user 'ann' on host 'far', run r1, since 2026-01-02 03:04:05 UTC \(last sign of life 0 s ago\)"
    with pytest.raises(FlinkDdlError, match=rf"FD823.*held by {told}"):
        take(LOCAL, str(elsewhere), "job")


@pytest.mark.parametrize("hours", [-1, 1], ids=["long ago", "its clock is wrong"])
def test_a_dead_run_of_another_machine_is_watched_then_followed(
    hours: int, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(hold, "BEAT_SECONDS", 0.05)
    rewrite(elsewhere, beat=time.time() + 3600 * hours)
    take(LOCAL, str(elsewhere), "job", told.append).release()
    assert "whether it lives" in told[0]
    assert [o["machine"] for o in owners(elsewhere)] == [hold.machine_name()]


def test_a_run_whose_clock_is_wrong_but_beats_is_not_followed(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hold, "BEAT_SECONDS", 0.05)
    rewrite(elsewhere, beat=5.0)
    with pytest.raises(FlinkDdlError, match="FD823"):
        take(LOCAL, str(elsewhere), "job", lambda _: rewrite(elsewhere, beat=6.0))


def test_a_run_that_was_taken_for_dead_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hold, "BEAT_SECONDS", 0.05)
    asleep = take(LOCAL, str(tmp_path), "job")
    asleep.check()
    hold._runs.clear()  # as if its process were gone
    other = take(LOCAL, str(tmp_path), "job")
    for _ in range(100):
        time.sleep(0.05)
        if asleep._lost is not None:
            break
    with pytest.raises(FlinkDdlError, match=r"FD824.*held by process"):
        asleep.check()
    asleep.release()
    other.check()
    (owner,) = owners(tmp_path)
    assert not owner["ended"]  # the first says nothing over the second
    other.release()


def test_a_live_run_shows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hold, "BEAT_SECONDS", 0.05)
    held = take(LOCAL, str(tmp_path), "job")
    before = owners(tmp_path)[0]["beat"]
    time.sleep(0.5)
    assert owners(tmp_path)[0]["beat"] > before
    held.release()


def test_of_several_at_once_one_gets_it(tmp_path: Path) -> None:
    from tests.runtime.test_storage import _at_once

    got: list[Hold] = []

    def one(_: int) -> bool:
        try:
            got.append(take(LOCAL, str(tmp_path), "job"))
        except FlinkDdlError:
            return False
        return True

    assert sum(_at_once(one)) == 1
    got[0].release()
