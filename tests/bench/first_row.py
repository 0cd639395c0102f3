"""From ``pip install .`` into an empty environment to the first row of the page views sample in the shell, in seconds.

Pip's and flinkddl's caches are warm, and a broker with page views runs before the clock starts.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import venv
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.e2e.support import pageviews, send
from tests.support.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).parents[2]
VIEWS = 1000
SECONDS = 600.0


def tables(folder: Path) -> Path:
    """Write the sample's tables, without its INSERT, as the shell's init script."""
    job = (ROOT / "samples" / "pageviews" / "job.sql").read_text(encoding="utf-8")
    path = folder / "tables.sql"
    path.write_text(job.partition("INSERT INTO")[0], encoding="utf-8")
    return path


def install(folder: Path) -> Path:
    """Install the package as a user does; return its command."""
    python = folder / "env" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", str(ROOT)], check=True)
    return python.with_name("flinkddl")


def first_row(command: Path, folder: Path, servers: str) -> None:
    """Ask for the views per region in the shell, and leave it when a row is on the screen."""
    with shell(command, folder, servers, {}) as terminal:
        ask(terminal, "user_region", "north")


@contextmanager
def shell(command: Path, folder: Path, servers: str, env: Mapping[str, str]) -> Iterator[Terminal]:
    """Open a shell with the sample's tables, and give it at its prompt."""
    arguments = [str(command), "shell", "-i", str(tables(folder)), "-D", f"KAFKA_SERVERS={servers}"]
    with Terminal(arguments, env) as terminal:
        terminal.expect("Flink SQL>", seconds=SECONDS)
        yield terminal


def ask(terminal: Terminal, region: str, shown: str) -> None:
    """Ask for the views per region, written as ``region``, and wait until the row of one is on the screen."""
    terminal.send(f"SELECT {region}, COUNT(*) AS pv, COUNT(DISTINCT user_id) AS uv\r")
    terminal.send("FROM pageviews GROUP BY user_region;\r")
    terminal.expect("SQL Query Result", "| ", shown, seconds=SECONDS)


def main(records: int = 0) -> None:
    """Measure once and print the parts; ``records`` is not used."""
    from flinkddl.runtime.broker.server import Broker
    from flinkddl.runtime.kafka.admin import KafkaAdmin

    with tempfile.TemporaryDirectory() as name, Broker() as broker:
        folder = Path(name)
        venv.create(folder / "env", with_pip=True)
        with KafkaAdmin({"bootstrap.servers": broker.bootstrap}) as admin:
            admin.create_topic("pageviews", 1)
        send(broker.bootstrap, "pageviews", pageviews(VIEWS, seed=1), 1)
        begin = time.monotonic()
        command = install(folder)
        installed = time.monotonic()
        first_row(command, folder, broker.bootstrap)
        end = time.monotonic()
    print(f"pip install .          {installed - begin:6.1f} s")
    print(f"shell to the first row {end - installed:6.1f} s")
    print(f"together               {end - begin:6.1f} s   (Python {sys.version.split()[0]})")


if __name__ == "__main__":
    main()
