"""Jobs in a process of their own, where Spark or our jar are not what they are here."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING

from flinkddl.jvm import build
from flinkddl.runtime.machine.jars import pyspark_home
from tests.support.spark import SHORT_LIVED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

SCRIPT = """
SET 'flinkddl.execution.state' = 'keyed';
SET 'pipeline.name' = 'totals';
CREATE TABLE bids (k STRING, v INT) WITH ('connector' = 'filesystem', 'path' = '{root}/bids', 'format' = 'json',
  'source.monitor-interval' = '1s');
CREATE TABLE totals (k STRING, n BIGINT, m INT) WITH ('connector' = 'print', 'print-identifier' = 'totals');
INSERT INTO totals SELECT k, COUNT(DISTINCT v), MAX(v) FROM bids GROUP BY k;
"""
"""A job that keeps its state by key."""


def of_spark(jar: str, name: str) -> bytes:
    """Return a file of one of Spark's jars, which begins so."""
    (found,) = (pyspark_home() / "jars").glob(f"{jar}_*.jar")
    with zipfile.ZipFile(found) as whole:
        return whole.read(name)


def of_ours(**changed: bytes) -> dict[str, bytes]:
    """Return the files of our jar, with other ones in the place of those of package ``flinkddl.state``."""
    with zipfile.ZipFile(build.JAR) as whole:
        kept = {n: whole.read(n) for n in whole.namelist()}
    named = {f"flinkddl/state/{name}.class": data for name, data in changed.items()}
    assert named.keys() <= kept.keys()
    return kept | named


def jar(folder: Path, files: Mapping[str, bytes]) -> Path:
    path = folder / "other.jar"
    build.write_jar(dict(files), path)
    return path


def run(script: Path, checkpoint: Path, *, first: Path | None = None, ours: Path | None = None) -> tuple[str, str]:
    """Run a script until all is read, with a jar before Spark's, or another one in the place of ours.

    Returns what it printed, and what it said on stderr.
    """
    conf = SHORT_LIVED | {"spark.driver.memory": "700m"}
    conf |= {"spark.driver.extraClassPath": str(first)} if first else {}
    command = ["run", str(script), "--checkpoint", str(checkpoint), "--until-read", "--master", "local[2]"]
    for key, value in conf.items():
        command += ["--conf", f"{key}={value}"]
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(ours or build.JAR), *command],
        env=os.environ | {"FLINKDDL_JOBS": str(script.parent / "jobs"), "SPARK_CONF_DIR": str(script.parent)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout, done.stderr


_PROGRAM = """
import pathlib, sys
from flinkddl.cli.main import main
from flinkddl.runtime.session import sessions
ours, *command = sys.argv[1:]
own = sessions.spark_jars
sessions.spark_jars = lambda folder=None: (*own(folder)[:-1], pathlib.Path(ours))
sys.exit(main(command))
"""


def shown(printed: str, name: str) -> dict[str, list[str]]:
    """Return the rows that changes of a print table leave, by their first column."""
    left: dict[str, list[str]] = {}
    for line in printed.splitlines():
        kind, _, values = line.removeprefix(f"{name}> ").partition("[")
        if line.startswith(f"{name}> "):
            key, *rest = (v.strip() for v in values.rstrip("]").split(","))
            if kind in ("+I", "+U"):
                left[key] = rest
            elif left.get(key) == rest:
                del left[key]
    return left


def lines(said: str, code: str) -> Sequence[str]:
    return [line for line in said.splitlines() if code in line]
