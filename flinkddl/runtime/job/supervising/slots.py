"""Cores: real-time mode runs every task of a job at once, each on one that it keeps to its end."""

from __future__ import annotations

import os
import re
import threading
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.kafka.admin import KafkaAdmin
from flinkddl.runtime.kafka.offsets import client_properties, partitions_of
from flinkddl.runtime.session.connect import is_connect
from flinkddl.spark.realtime import tasks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from flinkddl.spark.job import Read, SparkJob

_NOBODY_YET = 2
"""What Spark says of a cluster of which it knows no executor (``CoarseGrainedSchedulerBackend``)."""
_taken: WeakKeyDictionary[object, int] = WeakKeyDictionary()
_taking = threading.Lock()


def local_cores(master: str) -> int | None:
    """Return the cores of a local master; None for a cluster."""
    found = re.fullmatch(r"local(?:\[(\d+|\*)(?:,\s*\d+)?\])?", master)
    if found is None:
        return None
    given = found.group(1) or "1"
    return (os.cpu_count() or 1) if given == "*" else int(given)


def known_cores(spark: SparkSession) -> int | str:
    """Return how many tasks a session can run at once; where nothing public says that for good, why not."""
    if is_connect(spark):
        return "how many cores a Spark Connect server has is not known"
    local = local_cores(_set(spark, "spark.master"))
    if local is not None:
        return local // int(_set(spark, "spark.task.cpus", "1"))
    if _set(spark, "spark.dynamicAllocation.enabled", "false") == "true":
        return "executors come and go (spark.dynamicAllocation.enabled), and how many there will be is not known"
    if _set(spark, "spark.default.parallelism"):
        return "how many cores the cluster has is not known: spark.default.parallelism is set"
    cores = spark.sparkContext.defaultParallelism  # of a cluster those of the executors that have come
    if cores <= _NOBODY_YET:
        return "how many cores the cluster has is not known yet"
    return cores // int(_set(spark, "spark.task.cpus", "1"))


def _set(spark: SparkSession, key: str, default: str = "") -> str:
    return spark.conf.get(key, default) or default


def needed(spark: SparkSession, job: SparkJob) -> int:
    """Return how many tasks of a job run at once in real-time mode. Raises FD811 to FD814 as its topics are asked."""
    own = job.settings.get("spark.sql.shuffle.partitions")
    return tasks(job, _partitions, int(own or _set(spark, "spark.sql.shuffle.partitions", "200")))


def taken() -> int:
    """Return how many cores the real-time jobs of this process keep."""
    return sum(_taken.values())


def take_cores(run: object, spark: SparkSession, job: SparkJob) -> None:
    """Take the cores of a real-time job for its run.

    Raises FD663, with the number needed, where a local master has fewer.
    """
    if job.trigger[0] != "realTime":
        return
    wanted = needed(spark, job)
    master = _set(spark, "spark.master")
    cores = local_cores(master)
    with _taking:  # scripts that start side by side ask at the same time
        others = taken()
        if cores is not None and wanted + others > cores:
            held = f", {others} of them taken by other real-time jobs" if others else ""
            message = f"real-time mode runs all {wanted} tasks of the job at once"
            raise FlinkDdlError.of(
                "FD663",
                f"{message}, and master '{master}' has {cores} cores{held}",
                help=f"start with --master 'local[{wanted + others}]'; that may be more than the machine has",
            )
        _taken[run] = wanted


def give_back(run: object) -> None:
    """Let others have the cores of a run that has ended."""
    _taken.pop(run, None)


def _partitions(step: Read) -> int:
    with KafkaAdmin(client_properties(step.options)) as admin:
        return sum(map(len, partitions_of(step.options, admin).values()))
