"""Whether a session's Spark takes state by key (flinkddl/jvm, Install.java)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.spark.stages import keyed

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from flinkddl.spark.job import SparkJob


def stages_missing(spark: SparkSession) -> str:
    """Return why a session has no operators by key, "" where it has them. Runs no task."""
    (row,) = spark.sql("SELECT flinkddl.stages_missing()").collect()
    return str(row[0])


def tell_missing(spark: SparkSession, job: SparkJob, notice: Callable[[str], None]) -> None:
    """Say that a job which asks for state by key runs with aggregates (FD888)."""
    if keyed(job.steps) and (why := stages_missing(spark)):
        notice(f"FD888: state is kept by aggregates: {why}")
