"""``kill -9`` against executors of a standalone cluster: ``python -m tests.executor_kills --query changes --kills 10``.

The job of tests.exactly_once runs on a master and two workers of one core. Its driver lives; executors of it are killed
at a random moment after a batch was planned, as often as wanted. Spark runs the lost tasks again on the other one, and
the worker starts a new executor: readers count what is lost, wrong or there again. Between two kills each INSERT has a
batch done, more or less, so that there is state to lose. With ``--failing`` tasks fail beside that, above the operators
with state and after those have changed it: a Java function of the job fails at times. How often tasks failed, and by
what, is counted from Spark's event log. Exit code 1 also when there were fewer kills than asked for, or no such task.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from flinkddl.runtime.broker.server import free_ports
from flinkddl.runtime.machine.java import find_java
from tests.exactly_once import START_SECONDS, Harness, arguments, asked, filled, report, too_few
from tests.support import killed
from tests.support.java_udf import udf_jar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.exactly_once import Work

WORKERS = 2
EXECUTOR = b"CoarseGrainedExecutorBackend"
LOST, FAILED, FENCED = "tasks lost with their executor", "tasks failed beside", "tasks failed as they were fenced"
_REASONS = (
    ("ExecutorLostFailure|Resubmitted|FetchFailed", LOST),  # with what they had given to others, too
    ("of this process fails", FAILED),  # FailsAtTimes.java
    (r"ProducerFenced|InvalidProducerEpoch|newer producer", FENCED),
)


@dataclass
class OnCluster(Harness):
    """The copy job on a cluster, and the killer of its executors."""

    def conf(self) -> list[str]:
        (events := self.folder / "events").mkdir(exist_ok=True)
        log = {"enabled": "true", "compress": "false", "dir": str(events)}
        return [word for key, value in log.items() for word in ("--conf", f"spark.eventLog.{key}={value}")]

    def kill_all(self, kills: int) -> None:
        """Run the job to its end and kill an executor of it so many times; fewer when it ends before."""
        job = self.start(self.limit)
        try:
            while self.kills < kills and self.went_on(job):
                if not (running := executors(self.master)):
                    continue
                os.kill(self.random.choice(running), signal.SIGKILL)
                self.note(self.moment())
        except BaseException:
            self.stop(job)
            raise
        self.await_end(job)
        self.moments.update(self.failures())

    def went_on(self, job: subprocess.Popen[bytes]) -> bool:
        """Wait for a batch of each INSERT, more or less, and a random moment more; False when the job has ended."""
        done = self.batches("commits").total() + len(killed.QUERIES[self.work.query])
        if not self.until(job, lambda: self.batches("commits").total() >= done):
            return False
        time.sleep(self.random.uniform(0, self.work.window))
        return job.poll() is None

    def failures(self) -> Counter[str]:
        """Return how many tasks failed by what, as Spark's event log has it."""
        found: Counter[str] = Counter()
        for log in (self.folder / "events").rglob("*app-*"):
            for line in log.read_text().splitlines() if log.is_file() else ():
                if '"SparkListenerTaskEnd"' in line:
                    reason = json.loads(line)["Task End Reason"]
                    if reason["Reason"] not in {"Success", "TaskKilled"}:
                        found[_failure(reason)] += 1
        return found


def _failure(reason: dict[str, object]) -> str:
    told = json.dumps(reason)
    by = next((name for pattern, name in _REASONS if re.search(pattern, told)), None)
    return by or f"tasks failed by {reason.get('Class Name', reason['Reason'])}: {str(reason.get('Description'))[:200]}"


def executors(master: str) -> list[int]:
    """Return the process ids of the executors of this machine whose worker belongs to that master."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes()
                parent = re.search(r"^PPid:\s*(\d+)", (entry / "status").read_text(), re.MULTILINE)
                if EXECUTOR in line and parent and master.encode() in Path(f"/proc/{parent[1]}/cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:  # it ended meanwhile
                continue
    return found


@contextmanager
def cluster(folder: Path, workers: int = WORKERS) -> Iterator[str]:
    """Yield the URL of a standalone cluster of small workers on this machine."""
    [port] = free_ports(1)
    with ExitStack() as stack:
        master = ["master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]
        stack.enter_context(_daemon(master, folder / "master.log", "I have been elected leader"))
        url = f"spark://127.0.0.1:{port}"
        for n in range(workers):
            work = str(folder / f"worker{n}")
            worker = ["worker.Worker", "--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--work-dir", work]
            worker += ["--webui-port", "0", url]
            stack.enter_context(_daemon(worker, folder / f"worker{n}.log", "registered with master"))
        yield url


@contextmanager
def _daemon(args: list[str], log: Path, ready: str) -> Iterator[None]:
    import pyspark

    home = Path(pyspark.__file__).parent
    env = os.environ | {"SPARK_HOME": str(home), "JAVA_HOME": str(Path(find_java()).resolve().parents[1])}
    # executors print to their work folder; a log that says when a daemon is there is Spark's own
    env |= {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "300m"}
    command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{args[0]}", *args[1:]]
    with log.open("wb") as out:
        process = subprocess.Popen(command, env=env, stdout=out, stderr=out, start_new_session=True)
    try:
        end = time.monotonic() + START_SECONDS
        while ready not in log.read_text(errors="replace"):
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"{args[0]} did not start: {log.read_text(errors='replace')[-1000:]}")
            time.sleep(0.1)
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def run(kills: int, work: Work) -> OnCluster:
    """Kill executors under the job; return the harness with its sinks judged."""
    limit = max(8, work.records // (2 * max(6, kills)))
    with filled(OnCluster, work, limit) as harness, cluster(harness.folder) as url:
        harness.master = url
        harness.kill_all(kills)
        harness.judge()
        return harness


def main() -> int:
    parser = arguments("tests.executor_kills", __doc__, 10, 40_000)
    parser.add_argument("--failing", action="store_true", help="tasks fail beside")
    args, begin = parser.parse_args(), time.monotonic()
    done = run(args.kills, asked(args, fails=str(udf_jar("kills")) if args.failing else ""))
    short = too_few(done, args.kills)
    if args.failing and not done.moments[FAILED]:
        short.append("no task failed by itself, with --failing")
    return report("executors killed", done, time.monotonic() - begin, short)


if __name__ == "__main__":
    sys.exit(main())
