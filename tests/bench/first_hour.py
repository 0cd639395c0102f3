"""The first hour in seconds: from the wheel on an emptied cache to the first results of ``run``, shell and notebook.

Each round asks the same of the same machine: the first on an empty home (jars to be fetched, no archive of Java's
classes), the others with what the first left. README's "Your first job" is the job.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
import venv
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
ROUNDS = 3
SECONDS = 600.0
PORT = 9692
CELLS = {
    "notebook: import to a table": """
from flinkddl.api import Catalog
catalog = Catalog()
catalog.execute("CREATE TABLE t (id INT, price INT) WITH ('connector' = 'datagen', 'number-of-rows' = '5')")""",
    "notebook: a SELECT's rows": 'catalog.execute("SELECT COUNT(*), SUM(id % 3) FROM t").show()',
    "notebook: a second SELECT": 'catalog.execute("SELECT id % 2, MAX(price) FROM t GROUP BY id % 2").show()',
    "notebook: a third SELECT": 'catalog.execute("SELECT id % 3, MIN(price) FROM t GROUP BY id % 3").show()',
}


class Hour:
    """A user's home, and what took how long. ``bin``: where the commands are, else in an environment to be made."""

    def __init__(self, folder: Path, bin: Path | None = None) -> None:
        self.folder, self.took = folder, dict[str, float]()
        self.bin = bin or folder / "env" / "bin"
        kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "JAVA_HOME")}
        cache = {"XDG_CACHE_HOME": str(folder / "home" / ".cache"), "KAFKA_SERVERS": f"localhost:{PORT}"}
        self.env = {**kept, **cache, "HOME": str(folder / "home"), "PATH": f"{self.bin}:{kept['PATH']}"}

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        begin = time.monotonic()
        yield
        self.took[what] = time.monotonic() - begin

    def run(self, *words: str, at: str = "", given: Path | None = None) -> str:
        """Run a command in the home and return what it printed. Raises CalledProcessError."""
        stdin = None if given is None else given.open("rb")
        done = subprocess.run(
            words, cwd=self.folder / "home" / at, env=self.env, stdin=stdin, stdout=subprocess.PIPE, timeout=SECONDS,
            check=True,
        )  # fmt: skip
        return done.stdout.decode()


def install(hour: Hour) -> None:
    """Build the wheel and install it into an environment of its own, with nothing in pip's cache."""
    wheels = hour.folder / "wheel"
    build = [".venv/bin/python", "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(wheels), str(ROOT)]
    subprocess.run(build, cwd=ROOT, check=True)
    (hour.folder / "home").mkdir()
    venv.create(hour.folder / "env", with_pip=True)
    (wheel,) = wheels.glob("*.whl")
    with hour.timed("pip install flinkddl[notebook], no cache"):
        hour.run(str(hour.bin / "pip"), "install", "--quiet", "--no-cache-dir", f"{wheel}[notebook]")


def first_job(hour: Hour, name: str) -> None:
    """README's first job, line by line."""
    job = hour.folder / "home" / name
    hour.run("flinkddl", "init", name)
    with hour.timed("check job.sql"):
        hour.run("flinkddl", "check", "job.sql", at=name)
    with hour.timed("topic produce"):
        lines = job / "clicks.jsonl"
        hour.run("flinkddl", "topic", "produce", "--ddl", "job.sql", "--table", "clicks", at=name, given=lines)
    with hour.timed("run job.sql --until-read"):
        hour.run("flinkddl", "run", "job.sql", "--until-read", "--checkpoint", f"{job}/checkpoint", at=name)
    with hour.timed("topic consume"):
        assert "/pricing" in hour.run("flinkddl", "topic", "consume", "--ddl", "job.sql", "--table", "pages", at=name)


def shell(hour: Hour) -> None:
    """The shell's prompt, and a query's rows in it."""
    with Terminal([str(hour.bin / "flinkddl"), "shell"], hour.env) as terminal:
        with hour.timed("shell: to the prompt"):
            terminal.expect("Flink SQL>", seconds=SECONDS)
        terminal.send("CREATE TABLE t (id INT) WITH ('connector' = 'datagen', 'number-of-rows' = '5');\r")
        terminal.expect("succeed", seconds=SECONDS)
        with hour.timed("shell: a SELECT's rows"):
            terminal.send("SELECT COUNT(*) AS many, 'of' || 'all' AS found FROM t;\r")
            terminal.expect("ofall", seconds=SECONDS)


def notebook(hour: Hour) -> None:
    """Cells of a kernel in the user's environment, one after the other."""
    from jupyter_client.blocking.client import BlockingKernelClient
    from jupyter_client.manager import KernelManager

    manager = KernelManager()
    assert manager.kernel_spec is not None
    manager.kernel_spec.argv = [str(hour.bin / "python"), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    manager.start_kernel(env=hour.env, cwd=str(hour.folder / "home"))
    client = manager.client()
    assert isinstance(client, BlockingKernelClient)
    client.start_channels()
    client.wait_for_ready(timeout=SECONDS)
    for what, cell in CELLS.items():
        with hour.timed(what):
            reply = client.execute_interactive(cell, timeout=SECONDS, output_hook=lambda message: None)
        assert reply["content"]["status"] == "ok", reply["content"]
    client.stop_channels()
    manager.shutdown_kernel()


def main(records: int = 0) -> None:
    """Measure and print a column a round; ``records`` is not used."""
    with tempfile.TemporaryDirectory(prefix="hour") as name:
        hour = Hour(Path(name))
        install(hour)
        rounds = []
        for n in range(ROUNDS):
            with hour.timed("broker start"):
                hour.run("flinkddl", "broker", "start", "--port", str(PORT), "--keep", "kafka-data")
            try:
                first_job(hour, f"job{n}")
            finally:
                hour.run("flinkddl", "broker", "stop")
            shell(hour)
            notebook(hour)
            rounds.append(dict(hour.took))
            hour.took.clear()
            time.sleep(30 * (n == 0))  # the archive of Java's classes is made behind the first end
    for what in rounds[0]:
        print(f"{what:42}" + "".join(f"{r[what]:8.1f}" if what in r else " " * 8 for r in rounds))


if __name__ == "__main__":
    main()
