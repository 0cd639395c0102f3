"""Follows the queries of a streaming job round by round, and ends them together."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.job.reporting.failures import JobFailed, lost_place, with_first
from flinkddl.runtime.job.steps import build_frames
from flinkddl.runtime.job.supervising.queries import STOP_TIMEOUT, end_between_batches, end_now
from flinkddl.runtime.job.supervising.restarts import Restarts, strategy_of, with_help
from flinkddl.runtime.job.topics.flow import FlowWatch
from flinkddl.runtime.job.topics.gone_topics import with_topic
from flinkddl.runtime.job.topics.group_commits import GroupCommits
from flinkddl.runtime.job.topics.idle import IdlePartitions
from flinkddl.runtime.job.topics.sources import other_partitions
from flinkddl.runtime.job.topics.topic_watch import TopicWatch
from flinkddl.runtime.job.topics.walls import WallClock
from flinkddl.runtime.machine.aside import Aside
from flinkddl.runtime.storage.checkpoint import forget_stops, is_kept, mark_drained
from flinkddl.spark.calls import trigger_of
from flinkddl.spark.partitions import can_name
from flinkddl.spark.restarts import TYPE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from flinkddl.runtime.job.supervising.held import Held
    from flinkddl.runtime.job.topics.sources import Sources
    from flinkddl.runtime.job.topics.topic_ids import KnownTopics
    from flinkddl.spark.job import Write

POLL_SECONDS = 0.1
PARTITIONS = "spark.flinkddl.partitions."  # ScalarWatermark.java asks for it
LAST: Mapping[str, Any] = {"availableNow": True}  # the trigger of the round that ends a job's input
CUT_OFF = "5s"
OUTAGE_SECONDS = 120.0  # a query may notice so late that its cluster was away: Kafka's clients have long timeouts


@dataclass
class Asked:
    """The end that is asked for: ``stop`` after the running batch, ``cut`` within it, ``drain`` with windows closed.

    ``whole``: with nothing half written, as a savepoint wants it.
    """

    stop: threading.Event = field(default_factory=threading.Event)
    cut: threading.Event = field(default_factory=threading.Event)
    drain: bool = False
    whole: bool = False


class Round:
    """From one start of all queries to the next: a job's first, and another when a partition or the end has come."""

    def __init__(self, held: Held, sources: Sources) -> None:
        self._held = held
        for read in sources.places:
            held.spark.conf.set(f"{PARTITIONS}{read}", str(sources.count(read)))
        self.frames = build_frames(held.spark, sources.run, sources.open)
        held.queries.foresee(sources.run)
        self.idle = IdlePartitions(sources)
        self.wall = WallClock(sources)

    def start(self, trigger: Mapping[str, Any] | None = None) -> None:
        """Start all queries, by the job's trigger or another. Raises JobFailed when Spark refuses one."""
        self._held.queries.trigger = trigger or trigger_of(self._held.job)
        for run in self._held.job.runs:
            self.start_run(run)

    def start_run(self, run: Write) -> None:
        """Start a query, by the trigger of the round."""
        assert self._held.checkpoint is not None
        self._held.queries.start(run, self.frames[run.input], self._held.checkpoint)


