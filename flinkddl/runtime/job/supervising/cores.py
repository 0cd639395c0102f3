"""Whether there are cores enough for real-time mode, which runs every task of a job at once."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.kafka.admin import KafkaAdmin
from flinkddl.runtime.kafka.offsets import client_properties, partitions_of
from flinkddl.spark.realtime import tasks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from flinkddl.spark import job as J


def local_cores(master: str) -> int | None:
    """Return the cores of a local master; None for a cluster, whose size is not known here."""
    found = re.fullmatch(r"local(?:\[(\d+|\*)(?:,\s*\d+)?\])?", master)
    if found is None:
        return None
    given = found.group(1) or "1"
    return (os.cpu_count() or 1) if given == "*" else int(given)


def check_cores(spark: SparkSession, job: J.SparkJob) -> None:
    """Raise FD663, with the number needed, when a real-time job has more tasks than a local master has cores."""
    master = spark.conf.get("spark.master", "") or ""
    cores = local_cores(master)
    if job.trigger[0] != "realTime" or cores is None:
        return
    needed = tasks(job, _partitions, int(spark.conf.get("spark.sql.shuffle.partitions", "200") or 200))
    if needed > cores:
        raise FlinkDdlError.of(
            "FD663",
            f"real-time mode runs all {needed} tasks of the job at once, and master '{master}' has {cores} cores",
            help=f"start with --master 'local[{needed}]'; that may be more than the machine has",
        )


def _partitions(step: J.Read) -> int:
    options: Mapping[str, str] = step.options
    with KafkaAdmin(client_properties(options)) as admin:
        return sum(len(places) for places in partitions_of(options, admin).values())
