"""Python modules that go along with a job: ``--py-files`` puts them on this process's path and on the workers'."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession

ENDINGS = (".py", ".zip", ".egg")
"""What Spark takes: one module, or packages in an archive."""


def make_importable(files: Iterable[str]) -> None:
    """Let this process import what the files hold, after everything else: functions are read while planning."""
    for file in files:
        path = Path(file).absolute()
        entry = str(path.parent if path.suffix == ".py" else path)
        if entry not in sys.path:
            sys.path.append(entry)


def ship(spark: SparkSession, files: Iterable[str]) -> None:
    """Send the files to the workers of a session of this machine, for all its jobs."""
    for file in files:
        spark.sparkContext.addPyFile(str(Path(file).absolute()))


def ship_to_server(spark: SparkSession, files: Iterable[str]) -> None:
    """Send the files along with one session of a Spark Connect server."""
    if found := [str(Path(file).absolute()) for file in files]:
        spark.addArtifacts(*found, pyfile=True)
