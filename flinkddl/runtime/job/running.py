"""A SparkJob that runs: what its owner may ask and say, and the thread in which it goes on."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from flinkddl.diagnostics import Diagnostic, FlinkDdlError
from flinkddl.runtime.job.reporting.failures import JobFailed, job_failed
from flinkddl.runtime.job.run_options import RunOptions
from flinkddl.runtime.job.supervising.held import Held
from flinkddl.runtime.job.supervising.preparing import prepare
from flinkddl.runtime.job.supervising.supervisor import POLL_SECONDS, Asked, Supervisor
from flinkddl.runtime.job.topics.flow import lag_by_topic
from flinkddl.runtime.job.writers import run_write
from flinkddl.runtime.kafka.admin import KafkaAdmin, Offsets
from flinkddl.runtime.kafka.offsets import client_properties, topics_of
from flinkddl.runtime.session.connect import is_connect, server_gone
from flinkddl.runtime.session.errors import java_gone
from flinkddl.runtime.storage.savepoints import create, savepoint_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from flinkddl.runtime.job.reporting.progress import Progress, RowTotals
    from flinkddl.runtime.job.topics.flow import Flow
    from flinkddl.runtime.storage.savepoints import Savepoint
    from flinkddl.spark.job import SparkJob

Status = Literal["starting", "running", "finished", "stopped", "failed"]
_AS_USUAL = RunOptions()


class RunningJob:
    """A job, prepared in the caller's thread, so that mistakes are raised here, and from ``start`` on in its own.

    Its queries live and end together; all methods may be called from any thread.
    """

    def __init__(self, spark: SparkSession, job: SparkJob, options: RunOptions) -> None:
        self.job = job
        self.options = options
        self.status: Status = "starting"
        self.error: FlinkDdlError | None = None
        self._asked = Asked()
        self._thread = threading.Thread(target=self._run, name=f"flinkddl {job.name}", daemon=True)
        self._ended = threading.Event()  # not is_alive(): up to Python 3.12 a Ctrl-C in join() ends a thread in name
        self._ended.set()
        self._held = Held(spark, job, options)
        self._queries = self._held.queries
        with self._held.left_on_failure():
            self._sources, known = prepare(self._held, self._end_is_asked)
            self._supervisor = Supervisor(self._held, self._sources, known, self._asked)

    def _end_is_asked(self) -> bool:
        """Whether the end was asked for; who waits for a start has no handle yet, and says so by its options."""
        if self.options.asked():
            self._asked.stop.set()
        return self._asked.stop.is_set()

    def start(self) -> RunningJob:
        """Start the queries, and go on in the background."""
        if self.job.streaming:
            with self._held.left_on_failure():
                self._supervisor.start()
        self.status = "running"
        self._ended.clear()
        self._thread.start()
        return self

    # ---- what its owner may ask ------------------------------------------------------------------------------------

    @property
    def progress(self) -> tuple[Progress, ...]:
        """The last finished batch of each write, with what the query waits for now."""
        return tuple(replace(p, waiting=self._waiting(name)) for name, p in self._queries.latest.items())

    @property
    def totals(self) -> dict[str, RowTotals]:
        """Rows of each write since the run began."""
        return dict(self._queries.totals)

    @property
    def lag(self) -> dict[str, int]:
        """Records not yet read per topic, as of the last batch, of a real-time job of the last look at its topics."""
        return lag_by_topic(self.job, self._queries.latest.values(), self.flows)

    @property
    def flows(self) -> tuple[Flow, ...]:
        """What goes through each write of a real-time job, as of the last look at its topics."""
        return self._supervisor.flow.flows

    @property
    def lost(self) -> dict[str, int]:
        """Records per topic that were deleted before they were read, as far as this run has seen."""
        return dict(self._supervisor.topics.lost)

    @property
    def waiting(self) -> str:
        """What the job waits for, in words: a cluster that is away, a restart; nothing where all its queries run."""
        return self._supervisor.topics.away or self._supervisor.restarts.waiting

    @property
    def restarting(self) -> bool:
        """Whether a query has failed and is to be started again."""
        return bool(self._supervisor.restarts.open)

    @property
    def restarts(self) -> int:
        """How often a query of the job was started again after a failure."""
        return self._supervisor.restarts.count

    @property
    def last_failure(self) -> str:
        """Why a query failed last, in one line; nothing where none has."""
        return self._supervisor.restarts.last

    @property
    def failures(self) -> dict[tuple[str, str], int]:
        """How many failures of queries there were, by write and code."""
        return dict(self._supervisor.restarts.failures)

    def _waiting(self, write: str) -> str:
        restarts = self._supervisor.restarts
        run = self._held.job.run_of(write)
        held = self._supervisor.topics.away or (restarts.waiting if run in restarts.open else "")
        return held or self._queries.message(write)

    # ---- what its owner may say ------------------------------------------------------------------------------------

    def await_input(self, timeout: float | None = None) -> bool:
        """Wait until every write has taken what its topics hold at this moment; return whether that came in time.

        The batch that closes windows which those records have passed is waited for too. ``timeout`` in seconds. Raises
        JobFailed when the job fails meanwhile, FD811 when a cluster is not reached.
        """
        wanted: Offsets = {}
        for step in self._sources.kafka_reads:
            with KafkaAdmin(client_properties(step.options)) as admin:
                wanted |= admin.end_offsets(topics_of(step.options, admin))
        end = None if timeout is None else time.monotonic() + timeout
        read: Mapping[str, int] = {}
        while True:
            if not read and self._queries.have_read(wanted):
                read = self._queries.batches()
            if read and self._queries.settled(read):
                return True
            if end is not None and time.monotonic() > end:
                return bool(read)
            self._join(POLL_SECONDS)
            if self._ended.is_set():
                return self.await_termination() and self._queries.have_read(wanted)

    def stop(self, *, drain: bool = False, whole: bool = False, timeout: float | None = None) -> None:
        """End the job after the running batch and wait for it. ``drain`` closes all windows first, as Flink does.

        ``whole`` leaves no batch half written: a savepoint is to be made.
        """
        self._asked.drain = self._asked.drain or drain
        self._asked.whole = self._asked.whole or whole
        self._asked.stop.set()
        if threading.current_thread() is not self._thread:
            self._join(timeout)

    def savepoint(self, target: str) -> Savepoint:
        """Make a savepoint in the folder ``target``, of a running job or one that was stopped. Raises FD822, FD859."""
        kept = self._held.checkpoint
        if kept is None or kept.temporary:
            help = "SET 'execution.checkpointing.dir' before the job is started, or run with --checkpoint"
            raise FlinkDdlError.of("FD859", f"job '{self.job.name}' keeps no checkpoint beyond its run", help=help)
        if kept.local is None or is_connect(self._held.spark):
            message = f"job '{self.job.name}' keeps its state where only Spark reads it"
            help = "stop the job and copy its checkpoint with that file system's own tools"
            raise FlinkDdlError.of("FD859", message, help=help)
        return create(kept.local, savepoint_folder(target), live=not self._ended.is_set())

    def request_stop(self, *, now: bool = False, whole: bool = False) -> None:
        """Ask the job to end after the running batch, or ``now``; returns at once (for signal handlers).

        ``whole`` as for ``stop``.
        """
        self._asked.whole = self._asked.whole or whole
        if now:
            self._asked.cut.set()
        self._asked.stop.set()

    def await_termination(self, timeout: float | None = None) -> bool:
        """Wait for the end; return whether it came within ``timeout`` seconds. Raises JobFailed or FlinkDdlError."""
        self._join(timeout)
        if self.error is not None and self._ended.is_set():
            raise self.error
        return self._ended.is_set()

    def _join(self, timeout: float | None) -> None:
        end = None if timeout is None else time.monotonic() + timeout
        while not self._ended.is_set() and (end is None or time.monotonic() < end):
            self._ended.wait(POLL_SECONDS)  # short: a signal that another thread is given does not end a long wait

    # ---- the thread ------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        spark = self._held.spark
        try:
            if self.job.streaming:
                self._supervisor.supervise()
            else:
                self._run_batch()
            self.status = "stopped" if self._asked.stop.is_set() else "finished"
        except FlinkDdlError as error:
            self.error, self.status = java_gone(spark) or error, "failed"
        except Exception as error:  # noqa: BLE001 - a thread's last word must reach await_termination
            unknown = FlinkDdlError([Diagnostic("FD901", f"the supervisor failed: {error!r}")])
            self.error, self.status = server_gone(error) or java_gone(spark) or unknown, "failed"
        finally:
            try:
                self._supervisor.leave()
                self._held.leave()
            finally:
                self._ended.set()

    def _run_batch(self) -> None:
        tag = f"flinkddl-{id(self)}"
        watcher = threading.Thread(target=self._interrupt_on_stop, args=(tag,), daemon=True)
        watcher.start()
        self._held.spark.addTag(tag)
        for write in self.job.writes:
            if self._asked.stop.is_set():
                return
            try:
                run_write(self._supervisor.round.frames[write.input], write, self.options.on_rows)
            except FlinkDdlError:
                raise
            except Exception as error:
                if self._asked.stop.is_set():
                    return
                raise self._supervisor.explained(job_failed(self.job, write, error)) from error

    def _interrupt_on_stop(self, tag: str) -> None:
        while self.status in {"starting", "running"}:
            if self._asked.stop.wait(POLL_SECONDS):
                if self.status in {"starting", "running"}:  # else the session may be gone
                    self._held.spark.interruptTag(tag)
                return


def start_job(spark: SparkSession, job: SparkJob, options: RunOptions = _AS_USUAL) -> RunningJob:
    """Start a job on a session; return its handle.

    Raises FD811-FD815 (Kafka), FD820/FD821 (checkpoint), FD830 (Spark refuses a query), FD831 (it refuses a step).
    """
    return RunningJob(spark, job, options).start()


__all__ = ["JobFailed", "RunOptions", "RunningJob", "start_job"]
