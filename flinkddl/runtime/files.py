"""Folders of filesystem tables: is there what a job reads, and may it write where others have written.

Spark's streaming file sink keeps a list of its files in ``_spark_metadata`` and whoever reads the folder with Spark
sees those alone: that makes it exactly-once. So one folder takes either streams or batches; anything else would hide
rows without a word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from flinkddl.lower.job import Read, Write

FORMATS = frozenset({"text", "parquet"})
_LIST = "_spark_metadata"


def missing(step: Read, error: Exception) -> FlinkDdlError | None:
    """Return FD847 where Spark says that the folder of a table is not there, as Flink fails too; else None."""
    if step.format not in FORMATS or "PATH_NOT_FOUND" not in str(error):
        return None
    message = f"nothing is at '{step.options['path']}', which table '{step.table}' reads"
    return FlinkDdlError.of("FD847", message, help="check 'path', or make the folder")


def check_target(frame: DataFrame, write: Write, *, streaming: bool) -> None:
    """Check that a folder does not hold what the other kind of job wrote. Raises FD848."""
    if write.format not in FORMATS or (write.overwrite and not write.partitions):
        return
    path, spark = write.options["path"], frame.sparkSession
    listed = _files(spark, f"{path}/{_LIST}") is not None
    if not streaming and listed:
        message = f"'{path}' is written by a streaming job, beside whose files those of a batch would not be seen"
        raise FlinkDdlError.of(
            "FD848", message, help="write into another folder, or SET 'execution.runtime-mode' = 'streaming'"
        )
    files = _files(spark, path) if streaming and not listed else None
    if files is not None and not files.select("path").isEmpty():
        message = f"'{path}' holds files that would not be seen beside those of a streaming job"
        help = "write into a folder of its own: a table whose 'path' is the folder above reads both"
        raise FlinkDdlError.of("FD848", message, help=help)


def _files(spark: SparkSession, path: str) -> DataFrame | None:
    """Return the files of a folder, those with hidden names left out, or None where there is no such folder."""
    try:
        return spark.read.format("binaryFile").option("recursiveFileLookup", "true").load(path)
    except Exception as error:
        if "PATH_NOT_FOUND" in str(error):
            return None
        raise
