"""``flinkddl jobs`` from another process: scripts side by side, a bad one beside good ones, stop, kill -9."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.spark import SHORT_LIVED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

TABLES = """
CREATE TABLE ticks (id INT) WITH ('connector' = 'datagen', 'rows-per-second' = '50');
CREATE TABLE {sink} (id INT) WITH ('connector' = 'blackhole');
"""
AWAY = """
CREATE TABLE ticks (id INT) WITH ('connector' = 'kafka', 'topic' = 't', 'format' = 'json',
  'properties.bootstrap.servers' = '127.0.0.1:1', 'scan.startup.mode' = 'earliest-offset');
CREATE TABLE {sink} (id INT) WITH ('connector' = 'blackhole');
"""
SCRIPTS = {
    "good": TABLES + "INSERT INTO {sink} SELECT id FROM ticks;",
    "fails": TABLES + "INSERT INTO {sink} SELECT 1 / (id - id) FROM ticks;",
    "away": AWAY + "INSERT INTO {sink} SELECT id FROM ticks;",
    "wrong": "SELECT nope FROM nowhere;",
}


SENT = ("offsets", "commits")


class World:
    """A folder with scripts, and ``flinkddl`` in processes of their own over one folder of jobs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = os.environ | {"FLINKDDL_JOBS": str(folder / "jobs")}
        self.runs: list[subprocess.Popen[bytes]] = []

    def start(self, below: str, *names: str) -> subprocess.Popen[bytes]:
        place = self.folder / below
        place.mkdir()
        command = [sys.executable, "-m", "flinkddl", "run", "--master", "local[2]"]
        for name in names:
            (place / f"{name}.sql").write_text(SCRIPTS[name].format(sink=f"to_{name}"))
            command.append(str(place / f"{name}.sql"))
        for key, value in (SHORT_LIVED | {"spark.driver.memory": "700m"}).items():
            command += ["--conf", f"{key}={value}"]
        command += ["--checkpoint", str(place / "checkpoint")]
        with (place / "log").open("wb") as log:
            run = subprocess.Popen(command, stdout=log, stderr=log, env=self.environment, start_new_session=True)
        self.runs.append(run)
        return run

    def said(self, below: str) -> str:
        return (self.folder / below / "log").read_text()

    def jobs(self, *words: str, command: str = "jobs") -> tuple[int, str]:
        argv = [sys.executable, "-m", "flinkddl", command, *words]
        done = subprocess.run(argv, env=self.environment, capture_output=True, text=True, timeout=120, check=False)
        return done.returncode, done.stdout + done.stderr

    def listed(self) -> list[dict[str, Any]]:
        code, text = self.jobs("list", "--output", "json")
        assert code == 0, text
        return json.loads(text)  # type: ignore[no-any-return]

    def states(self) -> dict[str, str]:
        return {r["name"]: r["state"] for r in self.listed()}

    def wait_until(self, condition: Callable[[], bool], seconds: float = 120) -> None:
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, (
                self.listed(),
                [self.said(p.parent.name) for p in self.folder.glob("*/log")],
            )
            time.sleep(0.3)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    try:
        yield world
    finally:
        for run in world.runs:
            if run.poll() is None:
                os.killpg(run.pid, signal.SIGKILL)
            run.wait()


def going(record: dict[str, Any]) -> bool:
    return record["state"] == "RUNNING" and record["batches"] >= 2


@pytest.mark.spark
def test_jobs_from_another_process(world: World) -> None:
    many = world.start("many", "good", "fails", "away", "wrong")
    world.wait_until(lambda: world.states() == {"good": "RUNNING", "fails": "FAILED", "away": "FAILED"})
    world.wait_until(lambda: going(world.listed()[0]))
    code, text = world.jobs("status", "fails")
    assert (code, "failure     " in text, "by zero" in text) == (0, True, True), text

    code, text = world.jobs("create", "good", "--to", str(world.folder / "sp"), command="savepoint")
    assert code == 0, text
    code, told = world.jobs("describe", text.strip(), command="savepoint")
    assert (code, "all as they were written" in told, "many/good.sql (sha256" in told) == (0, True, True), told

    second = world.start("second", "good")
    world.wait_until(lambda: sum(map(going, world.listed())) == 2)
    code, text = world.jobs("stop", "good")
    assert (code, "FD855" in text, f"{second.pid}-1" in text) == (3, True, True), text
    second.kill()  # Python alone: its Java ends with it
    assert second.wait(30) == -signal.SIGKILL
    assert {r["id"]: r["state"] for r in world.listed()}[f"{second.pid}-1"] == "LOST"
    code, text = world.jobs("stop", f"{second.pid}-1")
    assert (code, "ended already: LOST" in text) == (3, True), text

    savepoint = ("--savepoint", str(world.folder / "sp"))  # the other one of that name is lost
    code, text = world.jobs("stop", "good", "--timeout", "60", *savepoint)
    assert (code, "FINISHED" in text, "sp/savepoint-insert-into" in text) == (0, True, True), text
    assert world.jobs("list", savepoint[1], command="savepoint")[1].count("batch ") == 2
    assert many.wait(60) == 3, world.said("many")
    said = world.said("many")
    for line in ("good.sql: stopped", "fails.sql: failed (3)", "away.sql: failed (3)", "wrong.sql: failed (1)"):
        assert line in said, said
    assert "Traceback" not in said
    assert all(code in said for code in ("FD811", "FD452", "by zero")), said
    code, text = world.jobs("logs", f"{many.pid}-1", "--follow")
    assert code == 0
    assert all(words in text for words in ("rows/s in", "asked by another process", "ended: FINISHED")), text
    batches = [{p.name for p in world.folder.glob(f"many/checkpoint/*to_good/**/{w}/[0-9]*")} for w in SENT]
    assert batches[0] == batches[1] != set()
