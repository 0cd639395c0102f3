"""Programs of ``tests/jvm`` that ask classes of the jar's own package, each run by itself."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from flinkddl.jvm import build
from tests.support.java_program import OPENS

if TYPE_CHECKING:
    from collections.abc import Sequence

SOURCES = Path(__file__).parents[1] / "jvm"


class Probes:
    """The probes of these names, compiled into a folder with Spark's jars and ours beside them."""

    def __init__(self, folder: Path, *names: str) -> None:
        path = f"{build.JAR}{os.pathsep}{build.class_path()}"
        sources = [str(SOURCES / f"{name}.java") for name in names]
        subprocess.run([str(shutil.which("javac")), "-nowarn", "-cp", path, "-d", str(folder), *sources], check=True)
        self._path = f"{folder}{os.pathsep}{path}"

    def run(self, name: str, *args: object, options: Sequence[str] = ()) -> list[str]:
        """Return the lines that a probe says; ``options`` are those of its JVM."""
        java = [str(shutil.which("java")), "-XX:TieredStopAtLevel=1", *options, *OPENS, "-cp", self._path]
        command = [*java, f"flinkddl.state.{name}", *map(str, args)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout.splitlines()
