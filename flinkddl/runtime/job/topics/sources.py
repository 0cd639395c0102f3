"""Opening the sources of a job: Kafka positions, stop filters, and the control streams that end the input.

Where each partition has a watermark of its own, the job is split once its partitions are known (``run``).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.plan.identity import digest
from flinkddl.runtime.job.steps import perform
from flinkddl.runtime.job.topics.offset_order import raised
from flinkddl.runtime.kafka.admin import KafkaAdmin, Offsets
from flinkddl.runtime.kafka.offsets import (
    EARLIEST,
    assigned,
    client_properties,
    of_partitions,
    partitions_of,
    spark_options,
    stop_condition,
    stop_offsets,
)
from flinkddl.runtime.kafka.sink_needs import check_sink, check_version
from flinkddl.runtime.kafka.tiered import patient
from flinkddl.runtime.storage.checkpoint import END_FILE, WITH_ALL_FILE
from flinkddl.runtime.storage.files import missing
from flinkddl.spark import job as J
from flinkddl.spark.calls import read_calls
from flinkddl.spark.context import TICK
from flinkddl.spark.partitions import LIMIT, NAMED_SOURCES, Places, apart, counted, share, source_name, split

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from flinkddl.runtime.storage.checkpoint import Checkpoint
    from flinkddl.runtime.storage.file_systems import Storage

LIMITED = "PerTrigger"  # how Spark's options end that bound a batch of a stream
END_OF_TIME = "2200-01-01T00:00:00.000Z"  # behind the filter `rowtime < TIMESTAMP '2199-01-01'` of the lowering


@dataclass
class Sources:
    """Opens the reads of one job.

    ``frames``: the views that hold the user's own DataFrames, by name; ``spool``: where batch ones of a stream are
    written down that has no checkpoint. ``resumes``: every query goes on from its
    checkpoint, so start modes are not looked up. ``stops`` are exclusive ends per read name, fixed when the job starts;
    a drain narrows them to what was read. ``places`` are the partitions per read name, known after ``preflight``;
    ``run`` is the job with a branch for each partition where that is asked for. ``begins`` are the first offsets of the
    topics when the job starts, ``started`` those at which its first batch begins, where they are known; ``raised`` is
    added to a topic's offsets where they order changes.
    """

    job: J.SparkJob
    checkpoint: Checkpoint | None
    resumes: bool = False
    max_offsets_per_trigger: int | None = None
    frames: Mapping[str, str] = field(default_factory=dict)
    spool: str = ""
    stops: dict[str, Offsets] = field(default_factory=dict)
    places: dict[str, Places] = field(default_factory=dict)
    begins: Offsets = field(default_factory=dict)
    started: Offsets = field(default_factory=dict)
    raised: Mapping[str, int] = field(default_factory=dict)
    run: J.SparkJob = field(init=False)
    _starts: dict[str, dict[str, str]] = field(default_factory=dict)
    _late: set[tuple[str, str]] = field(default_factory=set)
    _written: set[str] = field(default_factory=set)
    _patient: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.run = self.job

    @property
    def kafka_reads(self) -> tuple[J.Read, ...]:
        """The Kafka sources of the job, whole."""
        return tuple(s for s in self.job.steps if isinstance(s, J.Read) and s.of_topics)

    @property
    def control_reads(self) -> tuple[J.Read, ...]:
        """The control streams of the job, one a branch."""
        return tuple(s for s in self.run.steps if isinstance(s, J.Read) and s.format == J.CONTROL)

    def preflight(self) -> None:
        """Ask each cluster whether it and the topics are there, and all that the sinks need.

        Raises FD811 to FD814, FD850, FD851, FD860 to FD864, FD867.
        """
        for step in self.kafka_reads:
            with KafkaAdmin(client_properties(step.options)) as admin:
                check_version(admin)
                self.places[step.name] = partitions_of(step.options, admin)
                if patient(step.options, self.places[step.name], admin):
                    self._patient.add(step.name)
            if step.fixed and not self.count(step.name):
                raise _never_any(step)
        for write in self.kafka_writes:
            with KafkaAdmin(client_properties(write.options)) as admin:
                check_version(admin)
                check_sink(write, admin)

    @property
    def uses_kafka(self) -> bool:
        """Whether the job reads or writes topics."""
        return bool(self.kafka_reads or self.kafka_writes)

    def clients(self) -> Iterator[tuple[Mapping[str, str], J.Read | None]]:
        """Yield the client properties of each stream that Kafka gives, with its read, and of each sink."""
        yield from ((client_properties(s.options), s) for s in self.kafka_reads if s.streaming)
        yield from ((client_properties(w.options), None) for w in self.kafka_writes)

    @property
    def kafka_writes(self) -> tuple[J.Write, ...]:
        """The Kafka sinks of the job."""
        return tuple(w for w in self.job.writes if w.into_topics)

    def split(self) -> None:
        """Make a branch of each partition whose watermark counts. Raises FD816 where there are too many."""
        for name, mark in _by_read(self.job):
            if (count := self.count(name)) > mark.partitions:
                raise _too_many(name, count, mark.partitions)
        made = split(raised(self.job, self.raised), {name: found for name, found in self.apart.items() if found})
        self.run = counted(made, {name: self.count(name) for name in self.places})

    def count(self, read: str) -> int:
        """Return how many partitions a read has."""
        return sum(map(len, self.places[read].values()))

    def grown(self) -> dict[str, list[str]]:
        """Ask the clusters for partitions that have no branch yet; return them by read, and keep them."""
        found: dict[str, list[str]] = {}
        steps = {s.name: s for s in self.kafka_reads}
        for name in dict(_by_read(self.job)):
            if not steps[name].discovery_ms:
                continue
            with KafkaAdmin(client_properties(steps[name].options)) as admin:
                now = partitions_of(steps[name].options, admin)
            known = self.places[name]  # none at first where no topic matched a pattern
            new = [f"{t}-{p}" for t, numbers in now.items() for p in numbers if p not in known.get(t, ())]
            if new:
                found[name] = new
                self._late |= {(name, place) for place in new}
                self.places[name] = {t: sorted({*known.get(t, ()), *now.get(t, ())}) for t in {*known, *now}}
        return found

    @property
    def discovery_ms(self) -> int:
        """How often to look for new partitions of what was split; 0 is never."""
        names = dict(_by_read(self.job))
        return min((s.discovery_ms for s in self.kafka_reads if s.name in names and s.discovery_ms), default=0)

    def fix_stops(self) -> None:
        """Look up the stop offsets of bounded streaming reads, once.

        ``latest-offset`` under the available-now trigger needs none, except where a last round follows it (control
        streams): that one must not read what came in meanwhile.
        """
        natural = self.job.trigger[0] == "availableNow" and not self.control_reads
        for step in self.kafka_reads:
            mode = step.stop.get("mode", "unbounded")
            if not step.streaming or mode == "unbounded" or (natural and mode == "latest-offset"):
                continue
            with KafkaAdmin(client_properties(step.options)) as admin:
                found = stop_offsets(step.options, step.stop, admin)
                if found is not None:
                    self.stops[step.name] = found

    def open(self, spark: SparkSession, step: J.Read) -> DataFrame:
        """Return the DataFrame of a read."""
        if step.format == J.CONTROL:
            return self._open_control(spark, step)
        if step.format == J.FRAME:
            return self._open_frame(spark, step)
        if step.streaming and step.finished:
            return self._open_written(spark, step)
        if step.fixed and step.name in self.places:  # a branch keeps to its partition anyway
            step = replace(step, options=assigned(step.options, self.places[step.name]))
        if (step.source or step.name) in self._patient:
            step = replace(step, options={k: v for k, v in step.options.items() if k != J.FETCH_WAIT})
        positions = self._positions(step) if step.of_topics else {}
        opening = read_calls(step, step.options, source_name(step.name) if self.named else "", positions)
        try:
            frame: DataFrame = perform(opening, spark, {})
        except Exception as error:
            raise missing(step, error) or error from error
        stops = self.stops.get(step.source or step.name)
        return frame if stops is None else frame.where(stop_condition(stops))

    def _named(self, step: J.Read, reader: Any) -> Any:
        """Give a source a name, by which its offsets are found when another source has come to the job."""
        return reader.name(source_name(step.name)) if step.streaming and self.named else reader

    @property
    def named(self) -> bool:
        """Whether sources have names, so that one can be added to a checkpoint."""
        return self.job.settings.get(NAMED_SOURCES) == "true"

    @property
    def apart(self) -> dict[str, Places]:
        """The partitions that have a branch each, by read."""
        return {name: self.places[name] for name in dict(_by_read(self.job))}

    def _positions(self, step: J.Read) -> dict[str, str]:
        found = self._spark_positions(step)
        start = found.get("startingOffsets", "")
        if step.streaming and not self.resumes and start != "latest":
            given = json.loads(start) if start.startswith("{") else self.begins
            for topic, places in given.items():
                first = self.begins.get(topic, {})
                known = self.started.setdefault(topic, {})
                known |= {int(p): first.get(int(p), o) if o == EARLIEST else o for p, o in places.items()}
        return found

    def _spark_positions(self, step: J.Read) -> dict[str, str]:
        most = self.max_offsets_per_trigger
        limit = {"maxOffsetsPerTrigger": str(most)} if step.streaming and most else {}
        if limit and step.source:
            limit["maxOffsetsPerTrigger"] = share(int(limit["maxOffsetsPerTrigger"]), self.count(step.source))
        places = json.loads(step.options["assign"]) if step.source else {}
        late = any((step.source, f"{t}-{p}") in self._late for t, numbers in places.items() for p in numbers)
        if late or (step.streaming and self.resumes):  # a partition that is new is read whole, as in Flink
            return limit | ({"startingOffsets": "earliest"} if step.source else {})
        if not (step.start or step.stop):
            return limit
        if not step.source:
            return spark_options(step.options, step.start, step.stop, step.streaming) | limit
        if step.source not in self._starts:  # asked for once for all branches
            whole = next(s for s in self.kafka_reads if s.name == step.source)
            self._starts[step.source] = spark_options(whole.options, step.start, step.stop, step.streaming)
        return of_partitions(self._starts[step.source], places) | limit

    def _open_control(self, spark: SparkSession, step: J.Read) -> DataFrame:
        assert self.checkpoint is not None
        assert step.schema is not None
        folder = self.checkpoint.control(step.name)
        self.storage.make(folder)
        reader = self._named(step, spark.readStream).option("ignoreMissingFiles", "true")
        return reader.schema(step.schema).json(folder)

    def _open_frame(self, spark: SparkSession, step: J.Read) -> DataFrame:
        """Return the user's own DataFrame; a batch one in a stream is what was written of it when the job began."""
        name = step.options["frame"]
        if name not in self.frames:
            help = "catalog.create_view(name, df) in this process makes it known"
            raise FlinkDdlError.of("FD838", f"the DataFrame of table '{name}' is not here", help=help)
        frame = spark.table(self.frames[name])
        if step.options["written"] != "true":
            return frame
        return self._once(spark, step, frame, self.frames[name].strip("`"))

    def _open_written(self, spark: SparkSession, step: J.Read) -> DataFrame:
        """Return a finished relation as a stream: what was written of it when the job began."""
        if step.format == J.ROWS:
            return self._once(spark, step, spark.sql(step.options["query"]), digest(step.options["query"]))
        return self._once(spark, step, spark.read.format(step.format).options(**step.options).load(), step.name)

    def _once(self, spark: SparkSession, step: J.Read, frame: DataFrame, spooled: str) -> DataFrame:
        """Write a batch DataFrame down, once, and return that as a stream; ``spooled`` is its name in the spool."""
        if self.checkpoint is None:
            folder, kept = f"{self.spool}/{spooled}", True
        else:
            folder = self.checkpoint.frame(step.name)
            kept = step.name in self._written or self.resumes
        if not (kept and frame_is_there(spark, folder)):
            frame.write.mode("overwrite").parquet(folder)
        self._written.add(step.name)
        reader: Any = self._named(step, spark.readStream)
        streamed: DataFrame = reader.schema(frame.schema).parquet(folder)
        return streamed

    def end_input(self, file: str = END_FILE) -> None:
        """Put the far-future row into every control stream: the next batch closes all windows."""
        assert self.checkpoint is not None
        for step in self.control_reads:
            self.push(step, file.removesuffix(".json"), END_OF_TIME)

    def end_with_all(self) -> bool:
        """Put the far-future row there before the first batch, where that one has all rows up to the stops.

        Returns whether it is there, also from a run before, and nothing else has to follow. A chain of stages takes it
        after the rows of its batch; Spark's own windows would want another batch. What goes on from a batch of a run
        without it has its own end. Raises FD820 where a limit would part what is to come with the end.
        """
        if self.run.trigger[0] != "availableNow" or not self.control_reads:
            return False
        assert self.checkpoint is not None
        folders = [self.checkpoint.control(step.name) for step in self.control_reads]
        there = [folder for folder in folders if WITH_ALL_FILE in self.storage.names(folder)]
        started = [self.checkpoint.started(run.name) for run in self.run.runs]
        if self._limited and there and not all(started):
            if any(started):
                raise _limit_over_all(self.checkpoint.root)
            for folder in there:
                self.storage.remove(f"{folder}/{WITH_ALL_FILE}")
            return False
        known = len(there) == len(folders)
        native = any(isinstance(step, J.WithWatermark) for step in self.run.steps)
        if native or (not known and (self._limited or any(started))):
            return False
        if not known:
            self.end_input(WITH_ALL_FILE)
        return True

    @property
    def _limited(self) -> bool:
        """Whether a batch of some stream holds a part of what there is at most."""
        streams = (step for step in self.run.steps if isinstance(step, J.Read) and step.streaming)
        return bool(self.max_offsets_per_trigger) or any(key.endswith(LIMITED) for s in streams for key in s.options)

    def push(self, step: J.Read, name: str, rowtime: str) -> str:
        """Put a row with this time (ISO 8601) into a control stream; return its folder."""
        assert self.checkpoint is not None
        row = dict.fromkeys(step.options["rowtime"].split(";"), rowtime) | {TICK: True}
        folder = self.checkpoint.control(step.name)
        self.storage.write(f"{folder}/{name}.json", json.dumps(row))
        return folder

    @property
    def storage(self) -> Storage:
        """The file system of the checkpoint."""
        assert self.checkpoint is not None
        return self.checkpoint.storage


