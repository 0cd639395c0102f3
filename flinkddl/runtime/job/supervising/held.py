"""What a run of a job holds from its start to its end, and gives back whatever happens."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.job.supervising.begun import as_begun
from flinkddl.runtime.job.supervising.filling import fill
from flinkddl.runtime.job.supervising.queries import Queries, end_now
from flinkddl.runtime.job.supervising.recovering import recover
from flinkddl.runtime.job.supervising.renaming import brought, check_kept
from flinkddl.runtime.job.supervising.slots import give_back
from flinkddl.runtime.session.connect import close_session, is_connect
from flinkddl.runtime.session.errors import has_java, java_gone
from flinkddl.runtime.session.sessions import job_session
from flinkddl.runtime.storage.checkpoint import (
    Checkpoint,
    checked,
    is_kept,
    job_folder,
    note_plan,
    set_aside,
    temporary_folder,
)
from flinkddl.runtime.storage.file_systems import LOCAL, local_path, storage_of
from flinkddl.runtime.storage.hold import Hold, take
from flinkddl.runtime.storage.moved import brought_along
from flinkddl.runtime.storage.neighbours import check_neighbours
from flinkddl.runtime.storage.noted import note_state, state_notes
from flinkddl.spark.edits import renumbered
from flinkddl.spark.partitions import one_as_begun
from flinkddl.spark.ttl import kept_as_begun

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql import SparkSession

    from flinkddl.runtime.job.run_options import RunOptions
    from flinkddl.spark.job import SparkJob


class Held:
    """A session of the job's own, its queries, and of a streaming job the checkpoint, which no other run may use."""

    def __init__(self, spark: SparkSession, job: SparkJob, options: RunOptions) -> None:
        self.job, self.options = job, options
        self._compared = job  # as its checkpoint was checked against it
        self.spark = job_session(spark, job.settings)
        self.queries = Queries(self.spark, job, options.on_rows)
        self.checkpoint: Checkpoint | None = None
        self._hold: Hold | None = None

    def open(self) -> None:
        """Take the checkpoint. Raises as ``open_held`` and ``as_begun``."""
        if self.job.streaming:
            asked, self.job = self.job, as_begun(self.spark, self.job, self.options)
            for told in filter(None, (kept_as_begun(asked, self.job), one_as_begun(asked, self.job))):
                self.options.notice(told)
            self.checkpoint, self._hold = open_held(self.spark, self.job, self.options)
            self._compared, self.job = self.job, renumbered(self.job, self.checkpoint.edit.numbers)
            self.queries.job = self.job

    def settle(self, run: SparkJob, frames: Mapping[str, Any], cut: Callable[[], bool]) -> Checkpoint | None:
        """Make the checkpoint this job's, once all else has been looked up, and return it: there is no way back.

        ``run`` is the job as it runs, ``frames`` the DataFrames of its steps; ``cut`` ends what fills new operators.
        Raises as ``fill``, and FD820 where state would be read as other types.
        """
        if is_kept(self.checkpoint):
            notes = state_notes(self.checkpoint, run, frames)
            fill(self.spark, self.job, self.checkpoint, partial(self.queries.run_once, cut=cut))
            self.checkpoint = note_plan(self.checkpoint, self._compared, self.options.script)
            note_state(self.checkpoint, notes)
        if self.checkpoint is not None and self.checkpoint.changed:
            self.options.notice(f"the script has changed, and its checkpoint goes on: {self.checkpoint.changed}")
        return self.checkpoint

    def check(self) -> None:
        """Raise FD823 where another run has taken the checkpoint."""
        if self._hold is not None:
            self._hold.check()

    @property
    def started(self) -> list[bool]:
        """Whether the checkpoint knows each query from a run before; empty without a checkpoint."""
        return [] if self.checkpoint is None else [self.checkpoint.started(run.name) for run in self.job.runs]

    @contextmanager
    def left_on_failure(self) -> Iterator[None]:
        """Leave when the body fails. Raises what it raised, or FD828 where Java has ended."""
        try:
            yield
        except BaseException as error:
            gone = java_gone(self.spark) if isinstance(error, Exception) else None
            self.leave()
            if gone is not None:
                raise gone from error
            raise

    def leave(self) -> None:
        """Leave nothing behind: no query, no core, no temporary folder, no session on a Connect server."""
        give_back(self)
        running = self.queries.running
        if is_connect(self.spark):
            with suppress(Exception):  # the server may be gone, and its queries with it
                end_now(running)
            running.clear()
            close_session(self.spark, self._put_back())
        elif not has_java(self.spark):
            running.clear()
            for call in self._put_back():
                with suppress(Exception):  # a checkpoint of another file system went through Java
                    call()
        else:
            end_now(running)
            for call in self._put_back():
                call()

    def _put_back(self) -> list[Callable[[], None]]:
        return [x for x in (self._hold and self._hold.release, self.checkpoint and self.checkpoint.remove) if x]


# ---- the checkpoint: where it lies, that no other run uses it, that it is this job's, that it fits ------------------


def open_held(spark: SparkSession, job: SparkJob, options: RunOptions) -> tuple[Checkpoint, Hold | None]:
    """Return a streaming job's checkpoint, and this run's hold of it where it is not a temporary one.

    What it says of the plan is that of the run before: the state of operators that come and go lies as it did.

    Raises FD820 and FD821 (it does not fit), FD822 (Spark cannot use the folder), FD823 (another run holds it), FD825
    (it would be new, beside state of this very query), FD529 as ``brought``, FD857 to FD859 as ``recover``.
    """
    if options.checkpoint is None:
        check_kept(job, options)
        checkpoint = _temporary(spark, job)
        if any(w.format != "flinkddl.collect" for w in job.writes):
            begins = "as its tables say" if options.savepoint is None else "from its savepoint"
            options.notice(f"no checkpoint directory is set: this run starts {begins} and is not resumed")
        try:
            recover(checkpoint.storage, checkpoint.root, job, options)
            brought_along(checkpoint.root)
        except FlinkDdlError:
            checkpoint.remove()
            raise
        return checkpoint, None
    storage, root = storage_of(spark, options.checkpoint)
    folder = job_folder(root, job)
    if not brought(storage, folder, job, options) and not options.fresh and options.savepoint is None:
        check_neighbours(storage, root, job, options.script_jobs)
    old = options.fresh and bool(storage.names(folder))
    hold = take(storage, folder, job.name, options.notice)
    try:
        if old:
            set_aside(storage, folder)
            hold.forget()
            hold = take(storage, folder, job.name, options.notice)
        recover(storage, folder, job, options)
        if storage is LOCAL:
            brought_along(folder)
        checkpoint = checked(job, root, storage=storage, allow_dropped=options.allow_dropped)
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
