"""Runs a SparkJob: session, sources, steps, one query a write, and a supervisor that ends them together."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from flinkddl.diagnostics import Diagnostic, FlinkDdlError
from flinkddl.lower.partitions import can_name
from flinkddl.lower.restarts import TYPE
from flinkddl.runtime.job.cores import check_cores
from flinkddl.runtime.job.ending import STOP_TIMEOUT, end_between_batches, end_now, stop_on_signals
from flinkddl.runtime.job.failures import JobFailed, job_failed, lost_place, with_first
from flinkddl.runtime.job.gone_topics import with_topic
from flinkddl.runtime.job.group_commits import GroupCommits
from flinkddl.runtime.job.idle import IdlePartitions
from flinkddl.runtime.job.opening import open_held
from flinkddl.runtime.job.queries import Queries
from flinkddl.runtime.job.restarts import Restarts, strategy_of, with_help
from flinkddl.runtime.job.run_options import RunOptions
from flinkddl.runtime.job.sources import Sources, other_partitions
from flinkddl.runtime.job.steps import build_frames
from flinkddl.runtime.job.topic_ids import check_topics
from flinkddl.runtime.job.topic_watch import TopicWatch
from flinkddl.runtime.job.writers import run_write, trigger_arguments
from flinkddl.runtime.kafka.admin import KafkaAdmin, Offsets
from flinkddl.runtime.kafka.offsets import await_stops, client_properties, topics_of
from flinkddl.runtime.machine.aside import Aside
from flinkddl.runtime.session.classes import check_classes
from flinkddl.runtime.session.connect import check_kafka, close_session, is_connect, server_gone
from flinkddl.runtime.session.gone import has_java, java_gone
from flinkddl.runtime.session.sessions import job_session
from flinkddl.runtime.storage.checkpoint import Checkpoint, changed_partitions, forget_stops, kept_stops, mark_drained
from flinkddl.runtime.udf import register

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

    from flinkddl.lower.job import SparkJob, Write
    from flinkddl.runtime.job.progress import Progress
    from flinkddl.runtime.storage.hold import Hold

Status = Literal["starting", "running", "finished", "stopped", "failed"]
POLL_SECONDS = 0.1
_AS_USUAL = RunOptions()
CUT_OFF = "5s"
OUTAGE_SECONDS = 120.0  # a query may notice so late that its cluster was away: Kafka's clients have long timeouts
PARTITIONS = "spark.flinkddl.partitions."  # ScalarWatermark.java asks for it


class RunningJob:
    """A started job. Its queries live and end together; all methods may be called from any thread."""

    def __init__(self, spark: SparkSession, job: SparkJob, options: RunOptions) -> None:
        self.job = job
        self.options = options
        self.status: Status = "starting"
        self.error: FlinkDdlError | None = None
        self._spark = job_session(spark, job.settings)
        self._checkpoint: Checkpoint | None = None
        self._hold: Hold | None = None
        self._queries = Queries(self._spark, job, options.on_rows)
        self._stop = threading.Event()
        self._cut = threading.Event()
        self._drain = False
        self._thread = threading.Thread(target=self._run, name=f"flinkddl {job.name}", daemon=True)
        self._ended = threading.Event()  # not is_alive(): up to Python 3.12 a Ctrl-C in join() ends a thread in name
        self._ended.set()
        self._looked_at = time.monotonic()
        self._grown: Aside[dict[str, list[str]]] = Aside()
        self._restarts = Restarts(strategy_of(job, options.checkpoint))

    # what its owner may ask

    @property
    def progress(self) -> tuple[Progress, ...]:
        """The last finished batch of each write, with what the query waits for now."""
        return tuple(replace(p, waiting=self._waiting(name)) for name, p in self._queries.latest.items())

    @property
    def lag(self) -> dict[str, int]:
        """Records not yet read per topic, as of the last batch."""
        return {topic: n for p in self._queries.latest.values() for topic, n in p.lag.items()}

    @property
    def lost(self) -> dict[str, int]:
        """Records per topic that were deleted before they were read, as far as this run has seen."""
        return dict(self._watch_topics.lost)

    @property
    def waiting(self) -> str:
        """What the job waits for, in words: a cluster that is away, a restart; nothing where all its queries run."""
        return self._watch_topics.away or self._restarts.waiting

    @property
    def restarts(self) -> int:
        """How often a query of the job was started again after a failure."""
        return self._restarts.count

    @property
    def last_failure(self) -> str:
        """Why a query failed last, in one line; nothing where none has."""
        return self._restarts.last

    def await_input(self, timeout: float | None = None) -> bool:
        """Wait until every write has taken what its topics hold at this moment; return whether that came in time.

        ``timeout`` in seconds. Raises JobFailed when the job fails meanwhile, FD811 when a cluster is not reached.
        """
        wanted: Offsets = {}
        for step in self._sources.kafka_reads:
            with KafkaAdmin(client_properties(step.options)) as admin:
                wanted |= admin.end_offsets(topics_of(step.options, admin))
        end = None if timeout is None else time.monotonic() + timeout
        while not self._queries.have_read(wanted):
            if end is not None and time.monotonic() > end:
                return False
            self._join(POLL_SECONDS)
            if self._ended.is_set():
                return self.await_termination() and self._queries.have_read(wanted)
        return True

    def stop(self, *, drain: bool = False, timeout: float | None = None) -> None:
        """End the job after the running batch and wait for it. ``drain`` closes all windows first, as Flink does."""
        self._drain = self._drain or drain
        self._stop.set()
        if threading.current_thread() is not self._thread:
            self._join(timeout)

    def request_stop(self, *, now: bool = False) -> None:
        """Ask the job to end after the running batch, or ``now``; returns at once (for signal handlers)."""
        if now:
            self._cut.set()
        self._stop.set()

    def await_termination(self, timeout: float | None = None) -> bool:
        """Wait for the end; return whether it came within ``timeout`` seconds. Raises JobFailed or FlinkDdlError."""
        self._join(timeout)
        if self.error is not None and self._ended.is_set():
            raise self.error
        return self._ended.is_set()

    def _join(self, timeout: float | None) -> None:
        end = None if timeout is None else time.monotonic() + timeout
        while not self._ended.is_set() and (end is None or time.monotonic() < end):
            self._ended.wait(POLL_SECONDS)  # short waits, so that Python signal handlers get their turn

    def _waiting(self, write: str) -> str:
        held = self._watch_topics.away or (self._restarts.waiting if write in self._restarts.open else "")
        return held or self._queries.message(write)

    # the run

    def start(self) -> RunningJob:
        """Prepare in the caller's thread, so that mistakes are raised here, then go on in the background."""
        try:
            for name, target in self.job.udfs.items():
                register(self._spark, name, target)
            if self.job.streaming:
                self._checkpoint, self._hold = open_held(self._spark, self.job, self.options)
            self._sources = Sources(
                self.job,
                self._checkpoint,
                max_offsets_per_trigger=self.options.max_offsets_per_trigger,
                frames=self.options.frames,
            )
            if is_connect(self._spark) and self._sources.uses_kafka:
                check_kafka(self._spark)
            check_classes(self._spark, self.job)
            self._commits = GroupCommits(self._sources, self.options.notice, lambda: self._watch_topics.answers)
            self._sources.preflight()
            check_cores(self._spark, self.job)
            self._check_topics()
            self._sources.split()
            self._tell_partitions()
            self._sources.fix_stops()
            if self._checkpoint is not None:
                started = [self._checkpoint.started(w.name) for w in self.job.writes]
                self._sources.resumes = all(started)
                self._sources.stops = kept_stops(self._checkpoint, self._sources.stops, known=any(started))
                self._check_partitions(self._checkpoint)
            self._await_stops()
            self._frames = build_frames(self._spark, self._sources.run, self._sources.open)
            self._idle = IdlePartitions(self._sources)
            if self.job.streaming:
                self._start_queries()
        except BaseException as error:
            gone = java_gone(self._spark) if isinstance(error, Exception) else None
            self._leave()
            self.status = "failed"
            if gone is not None:
                raise gone from error
            raise
        if self.job.streaming:
            self._watch_topics.start()
        self.status = "running"
        self._ended.clear()
        self._thread.start()
        return self

    def _check_topics(self) -> None:
        known = check_topics(self._sources, self._checkpoint, self.options.from_first, self.options.notice)
        self._sources.raised = known.raised
        self._watch_topics = TopicWatch(
            self._sources, known, self.options.warning or self.options.notice, self._queries.read_so_far
        )

    def _check_partitions(self, checkpoint: Checkpoint) -> None:
        if self._sources.apart and not self._sources.named:
            changed = changed_partitions(checkpoint, self._sources.apart, known=self._sources.resumes)
            if changed:
                raise other_partitions(changed)

    def _tell_partitions(self) -> None:
        for read in self._sources.places:
            self._spark.conf.set(f"{PARTITIONS}{read}", str(self._sources.count(read)))

    def _await_stops(self) -> None:
        for step in self._sources.kafka_reads:
            if step.name in self._sources.stops:
                with KafkaAdmin(client_properties(step.options)) as admin:
                    stops = self._sources.stops[step.name]
                    await_stops(stops, admin, self.options.notice, self._asked)

    def _asked(self) -> bool:
        """Whether the end was asked for; who waits for ``start`` has no handle yet, and says so by its options."""
        if self.options.asked():
            self._stop.set()
        return self._stop.is_set()

    def _start_queries(self, trigger: Mapping[str, Any] | None = None) -> None:
        self._queries.trigger = trigger or trigger_arguments(self.job.trigger)
        for write in self.job.writes:
            self._start_write(write)

    def _start_write(self, write: Write) -> None:
        assert self._checkpoint is not None
        self._queries.start(write, self._frames[write.input], self._checkpoint)

    def _run(self) -> None:
        try:
            if self.job.streaming:
                self._supervise()
            else:
                self._run_batch()
            self.status = "stopped" if self._stop.is_set() else "finished"
        except FlinkDdlError as error:
            self.error, self.status = java_gone(self._spark) or error, "failed"
        except Exception as error:  # noqa: BLE001 - a thread's last word must reach await_termination
            unknown = FlinkDdlError([Diagnostic("FD901", f"the supervisor failed: {error!r}")])
            self.error, self.status = server_gone(error) or java_gone(self._spark) or unknown, "failed"
        finally:
            try:
                with suppress(FlinkDdlError):  # it has ended: what it reads is no matter any more
                    self._watch_topics.stop()
                self._leave()
            finally:
                self._ended.set()

    def _run_batch(self) -> None:
        tag = f"flinkddl-{id(self)}"
        watcher = threading.Thread(target=self._interrupt_on_stop, args=(tag,), daemon=True)
        watcher.start()
        self._spark.addTag(tag)
        for write in self.job.writes:
            if self._stop.is_set():
                return
            try:
                run_write(self._frames[write.input], write, self.options.on_rows)
            except FlinkDdlError:
                raise
            except Exception as error:
                if self._stop.is_set():
                    return
                raise self._explained(job_failed(self.job, write, error)) from error

    def _interrupt_on_stop(self, tag: str) -> None:
        while self.status in {"starting", "running"}:
            if self._stop.wait(POLL_SECONDS):
                if self.status in {"starting", "running"}:  # else the session may be gone
                    self._spark.interruptTag(tag)
                return

    def _supervise(self) -> None:
        self._watch()
        bounded = self.job.trigger[0] == "availableNow"
        if (bounded and not self._stop.is_set()) or self._drain:
            self._end_input(bounded=bounded)
        if self._checkpoint is not None and not self._stop.is_set():
            forget_stops(self._checkpoint)

    def _watch(self) -> None:
        """Follow the queries until all have ended, one fails for good, or a stop is asked for."""
        while True:
            active = self._queries.active()
            self._collect()
            self._watch_topics.tell()
            if self._stop.is_set() and (active or self._restarts.open):
                self._stop_after_batch()
                return
            self._take_failures()
            if not self._restart() and not active and not self._restarts.open:
                self._commits.last(self._queries.read_so_far())
                return
            self._commits.commit(self._queries.read_so_far)
            if not self._restarts.open and self._watch_topics.answers:
                if self._idle:
                    self._idle.move(quiet=self._queries.quiet())
                self._look_for_partitions()
            time.sleep(POLL_SECONDS)

    def _take_failures(self) -> None:
        """Plan the restart of what has failed. Raises what no restart follows."""
        if self._hold is not None:
            self._hold.check()
        for failed in self._failures():
            self._plan(failed)

    def _plan(self, failed: JobFailed) -> None:
        late = self._watch_topics.was_away(OUTAGE_SECONDS)
        if self._restarts.strategy.kind == "none" and late:
            rest = failed.diagnostics[0].help
            raise with_help(failed, f"SET '{TYPE}' = 'exponential-delay' lets a job wait for its cluster; {rest}")
        said = self._restarts.failed(failed, begun=late or failed.write in self._queries.latest)
        if not late:  # else it was told when the cluster went, and is when it comes back
            self.options.notice(said)

    def _restart(self) -> bool:
        """Start again what is due, once the clusters answer; return whether anything was."""
        if not self._restarts.due or not self._watch_topics.answers:
            return False
        names = self._restarts.take()
        self._idle.wake()
        for write in self.job.writes:
            if write.name in names:
                try:
                    self._start_write(write)
                except JobFailed as error:
                    self._plan(error)
        return True

    def _look_for_partitions(self) -> None:
        """Go on with a branch more where a topic has got a partition; offsets and state stay."""
        every = self._sources.discovery_ms / 1000
        if not every or self.job.trigger[0] == "availableNow":
            return
        try:
            found = self._grown.take()
        except FlinkDdlError:  # the cluster is away, or the topic: the query says so when it matters
            return
        if not found and time.monotonic() - self._looked_at >= every:
            self._looked_at = time.monotonic()
            self._grown.start(self._sources.grown)
        if not found:
            return
        if not self._sources.named:
            raise other_partitions(p for new in found.values() for p in new)
        self.options.notice(f"new partitions: {', '.join(p for new in found.values() for p in new)}; read from now on")
        self._end_between_batches()
        self._collect()
        assert self._checkpoint is not None
        self._sources.split()
        self._tell_partitions()
        self._sources.resumes = all(self._checkpoint.started(w.name) for w in self.job.writes)
        self._frames = build_frames(self._spark, self._sources.run, self._sources.open)
        self._idle = IdlePartitions(self._sources)
        self._start_queries()

    def _end_input(self, *, bounded: bool) -> None:
        """Run the last round: one far-future row a control stream, what is behind the stops is not read."""
        if not self._sources.control_reads:
            return
        assert self._checkpoint is not None
        if not bounded:
            ends = self._queries.read_so_far()
            for step in self._sources.kafka_reads:
                self._sources.stops[step.name] = ends
        self._sources.end_input()
        self._sources.resumes = True
        stopped = self._stop.is_set()
        self._stop.clear()
        self._frames = build_frames(self._spark, self._sources.run, self._sources.open)
        self._start_queries({"availableNow": True})
        self._watch()
        mark_drained(self._checkpoint, self.job)
        if stopped:
            self._stop.set()

    # batches, failures, ends

    def _collect(self) -> None:
        for write, record, event in self._queries.collect():
            self._idle.batch(write.name, event)
            self._watch_topics.batch(write.name, event, can_name(self.job.steps, [write]))
            if self.options.on_progress is not None:
                self.options.on_progress(record)

    def _failures(self) -> Iterator[JobFailed]:
        """Yield the queries that have failed, but for those that are to be started again."""
        for failed in self._queries.failures(self._restarts.open):
            if lost_place(failed.text) is not None:
                self._watch_topics.settle()  # raises FD865
            if not self._queries.goes_on(failed.write):
                raise self._explained(failed)
            yield self._explained(failed)

    def _explained(self, failed: JobFailed) -> JobFailed:
        return with_topic(with_first(failed, self._watch_topics.first), self._sources)

    def _stop_after_batch(self) -> None:
        """Stop each query between two batches: a batch that is cut off would be written again by the next run.

        A SELECT has no next run, unless it is drained, and is cut off at once.
        """
        if not self._drain and all(write.format == "flinkddl.collect" for write in self.job.writes):
            self._cut_off()
        else:
            self._end_between_batches()
        self._collect()
        self._commits.last(self._queries.read_so_far())
        if self._hold is not None:
            with suppress(FlinkDdlError):
                self._hold.check()
        with suppress(FlinkDdlError):
            for failed in self._failures():  # such as a Python worker that was sent the same signal
                self.options.notice(f"the last batch is run again by the next run: {failed.diagnostics[0].message}")

    def _end_between_batches(self) -> None:
        """A real-time batch lasts for minutes and is not waited for: what it read is read again by the next run."""
        if self.job.trigger[0] != "realTime":
            end_between_batches(self._queries.running, self._hopeless, self.options.notice)
        elif self._checkpoint is not None and not self._checkpoint.temporary:
            self.options.notice("stopping: what was read since the last checkpoint is read again by the next run")
        self._cut_off()

    def _cut_off(self) -> None:
        """Stop what still runs; what waits for a cluster that is away is given few seconds, and then left to itself."""
        if self._hopeless():
            self._spark.conf.set(STOP_TIMEOUT, CUT_OFF)
        for name in end_now(self._queries.running):
            del self._queries.running[name]
            self.options.notice(f"the query into '{name}' is cut off: its last batch is run again by the next run")

    def _hopeless(self) -> bool:
        """Whether the end of a running batch is not to be waited for."""
        return self._cut.is_set() or not self._watch_topics.answers

    def _leave(self) -> None:
        """Leave nothing behind: no query, no temporary folder, no session on a Connect server."""
        put_back = [x for x in (self._hold and self._hold.release, self._checkpoint and self._checkpoint.remove) if x]
        if is_connect(self._spark):
            with suppress(Exception):  # the server may be gone, and its queries with it
                end_now(self._queries.running)
            self._queries.running.clear()
            close_session(self._spark, put_back)
            return
        if not has_java(self._spark):
            self._queries.running.clear()
            for call in put_back:
                with suppress(Exception):  # a checkpoint of another file system went through Java
                    call()
            return
        end_now(self._queries.running)
        for call in put_back:
            call()


def start_job(spark: SparkSession, job: SparkJob, options: RunOptions = _AS_USUAL) -> RunningJob:
    """Start a job on a session; return its handle.

    Raises FD811-FD815 (Kafka), FD820/FD821 (checkpoint), FD830 (Spark refuses a query), FD831 (it refuses a step).
    """
    return RunningJob(spark, job, options).start()


__all__ = ["JobFailed", "RunOptions", "RunningJob", "start_job", "stop_on_signals"]
