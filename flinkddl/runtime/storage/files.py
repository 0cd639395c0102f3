"""Folders of filesystem tables: is there what a job reads, and may it write where others have written.

Spark's streaming file sink keeps a list of its files in ``_spark_metadata`` and whoever reads the folder with Spark
sees those alone: that makes it exactly-once. So one folder takes either one stream or batches; anything else would hide
rows without a word.
"""

from __future__ import annotations

from contextlib import contextmanager, nullcontext, suppress
from threading import Lock
from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.storage.file_systems import storage_of
from flinkddl.spark.folders import FILES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from flinkddl.spark.job import Read, Write

_LIST = "_spark_metadata"


def missing(step: Read, error: Exception) -> FlinkDdlError | None:
    """Return FD847 where Spark says that the folder of a table is not there, as Flink fails too; else None."""
    if step.format not in FILES or "PATH_NOT_FOUND" not in str(error):
        return None
    message = f"nothing is at '{step.options['path']}', which table '{step.table}' reads"
    return FlinkDdlError.of("FD847", message, help="check 'path', or make the folder")


def check_target(frame: DataFrame, write: Write, checkpoint: str | None = None) -> None:
    """Check that a folder does not hold what another kind of job, or another stream, wrote. Raises FD848.

    ``checkpoint`` is the ``checkpointLocation`` of the stream that is to write, None for a batch.
    """
    if write.format not in FILES:
        return
    path, spark = write.options["path"], frame.sparkSession
    _check_no_stream(path)
    if write.overwrite and not write.partitions:
        return
    listed = _files(spark, f"{path}/{_LIST}") is not None
    if listed and checkpoint is None:
        message = f"'{path}' is written by a streaming job, beside whose files those of a batch would not be seen"
        raise FlinkDdlError.of(
            "FD848", message, help="write into another folder, or SET 'execution.runtime-mode' = 'streaming'"
        )
    if listed and checkpoint is not None:
        _check_same_stream(spark, path, checkpoint)
    files = _files(spark, path) if checkpoint is not None and not listed else None
    if files is not None and not files.select("path").isEmpty():
        message = f"'{path}' holds files that would not be seen beside those of a streaming job"
        help = "write into a folder of its own: a table whose 'path' is the folder above reads both"
        raise FlinkDdlError.of("FD848", message, help=help)


def _check_same_stream(spark: SparkSession, path: str, checkpoint: str) -> None:
    """Refuse a folder whose list is ahead of the query: Spark takes its next batches for written and drops them.

    A query notes a batch in ``offsets`` before it writes, so its own list is never ahead.
    """
    written, begun = (_last(spark, folder) for folder in (f"{path}/{_LIST}", f"{checkpoint}/offsets"))
    if written > begun:
        message = f"'{path}' holds what another streaming job wrote, or this one under another checkpoint"
        help = "go on with that job's '--checkpoint', write into a folder of its own, or empty this one"
        raise FlinkDdlError.of("FD848", message, help=help)


def _last(spark: SparkSession, folder: str) -> int:
    """Return the number of the last batch in one of Spark's logs, -1 where there is none."""
    storage, whole = storage_of(spark, folder)
    return max((int(n) for n in (name.split(".")[0] for name in storage.names(whole)) if n.isdigit()), default=-1)


_STREAMING: dict[str, StreamingQuery] = {}


def streams_into(write: Write, query: StreamingQuery) -> None:
    """Note a started query, beside which no other of this process writes into the folder of its table."""
    if write.format in FILES:
        _STREAMING[write.options["path"].rstrip("/")] = query


def _check_no_stream(path: str) -> None:
    """Refuse a folder into which a query of this process streams, whatever it has written so far."""
    query, active = _STREAMING.get(path.rstrip("/")), False
    with suppress(Exception):  # its session or its server may be gone
        active = query is not None and query.isActive
    if query is not None and active:
        message = f"the running query '{query.name}' streams into '{path}', which takes one stream"
        help = "write one INSERT with UNION ALL of the queries, or give each a folder of its own"
        raise FlinkDdlError.of("FD848", message, help=help)


_WRITING: dict[str, Lock] = {}


def alone(write: Write) -> AbstractContextManager[None]:
    """Wait until no other batch job of this process writes into the folder of a table.

    When Spark ends a write it takes away the folder ``_temporary``, with what other jobs have in it.
    """
    return _held(write.options["path"].rstrip("/")) if write.format in FILES else nullcontext()


@contextmanager
def _held(path: str) -> Iterator[None]:
    with _WRITING.setdefault(path, Lock()):
        yield


def _files(spark: SparkSession, path: str) -> DataFrame | None:
    """Return the files of a folder, those with hidden names left out, or None where there is no such folder."""
    try:
        return spark.read.format("binaryFile").option("recursiveFileLookup", "true").load(path)
    except Exception as error:
        if "PATH_NOT_FOUND" in str(error):
            return None
        raise
