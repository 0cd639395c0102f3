"""Somebody who types what stands in README: the program on the path, a cache of their own with the jars in it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from flinkddl.runtime.machine.cache import cache_dir


def environment(folder: Path) -> dict[str, str]:
    """Return the variables of somebody whose folder this is; makes the cache below it."""
    (folder / "cache").mkdir()
    (folder / "cache/jars").symlink_to(cache_dir("jars"))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return os.environ | {"FLINKDDL_CACHE": str(folder / "cache"), "PATH": path}
