"""A small guard process: runs one child, ends it when whoever started the guard is gone, then clears a folder.

``python watchdog.py owned|detached FOLDER -- command ...``. An owned guard has a pipe from its owner as stdin: the
kernel closes that pipe however the owner dies, SIGKILL included, so nothing is left behind on Linux or macOS. A
detached guard lives until SIGTERM. Standard library only, no package imports.
"""

from __future__ import annotations

import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

GRACE_SECONDS = 10
_PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """In a child before it runs (``preexec_fn``): ask Linux for SIGKILL when its parent is killed."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _end(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is not None:
        return
    child.terminate()
    try:
        child.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def _stop(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def main(argv: list[str]) -> int:
    """Run the command until it ends or its owner is gone; return its exit code."""
    (mode, folder), command = argv[:2], argv[argv.index("--") + 1 :]
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    owner = sys.stdin.fileno()
    watched = [owner] if mode == "owned" else []
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=die_with_parent)
    try:
        while child.poll() is None:
            ready, _, _ = select.select(watched, [], [], 0.2)
            if ready and not os.read(owner, 1024):
                break
        return child.returncode or 0
    finally:
        _end(child)
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
