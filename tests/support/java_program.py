"""A Java program of the tests that feeds kernels: it is started once for a process and asked block by block."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from flinkddl.jvm import build
from flinkddl.runtime.machine.jars import spark_jars

if TYPE_CHECKING:
    from collections.abc import Iterable

JAVA = ("java", "-Xmx300m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-OmitStackTraceInFastThrow")
"""Small; an error that compiled code throws again and again keeps its text, which is compared."""
OPENS = tuple(f"--add-opens=java.base/{p}=ALL-UNNAMED" for p in ("java.lang", "java.nio", "java.util", "sun.nio.ch"))


class JavaProgram:
    """A running program, which ends with this process; ``source`` is compiled with Spark's jars and ours beside it."""

    def __init__(self, source: Path) -> None:
        folder = tempfile.mkdtemp(prefix="flinkddl-java-program-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        path = os.pathsep.join([*map(str, spark_jars()), f"{build.spark_jars()}/*"])
        subprocess.run(["javac", "-cp", path, "-d", folder, str(source)], check=True)
        self._said = Path(folder) / "stderr"
        command = [*JAVA, *OPENS, "-cp", f"{folder}{os.pathsep}{path}", f"flinkddl.format.{source.stem}"]
        pipe = subprocess.PIPE
        with self._said.open("w") as log:
            self._running = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=log, text=True, encoding="utf-8")
        atexit.register(self._running.kill)

    def ask(self, lines: Iterable[str], answers: int = 1) -> list[str]:
        """Return the lines with which it answers a block of lines; it answers once it has read the whole block."""
        told, heard = self._running.stdin, self._running.stdout
        assert told is not None
        assert heard is not None
        told.write("".join(f"{line}\n" for line in lines))
        told.flush()
        found = [heard.readline() for _ in range(answers)]
        assert all(found), self._said.read_text()[-3000:]
        return [line.removesuffix("\n") for line in found]


@cache
def java_program(source: Path) -> JavaProgram:
    """Return the program of this process, started with its first use."""
    return JavaProgram(source)
