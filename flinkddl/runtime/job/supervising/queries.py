"""The streaming queries of a job: how they start, tell of their batches, fail and end.

Each carries out one write, or several together (``SparkJob.united``).
"""

from __future__ import annotations

import time
from itertools import count
from typing import TYPE_CHECKING, Any

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.job.reporting.failures import job_failed
from flinkddl.runtime.job.reporting.kept import Kept
from flinkddl.runtime.job.reporting.progress import RowTotals, by_part, in_words, read_progress
from flinkddl.runtime.job.writers import DriverSink, start_query
from flinkddl.runtime.session.connect import MemoryRows, is_connect
from flinkddl.spark.job import WithWatermark
from flinkddl.spark.reported import NOTHING, foreseen

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from flinkddl.runtime.job.reporting.failures import JobFailed
    from flinkddl.runtime.job.reporting.progress import Progress
    from flinkddl.runtime.job.writers import Rows
    from flinkddl.runtime.kafka.admin import Offsets
    from flinkddl.runtime.storage.checkpoint import Checkpoint
    from flinkddl.spark.job import SparkJob, Write
    from flinkddl.spark.reported import Foreseen

POLL_SECONDS = 0.02
STOP_SECONDS = 60.0
STOP_TIMEOUT = "spark.sql.streaming.stopTimeout"
QUIET_SECONDS = 1.0  # a wait that is shorter needs no words
Batch = tuple["Write", list["Progress"], Any]  # (a query, its batch for each of its writes, Spark's report of it)


class Queries:
    """``running`` by the name of the query, and ``latest``: the last finished batch of each write.

    ``totals`` are the rows of each write since the run began, ``kept`` is what its operators by key keep.
    """

    def __init__(self, spark: SparkSession, job: SparkJob, on_rows: Callable[[Rows], None] | None) -> None:
        self.running: dict[str, StreamingQuery] = {}
        self.latest: dict[str, Progress] = {}
        self.trigger: Mapping[str, Any] = {}
        self.job = job
        self._spark = spark
        self._foreseen: Mapping[str, Foreseen] = {}
        self._on_rows = on_rows
        self._remote_rows: dict[str, MemoryRows] = {}
        self._driver_sinks: dict[str, DriverSink] = {}
        self._tables = count()
        self._folders: dict[str, str] = {}
        self.totals: dict[str, RowTotals] = {}
        self.kept = Kept()

    def foresee(self, run: SparkJob) -> None:
        """Take the job as it runs, a source for each partition: what Spark reports is read by it."""
        self._foreseen = foreseen(run)

    def start(self, write: Write, frame: DataFrame, checkpoint: Checkpoint) -> None:
        """Start the query of a write by ``trigger``. Raises JobFailed when Spark refuses it."""
        self.kept.open(checkpoint)
        self._folders[write.name] = checkpoint.location(write.name).removeprefix(f"{checkpoint.root}/")
        try:
            self.running[write.name] = self._start(frame, write, checkpoint.location(write.name))
        except FlinkDdlError:
            raise
        except Exception as error:
            raise job_failed(self.job, write, error) from error

    def run_once(self, frame: DataFrame, write: Write, location: str, cut: Callable[[], bool]) -> None:
        """Run the query of a write over what is there, with a checkpoint of its own. Raises what it fails with.

        FD678 where ``cut`` says that its end is not to be waited for: it was asked for at the start of a job.
        """
        trigger, self.trigger = self.trigger, {"availableNow": True}
        try:
            query = self._start(frame, write, location)
        finally:
            self.trigger = trigger
        try:
            while query.isActive:
                time.sleep(POLL_SECONDS)
                if cut():
                    message = (
                        f"operators of the query into '{write.name}' were not yet filled when the end was asked for"
                    )
                    help = "nothing in the checkpoint has changed: the next start fills them"
                    raise FlinkDdlError.of("FD678", message, help=help)
            query.awaitTermination()
        finally:
            end_now({write.name: query})

    def _start(self, frame: DataFrame, write: Write, location: str) -> StreamingQuery:
        if not write.on_driver:
            return start_query(frame, write, self.trigger, location)
        if write.name not in self._driver_sinks:
            self._driver_sinks[write.name] = DriverSink(frame, write, self._on_rows)
        sink = self._driver_sinks[write.name]
        if not is_connect(self._spark):
            return start_query(frame, write, self.trigger, location, sink)
        table = f"flinkddl_rows_{next(self._tables)}"
        rows = self._remote_rows[write.name] = MemoryRows(self._spark, table, sink.take)
        return rows.start(frame, write.mode, location, self.trigger)

    def active(self) -> list[str]:
        """Return the queries that have not ended."""
        return [name for name, query in self.running.items() if query.isActive]

    def quiet(self) -> bool:
        """Whether every query has read all there is and waits."""
        return all(map(_quiet, self.running.values()))

    def batches(self) -> dict[str, int]:
        """Return the number of the last finished batch of each write."""
        return {name: record.batch for name, record in self.latest.items()}

    def settled(self, read: Mapping[str, int]) -> bool:
        """Whether what these batches read has closed its windows, which Spark does in the next batch, if there is one.

        A real-time batch is not waited for: it lasts for minutes.
        """
        timed = any(isinstance(step, WithWatermark) for step in self.job.steps)
        if not timed or self.job.trigger[0] == "realTime":
            return True
        now, running = self.batches(), {w.name: self.running.get(self.job.run_of(w.name)) for w in self.job.writes}
        return all(now[name] > n or (query := running[name]) is None or _quiet(query) for name, n in read.items())

    def has_batch(self, run: str) -> bool:
        """Whether a query has finished a batch."""
        return any(self.job.run_of(write) == run for write in self.latest)

    def message(self, write: str) -> str:
        """Return what the query of a write does, in a few words; nothing where none runs."""
        query = self.running.get(self.job.run_of(write))
        try:
            return in_words(str(query.status["message"])) if query is not None and query.isActive else ""
        except Exception:  # noqa: BLE001 - Java or the server may be gone: the supervisor says so
            return ""

    def collect(self) -> Iterator[Batch]:
        """Yield the batches that have finished since the last call, each noted as the latest of its writes."""
        for run in self.job.runs:
            query = self.running.get(run.name)
            if query is None:
                continue
            if run.name in self._remote_rows:
                self._remote_rows[run.name].poll(query)
            writes = self.job.parts_of(run)
            before = self.latest.get(writes[0].name)
            for event in _events(query, -1 if before is None else before.batch):
                record = read_progress(run.name, run.table, event, foreseen=self._foreseen.get(run.name, NOTHING))
                if before is None or (record.batch, record.time) > (before.batch, before.time):
                    record = self.kept.add(self._folders.get(run.name, run.name), str(event["id"]), record)
                    records = by_part(record, writes, event) if run.parts else [record]
                    for one in records:
                        self.totals.setdefault(one.write, RowTotals()).add(one)
                    self.latest |= {r.write: r for r in records}
                    before = record
                    yield run, records, event

    def read_so_far(self) -> Offsets:
        """Return the offsets that every write has read to: the smallest over the writes that read a topic."""
        ends: Offsets = {}
        for record in self.latest.values():
            for topic, places in record.ends.items():
                known = ends.setdefault(topic, dict(places))
                known |= {p: min(o, known.get(p, o)) for p, o in places.items()}
        return ends

    def have_read(self, wanted: Offsets) -> bool:
        """Whether every write has read to these offsets."""
        if len(self.latest) < len(self.job.writes):
            return False
        read = self.read_so_far()
        return all(o <= read.get(t, {}).get(p, 0) for t, places in wanted.items() for p, o in places.items())

    def failures(self, known: Collection[str]) -> Iterator[JobFailed]:
        """Yield what has failed, but for the queries that are known of."""
        for run in self.job.runs:
            query = self.running.get(run.name)
            error = None if query is None or run.name in known else query.exception()
            if error is not None:
                yield job_failed(self.job, run, error)

    def goes_on(self, write: str) -> bool:
        """Whether the query of a write can be started again: a memory sink of a Connect server has no checkpoint."""
        return write not in self._remote_rows


