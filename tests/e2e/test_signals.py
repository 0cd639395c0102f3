"""SIGTERM to a whole process group or cgroup, as systemd, ``timeout`` and ``docker stop`` send it: a clean stop.

And SIGKILL to Spark's Java process alone, as the kernel sends it when a machine has no memory left.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.e2e import support
from tests.e2e.test_realtime import JOB as REALTIME
from tests.e2e.test_realtime import counts
from tests.support.spark import SHORT_LIVED

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from flinkddl.runtime.broker.server import Broker

JOB = """
CREATE TABLE ticks (id INT) WITH ('connector' = 'datagen', 'rows-per-second' = '100');
CREATE TABLE nowhere (id INT) WITH ('connector' = 'blackhole');
INSERT INTO nowhere SELECT id FROM ticks;
"""


class Run:
    """``flinkddl run`` in a process group of its own."""

    def __init__(self, folder: Path, script: str, master: str = "local[2]") -> None:
        self.folder, self.log = folder, folder / "log"
        (folder / "job.sql").write_text(script)
        command = [sys.executable, "-m", "flinkddl", "run", str(folder / "job.sql"), "--master", master]
        for key, value in (SHORT_LIVED | {"spark.driver.memory": "700m"}).items():
            command += ["--conf", f"{key}={value}"]
        command += ["--checkpoint", str(folder / "checkpoint")]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)

    def batches(self, what: str) -> set[str]:
        return {p.name for p in self.folder.glob(f"checkpoint/**/{what}/[0-9]*")}

    def wait_until(self, condition: Callable[[], bool], seconds: float = 120) -> None:
        end = time.monotonic() + seconds
        while not condition():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < end, self.log.read_text()
            time.sleep(0.05)

    def end(self, number: signal.Signals) -> tuple[int, float, str]:
        """Send a signal to the group; return the exit code, how long it took, and what was printed since."""
        before, began = self.log.stat().st_size, time.monotonic()
        os.killpg(self.process.pid, number)
        code = self.process.wait(100)
        return code, time.monotonic() - began, self.log.read_bytes()[before:].decode()

    def close(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


@pytest.mark.spark
def test_sigterm_to_the_group_ends_after_the_running_batch(tmp_path: Path) -> None:
    run = Run(tmp_path, JOB)
    try:
        run.wait_until(lambda: len(run.batches("commits")) >= 2 and run.batches("offsets") > run.batches("commits"))
        running = run.batches("offsets")
        code, _, said = run.end(signal.SIGTERM)
    finally:
        run.close()
    assert (code, "Traceback" in said) == (0, False), said
    # a next batch may be planned in the moment between: the next run does it; what ran at the signal is written
    assert running <= run.batches("commits")
    assert len(run.batches("offsets") - run.batches("commits")) <= 1


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_realtime_mode_does_not_wait_for_its_interval(
    tmp_path: Path, broker: Broker, new_topic: Callable[..., str], number: signal.Signals
) -> None:
    source, sink = new_topic("clicks"), new_topic("counts")
    support.send(broker.bootstrap, source, [{"k": "a", "n": 1}], 1)
    text = REALTIME.format(source=source, sink=sink, servers=broker.bootstrap, parallelism=1)
    run = Run(tmp_path, text, "local[2]")
    try:
        run.wait_until(lambda: counts(broker.bootstrap, sink) == {"a": 1})
        code, seconds, said = run.end(number)
    finally:
        run.close()
    assert (code, "Traceback" in said) == (0, False), said
    assert "what was read since the last checkpoint is read again" in said
    assert seconds < 20, said


BOTH = """
CREATE TABLE ticks (id INT) WITH ('connector' = 'datagen', 'rows-per-second' = '5');
CREATE TABLE nowhere (id INT) WITH ('connector' = 'blackhole');
CREATE TABLE shown (id INT) WITH ('connector' = 'print');
EXECUTE STATEMENT SET BEGIN INSERT INTO nowhere SELECT id FROM ticks; INSERT INTO shown SELECT id FROM ticks; END;
"""


def java_of(run: Run) -> int:
    """The Java process that a run has started."""
    command = ["ps", "-o", "pid=,comm=", "--ppid", str(run.process.pid)]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    (found,) = [int(line.split()[0]) for line in shown.splitlines() if line.split()[1] == "java"]
    return found


@pytest.mark.spark
def test_java_that_is_killed_is_a_sentence_and_code_3(tmp_path: Path) -> None:
    run = Run(tmp_path, BOTH)
    try:
        run.wait_until(lambda: len(list(tmp_path.glob("checkpoint/**/commits/[1-9]*"))) >= 2)
        before, began = run.log.stat().st_size, time.monotonic()
        os.kill(java_of(run), signal.SIGKILL)
        code, seconds = run.process.wait(60), time.monotonic() - began
    finally:
        run.close()
    said = run.log.read_bytes()[before:].decode()
    assert (code, "FD828" in said, "Traceback" in said, "py4j" in said) == (3, True, False, False), said
    assert seconds < 30
