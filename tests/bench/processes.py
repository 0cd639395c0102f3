"""CPU seconds of the processes that a benchmark has started."""

from __future__ import annotations

import os
from pathlib import Path


def cpu_seconds(pid: int) -> float:
    """Return what a process and its threads have used so far, in user and kernel mode. Raises OSError: it is gone."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def spark_cpu() -> float:
    """Return the CPU seconds of the Java process with a Spark in it that this one has started."""
    return cpu_seconds(spark_pid())


def speaks_of(word: str) -> bool:
    """Return whether a process runs that has a word in its command line."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if word.encode() in (entry / "cmdline").read_bytes():
                return True
        except OSError:
            continue
    return False


def spark_pid() -> int:
    """Return that process. Raises RuntimeError where there is none."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if b"SparkSubmit" in (entry / "cmdline").read_bytes() and int(fields[1]) == os.getpid():
                return int(entry.name)
        except OSError:
            continue
    raise RuntimeError("no Spark was started by this process")
