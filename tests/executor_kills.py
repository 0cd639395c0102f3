"""``kill -9`` against executors of a standalone cluster: ``python -m tests.executor_kills --query changes --kills 10``.

The job of tests.exactly_once runs on a master and two workers of one core. Its driver lives; executors of it are killed
at a random moment after a batch was planned, as often as wanted. Spark runs the lost tasks again on the other one, and
the worker starts a new executor: readers count what is lost, wrong or there again. With ``--failing`` tasks fail beside
that, above the operators with state and after those have changed it: a Java function of the job fails at times.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from flinkddl.runtime.broker.server import free_ports
from flinkddl.runtime.machine.java import find_java
from tests.exactly_once import START_SECONDS, Harness, arguments, asked, filled, report
from tests.support.java_udf import udf_jar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.exactly_once import Work

WORKERS = 2
EXECUTOR = b"CoarseGrainedExecutorBackend"


@dataclass
class OnCluster(Harness):
    """The copy job on a cluster, and the killer of its executors."""

    def kill_all(self, kills: int) -> None:
        """Run the job to its end and kill an executor of it so many times; fewer when it ends before."""
        job, before = self.start(self.limit), self.batches("offsets")
        try:
            while self.kills < kills and self.goes_on(job, before):
                before = self.batches("offsets")
                if not (running := executors(self.master)):
                    continue
                os.kill(self.random.choice(running), signal.SIGKILL)
                self.note(self.moment())
        except BaseException:
            self.stop(job)
            raise
        self.await_end(job)
        if failed := len(list(self.folder.glob("worker*/**/task-failed-*"))):
            self.moments["tasks failed beside"] = failed


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
    limit = max(8, work.records // max(1, kills * 4))
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
    return report("executors killed", done, time.monotonic() - begin)


if __name__ == "__main__":
    sys.exit(main())
