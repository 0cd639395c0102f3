"""What a run of a job holds from its start to its end, and gives back whatever happens."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from flinkddl.runtime.job.supervising.opening import open_held
from flinkddl.runtime.job.supervising.queries import Queries, end_now
from flinkddl.runtime.session.connect import close_session, is_connect
from flinkddl.runtime.session.errors import has_java, java_gone
from flinkddl.runtime.session.sessions import job_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    from flinkddl.runtime.job.run_options import RunOptions
    from flinkddl.runtime.storage.checkpoint import Checkpoint
    from flinkddl.runtime.storage.hold import Hold
    from flinkddl.spark.job import SparkJob


class Held:
    """A session of the job's own, its queries, and of a streaming job the checkpoint, which no other run may use."""

    def __init__(self, spark: SparkSession, job: SparkJob, options: RunOptions) -> None:
        self.job, self.options = job, options
        self.spark = job_session(spark, job.settings)
        self.queries = Queries(self.spark, job, options.on_rows)
        self.checkpoint: Checkpoint | None = None
        self._hold: Hold | None = None

    def open(self) -> None:
        """Take the checkpoint. Raises as ``open_held``."""
        if self.job.streaming:
            self.checkpoint, self._hold = open_held(self.spark, self.job, self.options)

    def check(self) -> None:
        """Raise FD823 where another run has taken the checkpoint."""
        if self._hold is not None:
            self._hold.check()

    @property
    def started(self) -> list[bool]:
        """Whether the checkpoint knows each write from a run before; empty without a checkpoint."""
        return [] if self.checkpoint is None else [self.checkpoint.started(w.name) for w in self.job.writes]

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
        """Leave nothing behind: no query, no temporary folder, no session on a Connect server."""
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
