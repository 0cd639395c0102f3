"""How a script is started: as a process of its own, or in one that others have warmed up; with this code or earlier."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 400
SAID = ("error FD", "flinkddl: the script has changed")


@dataclass(frozen=True)
class Ran:
    """How a start ended and what it said."""

    code: int
    text: str

    @property
    def said(self) -> str:
        """The line that tells of the checkpoint, or nothing."""
        return next((line for line in self.text.splitlines() if line.startswith(SAID)), "")


@dataclass
class Starts:
    """Starts of one commit's code. Warm: in one process, each with the Java that the one before has left."""

    root: Path
    folder: Path
    warm: bool
    log: Path = field(init=False)
    worker: subprocess.Popen[str] | None = None

    def __post_init__(self) -> None:
        self.log = self.folder / f"{self.root.name}.log"

    def run(self, arguments: list[str]) -> Ran:
        """Start ``flinkddl`` once and wait for its end."""
        begin = self.log.stat().st_size if self.log.exists() else 0
        code = self._warm(arguments) if self.warm else self._process(["-m", "flinkddl", *arguments]).wait(SECONDS)
        with self.log.open("rb") as log:
            log.seek(begin)
            return Ran(code, log.read().decode(errors="replace"))

    def close(self) -> None:
        """End the process that was kept, and its Java with it."""
        if self.worker is not None and self.worker.stdin is not None:
            self.worker.stdin.close()
            self.worker.wait(60)
            self.worker = None

    def _warm(self, arguments: list[str]) -> int:
        if self.worker is None:
            self.worker = self._process([str(Path(__file__).with_name("worker.py"))])
        assert self.worker.stdin is not None
        assert self.worker.stdout is not None
        self.worker.stdin.write(json.dumps(arguments) + "\n")
        self.worker.stdin.flush()
        if not select.select([self.worker.stdout], [], [], SECONDS)[0]:
            self.worker.kill()
            raise TimeoutError(f"a start took more than {SECONDS} s, see {self.log}")
        return int(self.worker.stdout.readline())

    def _process(self, command: list[str]) -> subprocess.Popen[str]:
        env = os.environ | {"PYTHONPATH": str(self.root)}
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [sys.executable, *command], cwd=self.folder, env=env, text=True, stderr=log,
                stdin=subprocess.PIPE if self.warm else subprocess.DEVNULL,
                stdout=subprocess.PIPE if self.warm else log,
            )  # fmt: skip


def clone(commit: str, to: Path) -> Path:
    """Return a clone of this repository at a commit."""
    if not to.exists():
        subprocess.run(["git", "clone", "--quiet", "--shared", "--no-checkout", str(ROOT), str(to)], check=True)
        subprocess.run(["git", "-C", str(to), "checkout", "--quiet", commit], check=True)
    return to