class Supervisor:
    """The rounds of a job. ``topics`` watches over what it reads, ``restarts`` knows what has failed."""

    def __init__(self, held: Held, sources: Sources, known: KnownTopics, asked: Asked) -> None:
        self._held, self._sources, self._asked = held, sources, asked
        self._job, self._options, self._queries = held.job, held.options, held.queries
        warning = self._options.warning or self._options.notice
        self.topics = TopicWatch(sources, known, warning, self._queries.read_so_far)
        self.restarts = Restarts(strategy_of(self._job, self._options.checkpoint))
        self.round = Round(held, sources)
        self.flow = FlowWatch(self._job, sources, self._options.on_flow)
        self._commits = GroupCommits(sources, self._options.notice, lambda: self.topics.answers)
        self._ended = False  # whether the input's end is told with its rows
        self._looked_at = time.monotonic()
        self._grown: Aside[dict[str, list[str]]] = Aside()

    def start(self) -> None:
        """Start the first round, once the checkpoint is the job's."""
        self._sources.checkpoint = self._held.settle(self._sources.run, self.round.frames, self._end_is_asked)
        self._ended = self._sources.end_with_all()
        self.flow.start()
        self.round.start()
        self.topics.start()

    def _end_is_asked(self) -> bool:
        """Whether the end was asked for: while it starts a job has no handle yet, and the caller's options say so."""
        return self._options.asked() or self._asked.stop.is_set()

    def supervise(self) -> None:
        """Follow the queries to their end. Raises JobFailed, FD823, FD817, FD865, FD891."""
        self._watch()
        bounded = self._job.trigger[0] == "availableNow"
        if (bounded and not self._asked.stop.is_set()) or self._asked.drain:
            self._end_input(bounded=bounded)
        if self._asked.whole:
            self._finish()
        if self._held.checkpoint is not None and not self._asked.stop.is_set():
            forget_stops(self._held.checkpoint)

    def leave(self) -> None:
        """End the watch over topics; what waits for a cluster or a topic that is gone does not hold the job's end."""
        self._wait_briefly_for_the_hopeless()
        self.flow.stop()
        self._queries.kept.save(last=True)
        with suppress(FlinkDdlError):  # the job has ended: what it reads is no matter any more
            self.topics.stop()

    def explained(self, failed: JobFailed) -> JobFailed:
        """Return a failure in the words of what is known of the topics."""
        return with_topic(with_first(failed, self.topics.first), self._sources)

    def _watch(self) -> None:
        """Follow the queries until all have ended, one fails for good, or a stop is asked for."""
        while True:
            active = self._queries.active()
            self._collect()
            self.topics.tell()
            if self._asked.stop.is_set() and (active or self.restarts.open):
                self._stop_after_batch()
                return
            self._take_failures()
            if not self._restart() and not active and not self.restarts.open:
                self._commits.last(self._queries.read_so_far())
                return
            self._commits.commit(self._queries.read_so_far)
            if self.round.wall and self.topics.answers:
                self.round.wall.move(self.restarts.open)
            if not self.restarts.open and self.topics.answers:
                if self.round.idle:
                    self.round.idle.move(quiet=self._queries.quiet())
                self._look_for_partitions()
            time.sleep(POLL_SECONDS)

    def _collect(self) -> None:
        for run, records, event in self._queries.collect():
            self.round.idle.batch(run.name, event)
            self.round.wall.batch(run.name, event)
            self.topics.batch(run.name, event, can_name(self._job.steps, [run]))
            self.flow.batch(run.name, event)
            if self._options.on_progress is not None:
                for record in records:
                    self._options.on_progress(record)
        self._queries.kept.save()

    # ---- failures --------------------------------------------------------------------------------------------------

    def _take_failures(self) -> None:
        """Plan the restart of what has failed. Raises what no restart follows."""
        self._held.check()
        for failed in self._failures():
            self._plan(failed)

    def _failures(self) -> Iterator[JobFailed]:
        """Yield the queries that have failed, but for those that are to be started again."""
        for failed in self._queries.failures(self.restarts.open):
            if lost_place(failed.text) is not None:
                self.topics.settle()  # raises FD865
            if not self._queries.goes_on(failed.write):
                raise self.explained(failed)
            yield self.explained(failed)

    def _plan(self, failed: JobFailed) -> None:
        late = self.topics.was_away(OUTAGE_SECONDS)
        if self.restarts.strategy.kind == "none" and late and not failed.of_records:
            rest = failed.diagnostics[0].help
            raise with_help(failed, f"SET '{TYPE}' = 'exponential-delay' lets a job wait for its cluster; {rest}")
        said = self.restarts.failed(failed, begun=late or self._queries.has_batch(failed.write))
        if not late:  # else it was told when the cluster went, and is when it comes back
            self._options.notice(said)

    def _restart(self) -> bool:
        """Start again what is due, once the clusters answer; return whether anything was."""
        if not self.restarts.due or not self.topics.answers:
            return False
        names = self.restarts.take()
        self.round.idle.wake()
        self.round.wall.wake(names)
        for run in self._job.runs:
            if run.name in names:
                try:
                    self.round.start_run(run)
                except JobFailed as error:
                    self._plan(error)
        return True

    # ---- another round ---------------------------------------------------------------------------------------------

    def _look_for_partitions(self) -> None:
        """Go on with a branch more where a topic has got a partition; offsets and state stay. Raises FD817."""
        found = self._new_partitions()
        if not found:
            return
        new = [place for places in found.values() for place in places]
        if not self._sources.named:
            raise other_partitions(new)
        self._options.notice(f"new partitions: {', '.join(new)}; read from now on")
        self._end_between_batches()
        self._collect()
        self._sources.split()
        self._sources.resumes = all(self._held.started)
        self._another_round()

    def _new_partitions(self) -> dict[str, list[str]]:
        """Return, by read, the partitions that an earlier look has found; look again when it is time."""
        every = self._sources.discovery_ms / 1000
        if not every or self._job.trigger[0] == "availableNow":
            return {}
        try:
            found = self._grown.take()
        except FlinkDdlError:  # the cluster is away, or the topic: the query says so when it matters
            return {}
        if not found and time.monotonic() - self._looked_at >= every:
            self._looked_at = time.monotonic()
            self._grown.start(self._sources.grown)
        return found or {}

    def _end_input(self, *, bounded: bool) -> None:
        """Run the last round: one far-future row a control stream, what is behind the stops is not read."""
        if not self._sources.control_reads:
            return
        assert self._held.checkpoint is not None
        if self._ended and not self._asked.stop.is_set():
            mark_drained(self._held.checkpoint, self._job)
            return
        if not bounded:
            ends = self._queries.read_so_far()
            for step in self._sources.kafka_reads:
                self._sources.stops[step.name] = ends
        if not self._ended:
            self._sources.end_input()
        self._sources.resumes = all(self._held.started)  # who asks for the end early may find a query that has no batch
        stopped = self._asked.stop.is_set()
        self._asked.stop.clear()
        self._another_round(LAST)
        self._watch()
        mark_drained(self._held.checkpoint, self._job)
        if stopped:
            self._asked.stop.set()

    def _finish(self) -> None:
        """Run to its end the batch that the stop has cut off, if any: an exactly-once sink may have written it."""
        checkpoint = self._held.checkpoint
        if checkpoint is None or all(checkpoint.whole(run.name) for run in self._job.runs):
            return
        self._options.notice("running the last batch to its end, for the savepoint")
        self._sources.resumes = True
        self._asked.stop.clear()
        try:
            self._another_round(LAST)
            self._watch()
        finally:
            self._asked.stop.set()

    def _another_round(self, trigger: Mapping[str, Any] | None = None) -> None:
        self.round = Round(self._held, self._sources)
        self.round.start(trigger)

    # ---- ends ------------------------------------------------------------------------------------------------------

    def _stop_after_batch(self) -> None:
        """Stop each query between two batches: a batch that is cut off would be written again by the next run.

        A SELECT has no next run, unless it is drained, and is cut off at once.
        """
        if not self._asked.drain and all(write.format == "flinkddl.collect" for write in self._job.writes):
            self._cut_off()
        else:
            self._end_between_batches()
        self._collect()
        self._commits.last(self._queries.read_so_far())
        with suppress(FlinkDdlError):
            self._held.check()
        with suppress(FlinkDdlError):
            for failed in self._failures():  # such as a Python worker that was sent the same signal
                said = failed.diagnostics[0].message
                self._options.notice(f"the last batch is run again by the next run: {said}")

    def _end_between_batches(self) -> None:
        """A real-time batch lasts for minutes and is not waited for: what it read is read again by the next run."""
        if self._job.trigger[0] != "realTime":
            end_between_batches(self._queries.running, self._hopeless, self._options.notice)
        elif is_kept(self._held.checkpoint):
            self._options.notice("stopping: what was read since the last checkpoint is read again by the next run")
        self._cut_off()

    def _cut_off(self) -> None:
        """Stop what still runs; what waits for a cluster that is away is given few seconds, and then left to itself."""
        self._wait_briefly_for_the_hopeless()
        for name in end_now(self._queries.running):
            del self._queries.running[name]
            self._options.notice(f"the query into '{name}' is cut off: its last batch is run again by the next run")

    def _wait_briefly_for_the_hopeless(self) -> None:
        if not self._hopeless():
            return
        with suppress(Exception):  # Java may be gone, and its queries with it
            self._held.spark.conf.set(STOP_TIMEOUT, CUT_OFF)

    def _hopeless(self) -> bool:
        """Whether the end of a running batch is not to be waited for: a producer waits a minute for a lost topic."""
        return self._asked.cut.is_set() or self.topics.error is not None or not self.topics.answers
