"""The user's cache folder: jars, logs, the state of the background broker."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError

if TYPE_CHECKING:
    from collections.abc import Iterator

LOG_DAYS = 7


def cache_dir(*parts: str) -> Path:
    """Return (and make) a folder below ``$FLINKDDL_CACHE``, else ``$XDG_CACHE_HOME/flinkddl`` (~/.cache/flinkddl).

    Raises FD827 where it cannot be made. One that is there may be read-only: jars are read from it all the same.
    """
    own, cache = os.environ.get("FLINKDDL_CACHE"), os.environ.get("XDG_CACHE_HOME")
    base = Path(own) if own else Path(cache or os.path.expanduser("~/.cache")) / "flinkddl"
    folder = base.joinpath(*parts)
    with _refusal(folder):
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def check_writable(folder: Path) -> Path:
    """Return a folder of the cache. Raises FD827 where this user may not write into it."""
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _unusable(folder, "it is not writable")
    return folder


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on a file, across processes, for the body. The file stays, empty. Raises FD827."""
    with _refusal(path):
        handle = path.open("a")
    with handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def new_log(prefix: str) -> Path:
    """Return the path of a new log file ``logs/PREFIX-<time>-<pid>.log``; logs older than LOG_DAYS are removed.

    Raises FD827 where none can be written.
    """
    folder = check_writable(cache_dir("logs"))
    oldest = time.time() - LOG_DAYS * 86400
    with _refusal(folder):
        folder.chmod(0o700)  # logs quote data
        for path in folder.glob("*.log"):
            if path.stat().st_mtime < oldest:
                path.unlink(missing_ok=True)
    return folder / f"{prefix}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"


@contextmanager
def _refusal(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _unusable(path, error.strerror or str(error)) from error


def _unusable(path: Path, why: str) -> FlinkDdlError:
    help = "name a folder that this user may write in FLINKDDL_CACHE: jars and logs are kept there"
    return FlinkDdlError.of("FD827", f"the cache at '{path}' cannot be used: {why}", help=help)


def log_file() -> Path | None:
    """Return the newest Spark log of this process, or None when no session was built here."""
    logs = sorted(cache_dir("logs").glob(f"spark-*-{os.getpid()}.log"))
    return logs[-1] if logs else None
