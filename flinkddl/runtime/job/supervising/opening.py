"""The start of a job's checkpoint: where it lies, that no other run uses it, that it is this job's, that it fits."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from flinkddl.runtime.session.connect import is_connect
from flinkddl.runtime.storage.checkpoint import Checkpoint, job_folder, open_checkpoint, set_aside, temporary_folder
from flinkddl.runtime.storage.file_systems import LOCAL, local_path, storage_of
from flinkddl.runtime.storage.hold import Hold, take
from flinkddl.runtime.storage.neighbours import check_neighbours

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from flinkddl.runtime.job.run_options import RunOptions
    from flinkddl.spark.job import SparkJob


def open_held(spark: SparkSession, job: SparkJob, options: RunOptions) -> tuple[Checkpoint, Hold | None]:
    """Return a streaming job's checkpoint, and this run's hold of it where it is not a temporary one.

    Raises FD820 and FD821 (it does not fit), FD822 (Spark cannot use the folder), FD823 (another run holds it), FD825
    (it would be new, beside state of this very query).
    """
    if options.checkpoint is None:
        if any(w.format != "flinkddl.collect" for w in job.writes):
            options.notice("no checkpoint directory is set: this run starts as its tables say and is not resumed")
        return _temporary(spark, job), None
    storage, root = storage_of(spark, options.checkpoint)
    if not options.fresh:
        check_neighbours(storage, root, job, options.script_jobs)
    folder = job_folder(root, job)
    old = options.fresh and bool(storage.names(folder))
    hold = take(storage, folder, job.name, options.notice)
    try:
        if old:
            set_aside(storage, folder)
            hold.forget()
            hold = take(storage, folder, job.name, options.notice)
        checkpoint = open_checkpoint(job, root, storage=storage)
    except BaseException:
        hold.release()
        raise
    _tell_where(spark, checkpoint, options)
    return checkpoint, hold


def _temporary(spark: SparkSession, job: SparkJob) -> Checkpoint:
    folder = temporary_folder(job)
    storage, root = storage_of(spark, folder)
    if storage is not LOCAL:
        with suppress(OSError):
            Path(folder).rmdir()
        storage.make(root)
    return Checkpoint(root, temporary=True, storage=storage)


def _tell_where(spark: SparkSession, checkpoint: Checkpoint, options: RunOptions) -> None:
    folder = local_path(checkpoint.root)
    if is_connect(spark) and folder is not None and not folder.exists():
        options.notice(f"the checkpoint lies on the Spark Connect server's machine: '{folder}'")