def _events(query: StreamingQuery, seen: int) -> list[Any]:
    """Return the progress events that may be new: usually the last one alone, which is cheap to ask for."""
    last = query.lastProgress
    if last is None:
        return []
    return [last] if last["batchId"] <= seen + 1 else list(query.recentProgress)


def _quiet(query: StreamingQuery) -> bool:
    status = query.status
    return not status["isTriggerActive"] and not status["isDataAvailable"]


# ---- ending: between two batches where that can be waited for, else at once ------------------------------------------


def end_between_batches(
    queries: Mapping[str, StreamingQuery], cut: Callable[[], bool], say: Callable[[str], None]
) -> None:
    """Stop each query when its running batch is over, until ``cut`` says so, or for STOP_SECONDS.

    What is left then is ``end_now``'s: a batch that is cut off is written again by the next run.
    """
    first = {name: query.lastProgress for name, query in queries.items()}
    began, told = time.monotonic(), False
    open_queries = dict(queries)
    while open_queries and not cut() and time.monotonic() < began + STOP_SECONDS:
        for name, query in list(open_queries.items()):
            batch_over = _batch_of(query.lastProgress) != _batch_of(first[name])
            if not query.isActive or not query.status["isTriggerActive"] or batch_over:
                query.stop()
                del open_queries[name]
        if open_queries and not told and time.monotonic() > began + QUIET_SECONDS:
            say(f"stopping after the running batch, within {STOP_SECONDS:.0f} s; a second signal cuts it off")
            told = True
        time.sleep(POLL_SECONDS)


def end_now(queries: Mapping[str, StreamingQuery]) -> list[str]:
    """Stop all queries, within a batch or not; return those that did not end within Spark's ``stopTimeout``.

    Kafka's clients are not interrupted while they wait for a cluster: such a query ends when they give up.
    """
    return [name for name, query in queries.items() if query.isActive and not _stopped(query)]


def _stopped(query: StreamingQuery) -> bool:
    try:
        query.stop()
    except Exception as error:
        if STOP_TIMEOUT not in str(error):
            raise
        return False
    return True


def _batch_of(progress: Any) -> int | None:
    return None if progress is None else int(progress["batchId"])
