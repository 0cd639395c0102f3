"""The user's cache folder: jars, logs, the state of the background broker."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

LOG_DAYS = 7


def cache_dir(*parts: str) -> Path:
    """Return (and make) a folder below ``$FLINKDDL_CACHE``, else ``$XDG_CACHE_HOME/flinkddl`` (~/.cache/flinkddl)."""
    own = os.environ.get("FLINKDDL_CACHE")
    base = Path(own) if own else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "flinkddl"
    folder = base.joinpath(*parts)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on a file, across processes, for the body. The file stays, empty."""
    with path.open("a") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def new_log(prefix: str) -> Path:
    """Return the path of a new log file ``logs/PREFIX-<time>-<pid>.log``; logs older than LOG_DAYS are removed."""
    folder = cache_dir("logs")
    folder.chmod(0o700)  # logs quote data
    oldest = time.time() - LOG_DAYS * 86400
    for path in folder.glob("*.log"):
        if path.stat().st_mtime < oldest:
            path.unlink(missing_ok=True)
    return folder / f"{prefix}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"
