"""The jars of Java functions, and Flink's own, brought to wherever Spark computes.

As files, not as jars: no class of theirs comes onto Spark's class path. ``addArtifacts(.., file=True)`` is public and
works in one process, on a cluster (its driver serves the file, executors fetch it with their first task) and over Spark
Connect (the client sends it). ``jvm/../udf/Loaders`` finds them by name.
"""

from __future__ import annotations

import os
import shutil
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from flinkddl.runtime.machine.cache import cache_dir, locked
from flinkddl.runtime.machine.jars import locked_artifacts, resolve_jars
from flinkddl.runtime.session.extras import jars_folder
from flinkddl.spark.java_functions import shipped_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession

JOB = "spark.flinkddl.java.job"
"""A setting by which the classes of one job are not those of another, jars with one content included."""


def ship_java(spark: SparkSession, jars: Iterable[str], folder: str | None = None) -> None:
    """Send the jars of Java functions along with a job's session, and Flink's classes, fetched where they are not here.

    Call it before the first expression of such a function is bound. ``folder``: of jars instead of downloads, by
    default the session's. Raises FD802 or FD803 (Flink's jars), OSError (a jar that cannot be read).
    """
    wanted = {shipped_name(jar): Path(jar) for jar in jars}
    if not wanted:
        return
    pinned = (artifact.file(artifact.pins[0]) for artifact in locked_artifacts("flink"))
    found = resolve_jars("flink", folder or jars_folder(spark))
    wanted |= dict(zip(pinned, found, strict=True))
    spark.conf.set(JOB, uuid.uuid4().hex)
    spark.addArtifacts(*(str(_named(name, path)) for name, path in wanted.items()), file=True)


def _named(name: str, path: Path) -> Path:
    """Return a file of that name: Spark takes the name of what it sends from the file."""
    if path.name == name:
        return path
    store = cache_dir("java")
    target = store / name
    with locked(store / ".lock"):
        if not target.is_file():
            part = store / f".{name}.part"
            shutil.copyfile(path, part)
            os.replace(part, target)
    return target