def _by_read(job: J.SparkJob) -> Iterator[tuple[str, J.WithWatermark]]:
    return ((read.name, mark) for read, mark in apart(job))


def frame_is_there(spark: SparkSession, folder: str) -> bool:
    """Return whether a DataFrame was written down into a folder, as far as Spark can see it."""
    try:
        return bool(spark.read.parquet(folder).columns)
    except Exception:  # noqa: BLE001 - whatever Spark says, it does not read it
        return False


def other_partitions(new: Iterable[str]) -> FlinkDdlError:
    """Return the error of a job whose sources have no names and whose topics have changed."""
    message = f"there are other partitions than at the start of this checkpoint: {', '.join(sorted(new))}"
    help = "start anew with --fresh: a query that reads a table twice cannot take a partition into its checkpoint"
    return FlinkDdlError.of("FD817", message, help=help)


def _limit_over_all(root: str) -> FlinkDdlError:
    message = f"the run of checkpoint '{root}' was ended in the batch that reads all there is, before all its queries "
    message += "had begun it, and 'flinkddl.execution.max-offsets-per-trigger' would part it now"
    help = "leave that setting out until the run has come to its end, or start anew with --fresh"
    return FlinkDdlError.of("FD820", message, help=help)


def _never_any(step: J.Read) -> FlinkDdlError:
    message = f"no topic matches '{step.options.get('subscribePattern', '')}', which '{step.table}' reads, and with "
    message += "'scan.topic-partition-discovery.interval' = '0' none would ever be found"
    return FlinkDdlError.of("FD860", message, help="create a topic, or give an interval such as '1 min'")


def _too_many(read: str, count: int, limit: int) -> FlinkDdlError:
    message = f"'{read}' has {count} partitions, and a watermark each is kept for {limit} at most"
    more, one = (f"SET '{LIMIT}' = '{n}'" for n in (count, 1))
    help = f"{more} takes a scan for each; {one} takes one watermark for all: rows of a partition behind it are dropped"
    return FlinkDdlError.of("FD816", message, help=help)
