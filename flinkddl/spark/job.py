"""SparkJob: what Spark shall do, as plain frozen data. One interpreter runs it, one printer writes it as PySpark.

A step names its result and the steps it reads; expressions are Spark SQL text over the columns of those inputs. The
closed set of step kinds is the DataFrame API's own vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from flinkddl.plan.clocks import WALL, Wall
from flinkddl.sqltypes import quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from flinkddl.plan.decoded import Parts
    from flinkddl.plan.physical import PhysicalSink
    from flinkddl.plan.stateforms import Begun
    from flinkddl.spark.restarts import RestartStrategy

OutputMode = Literal["append", "update", "complete"]
Family = Literal["retract", "final"]
StateForm = Literal["aggregate", "uncovered", "keyed"]
Named = tuple[str, str]  # (column name, Spark SQL expression)

KAFKA = "kafka"
"""Spark's own name of its Kafka source and sink."""
KAFKA_SINK = "flinkddl.KafkaSink"
"""Our Kafka sink in flinkddl/jvm: transactions, a timestamp column, the partitioner ``fixed``, a number of writers."""
KAFKA_SOURCE = "flinkddl.KafkaSource"
"""Spark's Kafka source with positions that are looked up when it is read (flinkddl/jvm), not when it is opened."""
LEADER_EPOCH = "flinkddl.leader-epoch"
"""Its option that adds the leader epoch of a record as one more header (LeaderEpochs.java)."""
FETCH_WAIT = "kafka.fetch.max.wait.ms"
AT_ONCE = "5"
"""Of FETCH_WAIT, what a source has that reads what is there (ms)."""
FRAME = "flinkddl.frame"
"""A DataFrame of the user's own, by the name in ``options["frame"]``."""
ROWS = "flinkddl.rows"
"""A constant relation as a stream that ends: the Spark SQL text in ``options["query"]``."""
WATERMARKED: Mapping[str, int] = {"spark.watermarkDelayMs": 0}
"""Column metadata by which Spark's stateful operators know event time: a cast loses what ``withWatermark`` noted.

They ask only whether it is there; the delay is kept by the operator ``withWatermark`` itself.
"""
JDBC_SINK = "flinkddl.JdbcSink"
"""Our JDBC sink in flinkddl/jvm: rows put and deleted by key."""
UNTOLD: Mapping[str, bool] = {"untold": True}
"""Metadata of a job's field that ``told`` leaves out: what is made when it is asked for."""
PASSED = "unix_millis(current_timestamp()) - 1L"
"""SQL of the processing time that is over, in ms: rows of a batch have the time at which it began, which is logged."""
TIMES = "__times"
"""Column of ticks, an array a row: what is told of event time with it, mostly NULL."""
CONTROL = "flinkddl.control"
"""The format of what the driver puts into a stream: rows that move time on, or ask for a batch."""
PART = "__insert"
"""Column of records that several INSERTs write in one query: whose each is, by its place in ``Write.parts``."""
DRIVER_SINKS = frozenset({"flinkddl.print", "flinkddl.collect"})
"""Formats of the runtime's own writers, on the driver."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """Base: ``name`` is unique in the job; ``note`` says which plan node it serves and why."""

    name: str
    note: str = ""

    @property
    def kind(self) -> str:
        """The word for it."""
        return type(self).__name__.removesuffix("Step")

    def __str__(self) -> str:
        """It as EXPLAIN shows it."""
        reads = f" <- {', '.join(self.reads)}" if self.reads else ""
        return f"{self.name} = {self.kind}{reads}{f'   -- {self.note}' if self.note else ''}"

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of the input steps."""
        return ()


@dataclass(frozen=True, kw_only=True)
class Read(Step):
    """``spark.read`` or ``spark.readStream`` with a format and options; ``schema`` as DDL text where it is needed.

    Options whose value the runtime must look up (start offsets of a group, offsets of a timestamp) are in ``start``
    and ``stop``: plain descriptions that only the runtime turns into Spark options. ``start``: ``mode`` as in
    ``scan.startup.mode``; with it ``group`` and ``reset`` (group-offsets), ``timestamp`` (epoch milliseconds),
    ``offsets`` (``partition:0,offset:5;...``) and ``group``; ``commit-group`` names a group that is told of each
    finished batch. ``stop``: the same words, ``mode`` as in ``scan.bounded.mode``.

    ``finished``: all its rows are there when the job begins; a streaming read of it is what was written down of it then
    (``spark/finished.py``). ``once``: what it gave is gone, after a failure too, and a run cannot go on where another
    ended. ``source`` names the read of which this one takes a single partition
    (``spark/partitions.py``). ``discovery_ms`` is the longest time until a new partition is seen: a read that is split
    looks that often, Spark itself with each batch; at 0 the partitions are those at the start of a run, as in Flink
    (KafkaSourceEnumerator.start).
    The format ``flinkddl.control`` is the control stream that ends the input (changelog.md): ``schema`` is that of the
    relation it is UNIONed to, ``options["rowtime"]`` names its event-time columns (``a;b``), which hold the year 2200
    in its only row.
    """

    format: str
    options: Mapping[str, str] = field(repr=False)
    streaming: bool
    schema: str | None = None
    table: str = ""
    source: str = ""
    finished: bool = False
    once: bool = False
    discovery_ms: int = 300_000
    start: Mapping[str, str] = field(default_factory=dict)
    stop: Mapping[str, str] = field(default_factory=dict)

    @property
    def of_topics(self) -> bool:
        """Whether it reads records of topics, from positions that the runtime knows."""
        return self.format == KAFKA

    @property
    def topics(self) -> str:
        """What it reads, as it is written: names, a pattern, or partitions."""
        return next(
            (self.options[key] for key in ("subscribe", "subscribePattern", "assign") if key in self.options), ""
        )

    @property
    def opened(self) -> str:
        """The format by which Spark opens it: ours where its own Kafka source does not tell a leader epoch."""
        return KAFKA_SOURCE if self.of_topics and LEADER_EPOCH in self.options else self.format

    @property
    def fixed(self) -> bool:
        """Whether an endless stream keeps to the partitions that are there when a run starts."""
        return self.streaming and not self.discovery_ms and self.stop.get("mode", "unbounded") == "unbounded"


@dataclass(frozen=True, kw_only=True)
class Rows(Step):
    """A constant relation: ``query`` is Spark SQL text (``SELECT ... UNION ALL ...`` or ``VALUES``)."""

    query: str


@dataclass(frozen=True, kw_only=True)
class _One(Step):
    input: str

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.input,)


@dataclass(frozen=True, kw_only=True)
class Select(_One):
    """``df.selectExpr``: generators (``inline(..)``) are allowed, with their output names in ``as_names``.

    ``choices`` say of a generator that it gives at most so many rows: a condition, and the values of its columns.
    """

    columns: tuple[Named, ...]
    generator: tuple[str, tuple[str, ...]] | None = None
    choices: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Where(_One):
    """``df.where``."""

    condition: str


@dataclass(frozen=True, kw_only=True)
class WithWatermark(_One):
    """``df.withWatermark``; ``delay`` as Spark's interval text (``5000 milliseconds``).

    ``partitions`` above 0: each Kafka partition has a watermark of its own, of so many at most (the runtime, which
    knows how many there are, splits the job: ``spark/partitions.py``). ``idle_ms``: after this silence a partition no
    longer holds the others back; 0 is never. ``observed``: report the latest time under this name with each batch.
    """

    column: str
    delay: str
    partitions: int = 0
    idle_ms: int = 0
    observed: str = ""


@dataclass(frozen=True, kw_only=True)
class WithTime(_One):
    """A table's rows with what it tells of its event time beside them, in the column ``TIMES`` (Tick.java).

    ``columns`` are those that stay. ``clock``: which clock of its query; ``watermark``: SQL of its ms after a row;
    ``sender``: SQL of who tells it, one of ``senders``, at 0 the partitions of a topic, of which the runtime knows how
    many there are. No window ends but at ``shift`` and multiples of ``every`` ms from there. ``idle_ms``: after this
    silence, while others have rows, nobody waits for a sender; 0 is never. ``wall``: where windows over processing time
    end, whose clock each batch tells; None where there is none.
    """

    columns: tuple[str, ...]
    clock: int
    watermark: str
    sender: str
    senders: int
    every: int
    shift: int
    idle_ms: int = 0
    wall: Wall | None = None

    @property
    def parts(self) -> tuple[str, str]:
        """The calls' text before and behind the number of senders."""
        now = "unix_millis(current_timestamp())" if self.idle_ms else "0L"
        first = f"flinkddl.ticks({self.clock}, {self.sender}, "
        last = f", {self.watermark}, {self.every}L, {self.shift}L, {now}, {self.idle_ms}L)"
        if self.wall is not None and self.clock != WALL:
            wall = f"flinkddl.ticks({WALL}, 0L, 1, {PASSED}, {self.every}L, {self.shift}L, 0L, 0L)"
            first, last = f"flatten(array_compact(array({first}", f"{last}, {wall})))"
        return first, f"{last} AS {TIMES}"


@dataclass(frozen=True, kw_only=True)
class Coalesce(_One):
    """``df.coalesce``: at most so many tasks; each takes its partitions one after the other, in their order."""

    tasks: int


@dataclass(frozen=True, kw_only=True)
class WithMetadata(_One):
    """``df.withMetadata``: each column with what Spark is to know of it (``WATERMARKED``)."""

    columns: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class StateCall:
    """A call of one of our aggregate functions in flinkddl/jvm, which keep a group's rows or accumulators.

    ``family``: retract gives the changes of each batch, final a group once, when the watermark passes its window.
    ``kind`` is what it keeps: the kind of a join, or "latest" for the class RetractLatest. ``ttl``: after how many ms
    without a change state is taken for empty, one a side of a join, 0 is never; () where nobody has said.

    ``condition`` is what must hold of two rows, of the kinds that decide by more than the key (Condition.java): an
    argument behind the others, of each pair of rows and of none that is given.

    ``clocks``: of a kind that fires by event time (Window.java) the clocks that its time is of, a bit each.
    ``windows``: of rows that are of several windows and name one, which they are (Windows.java): ``hop``, the slide in
    ms and how many; ``cumulate``, the step and the largest size.

    ``form``: "keyed" keeps it by key in Spark's TransformWithState, as number ``node`` of the plan
    (``spark/stages.py``); "uncovered" is an aggregate, although keyed state is asked for. ``other_args``: its arguments
    in the other one of the two forms, where they differ.
    """

    family: Family
    kind: str
    args: tuple[str, ...]
    ttl: tuple[int, ...] = ()
    form: StateForm = "aggregate"
    node: int = 0
    condition: str = ""
    other_args: tuple[str, ...] = ()
    clocks: int = 0
    windows: tuple[str | int, ...] = ()

    @property
    def function(self) -> str:
        """The function's name, which holds its TTL and, of keyed state, its number (Functions.java)."""
        ttl = f"_ttl_{'_'.join(map(str, self.ttl))}" if self.ttl else ""
        if self.form == "keyed":
            return f"flinkddl.stage_{self.kind}_{self.node}{ttl}{self.by}"
        return f"flinkddl.{self.family}_{self.kind}{ttl}"

    @property
    def by(self) -> str:
        """What its name says of its clocks and windows."""
        windows = "".join(f"_{part}" for part in self.windows)
        return f"_by_{self.clocks}{windows}" if self.clocks else ""

    @property
    def sql(self) -> str:
        """The call as Spark SQL."""
        return f"{self.function}({', '.join((*self.args, *filter(None, [self.condition])))})"


@dataclass(frozen=True)
class StageNode:
    """A node of a stage: the column of its edge, a STRUCT of ``key`` and ``args``; what is in both, and its call.

    ``step`` is the name that it would have as an operator by itself.
    """

    step: str
    column: str
    keys: tuple[Named, ...]
    call: StateCall


@dataclass(frozen=True)
class StageCall:
    """Several nodes as one operator that keeps its state by key, and rows that pass it (Stages.java).

    ``nodes`` and, behind them, ``passes`` are its edges, columns of its input of which one is not NULL in each row;
    ``time`` is the last one, by which event time comes in where a node waits for it, and ``tells`` whether what comes
    out is for the next stage.
    Its result is a STRUCT, by the places of the edges: ``k0`` and ``r0``, key and result of a node, ``p1``, a row that
    passes.

    ``ways`` are for people, (step, step) pairs: whose rows come in, and for whom, a node or what a deeper stage has.
    ``ends``: of the last stage of a chain the steps whose rows come out of the chain.
    """

    nodes: tuple[StageNode, ...]
    passes: tuple[str, ...] = ()
    time: str = ""
    tells: bool = False
    ways: tuple[tuple[str, str], ...] = ()
    ends: tuple[str, ...] = ()

    @property
    def sql(self) -> str:
        """The call as Spark SQL."""
        edges = [(_edge(n.call), n.column) for n in self.nodes] + [("pass", column) for column in self.passes]
        edges += [("time" if self.tells else "last", self.time)] * bool(self.time)
        items = ", ".join(f"'{name}', {quote(column)}" for name, column in edges)
        conditions = (n.call.condition for n in self.nodes if n.call.condition)
        return f"flinkddl.stages({', '.join((f'named_struct({items})', *conditions))})"


def _edge(call: StateCall) -> str:
    ttl = f"_ttl_{'_'.join(map(str, call.ttl))}" if call.ttl else ""
    return f"{call.node}_{call.kind}{ttl}{call.by}"


Agg = tuple[str, str | StateCall | StageCall]  # (column name, Spark SQL of Spark's own aggregates or a call of ours)


@dataclass(frozen=True, kw_only=True)
class GroupBy(_One):
    """``df.groupBy(keys).agg(...)``."""

    keys: tuple[Named, ...]
    aggs: tuple[Agg, ...]

    @property
    def state_calls(self) -> tuple[StateCall, ...]:
        """The calls of our own functions, a stage's too."""
        own = tuple(agg for _, agg in self.aggs if isinstance(agg, StateCall))
        return own if self.stage is None else (*own, *(n.call for n in self.stage.nodes))

    @property
    def stage(self) -> StageCall | None:
        """The stage that it is, of several nodes or with rows that pass."""
        return next((agg for _, agg in self.aggs if isinstance(agg, StageCall)), None)


@dataclass(frozen=True, kw_only=True)
class DropDuplicates(_One):
    """``df.dropDuplicates(columns)``."""

    columns: tuple[str, ...]


@dataclass(frozen=True)
class SortKey:
    """One key of an ORDER BY; without a place of its NULLs they are where Spark has them, the least."""

    sql: str
    descending: bool = False
    nulls_first: bool | None = None


@dataclass(frozen=True, kw_only=True)
class OrderBy(_One):
    """``df.orderBy`` (batch mode only)."""

    keys: tuple[SortKey, ...]


@dataclass(frozen=True, kw_only=True)
class Limit(_One):
    """``df.offset(offset).limit(fetch)`` (batch mode only)."""

    fetch: int | None
    offset: int = 0


How = Literal["inner", "left", "right", "full", "left_semi", "left_anti", "cross"]
HOW: Mapping[str, How] = {k: k for k in ("inner", "left", "right", "full")} | {"semi": "left_semi", "anti": "left_anti"}
"""Spark's word for a kind of join."""


Keeps = Literal["nothing", "until the watermark", "for ever"]


@dataclass(frozen=True, kw_only=True)
class JoinStep(Step):
    """``left.join(right, expr(on), how)``: the two sides have no column name in common.

    ``keeps`` says of two streams how long Spark keeps their rows; of others there is nothing to keep.
    """

    left: str
    right: str
    on: str
    how: How
    keeps: Keeps = "nothing"

    @property
    def reads(self) -> tuple[str, ...]:
        """Left, right."""
        return (self.left, self.right)


@dataclass(frozen=True, kw_only=True)
class UnionAll(Step):
    """``a.union(b)...``, by position."""

    parts: tuple[str, ...]

    @property
    def reads(self) -> tuple[str, ...]:
        """The parts."""
        return self.parts


@dataclass(frozen=True, kw_only=True)
class Write:
    """One query of the job: where the result of a step goes.

    ``format``: a Spark sink (KAFKA, "console", "noop", ...; KAFKA_SINK and JDBC_SINK are our own), or a name of the
    runtime's own writers on the driver: "flinkddl.print", "flinkddl.collect". Print and collect take the reserved
    columns off and make row kinds of them; an updating relation names its key in ``options["key-columns"]`` (``a;b``).
    Print also knows ``print-identifier`` and ``standard-error``. ``partitions`` are columns that become folders;
    ``overwrite`` replaces what is there, with partitions those alone that are written. ``writer`` (``module:name``)
    is a function of options and rows that Spark's Python workers call for each task; ``format`` is its name then.
    ``parts``: of one query that carries out several INSERTs (``SparkJob.united``) the names of their writes; the column
    ``PART`` of its rows says by number whose each is.
    """

    name: str
    input: str
    format: str
    options: Mapping[str, str] = field(repr=False)
    mode: OutputMode
    table: str = ""
    note: str = ""
    partitions: tuple[str, ...] = ()
    overwrite: bool = False
    writer: str = ""
    parts: tuple[str, ...] = ()

    @property
    def into_topics(self) -> bool:
        """Whether it writes records into topics."""
        return self.format in (KAFKA, KAFKA_SINK)

    @property
    def on_driver(self) -> bool:
        """Whether the runtime itself writes the rows, on the driver."""
        return self.format in DRIVER_SINKS


@dataclass(frozen=True)
class Choice:
    """What mode 'auto' chose, in ``words``; ``batches``: the job in micro-batches, where real time was chosen."""

    words: str
    batches: SparkJob | None = None


@dataclass(frozen=True, kw_only=True)
class SparkJob:
    """A whole job: steps in an order in which each reads only earlier ones, its writes, its session settings.

    ``streaming`` False means one bounded batch run. ``settings`` go to ``spark.newSession().conf``; ``trigger`` is
    Spark's trigger as keyword and value (``("processingTime", "0 seconds")``, ``("availableNow", "true")``,
    ``("realTime", "10 seconds")``). ``identity`` makes ``fingerprint`` when that is asked for: only a checkpoint does.
    ``queries`` makes one (sink table, digest of sources and query) pair a sink, by which a job is known under any name.
    ``essence`` makes what of it must be the same for columns to come and go over the checkpoint.
    ``restart`` is what follows a failed query; None: as Flink decides, by whether the run has a checkpoint folder.
    ``extras`` are the roles (``jars.lock.json``) whose jars its session must have beside Spark's own.
    ``plan`` is the physical plan, a tree a sink. ``jars`` are those of Java functions, and whether the user names each.
    ``newer`` says what of it earlier versions had not (``plan/stateforms.py``); ``apart`` makes the job
    in which that alone is which is given. ``as_begun`` makes the job with its INSERTs in the forms and queries in which
    a run began them; None of a single INSERT whose form is SET. ``as_chain`` makes the job with one chain a query, as
    real-time mode has it. ``fitted`` makes the job with its plan as a checkpoint knows it (``spark/fitting.py``), None
    where it is that.
    ``owners`` maps a step to the path of the plan node that it serves (``spark/operators.py``), ``same`` the path of a
    place that runs as another one to that one's. ``kept`` is what of the rows of tables of upserts is kept, by the
    identity of their scans (``plan/decoded.py``).
    ``writes`` are one an INSERT; ``united`` are queries that carry out several of them (``spark/together.py``).
    ``choice`` is there with mode 'auto', until a start has settled it (``spark/modes.py``).
    """

    name: str
    steps: tuple[Step, ...]
    writes: tuple[Write, ...]
    settings: Mapping[str, str] = field(repr=False)
    streaming: bool
    trigger: tuple[str, str] = ("processingTime", "0 seconds")
    udfs: Mapping[str, str] = field(default_factory=dict)
    extras: tuple[str, ...] = ()
    jars: Mapping[str, bool] = field(default_factory=dict, compare=False)
    restart: RestartStrategy | None = None
    identity: Callable[[], tuple[tuple[str, str], ...]] = field(default=tuple, compare=False, metadata=UNTOLD)
    newer: frozenset[str] = field(default=frozenset(), compare=False, metadata=UNTOLD)
    apart: Callable[[frozenset[str]], SparkJob] | None = field(default=None, compare=False, metadata=UNTOLD)
    as_begun: Callable[[Begun], SparkJob] | None = field(default=None, compare=False, metadata=UNTOLD)
    as_chain: Callable[[], SparkJob] | None = field(default=None, compare=False, metadata=UNTOLD)
    fitted: Callable[[Iterable[dict[str, Any]]], SparkJob | None] | None = field(
        default=None, compare=False, metadata=UNTOLD
    )
    owners: Mapping[str, str] = field(default_factory=dict, compare=False)
    same: Mapping[str, str] = field(default_factory=dict, compare=False, metadata=UNTOLD)
    queries: Callable[[], tuple[tuple[str, str], ...]] = field(default=tuple, compare=False, metadata=UNTOLD)
    essence: Callable[[], tuple[Any, Any]] = field(default=lambda: ((), ()), compare=False, metadata=UNTOLD)
    plan: tuple[PhysicalSink, ...] = field(default=(), compare=False, metadata=UNTOLD, repr=False)
    united: tuple[Write, ...] = ()
    kept: Mapping[int, Parts] = field(default_factory=dict, compare=False, metadata=UNTOLD, repr=False)
    choice: Choice | None = field(default=None, compare=False, metadata=UNTOLD, repr=False)

    def told(self) -> dict[str, Any]:
        """Return the fields that are data, by name: what is shown of a job, and what two jobs can differ in."""
        return {f.name: getattr(self, f.name) for f in fields(self) if not f.metadata.get("untold")}

    @property
    def in_batches(self) -> SparkJob:
        """The job where nothing is known of cores and checkpoints: with mode 'auto' in micro-batches."""
        return (self.choice and self.choice.batches) or self

    @property
    def once(self) -> str:
        """A table whose rows cannot be read again, "" where there is none."""
        return next((s.table for s in self.steps if isinstance(s, Read) and s.once), "")

    @property
    def runs(self) -> tuple[Write, ...]:
        """The queries that Spark runs, each where its first INSERT stands."""
        of_part = {name: query for query in self.united for name in query.parts}
        return tuple({run.name: run for run in (of_part.get(w.name, w) for w in self.writes)}.values())

    def run_of(self, write: str) -> str:
        """Return the name of the query that carries out an INSERT: its own, unless it shares one with others."""
        return next((query.name for query in self.united if write in query.parts), write)

    def parts_of(self, run: Write) -> tuple[Write, ...]:
        """Return the writes that a query carries out."""
        return tuple(w for name in run.parts for w in self.writes if w.name == name) or (run,)

    @property
    def planned(self) -> list[tuple[Write, PhysicalSink]]:
        """Each query with its physical plan; none of a job whose plan is not known."""
        return list(zip(self.writes, self.plan, strict=False))

    @property
    def forms(self) -> dict[str, bool | str]:
        """In which form each query keeps the state of its updating operators, by the name of its write."""
        return {w.name: p.how.form for w, p in self.planned if p.how.streaming}

    @cached_property
    def fingerprint(self) -> tuple[tuple[str, str], ...]:
        """(operator, description) pairs that a checkpoint must match; INSERTs of one query go on as one."""
        return (*self.identity(), *(("Query", ", ".join(query.parts)) for query in self.united))


def flows(steps: Iterable[Step]) -> dict[str, bool]:
    """Return of each step by its name whether a stream comes out of it; each stands after those that it reads."""
    found: dict[str, bool] = {}
    for step in steps:
        found[step.name] = step.streaming if isinstance(step, Read) else any(found[name] for name in step.reads)
    return found


def below(step: Step, steps: Mapping[str, Step]) -> list[Step]:
    """Return a step and all below it, inputs first."""
    found: dict[str, Step] = {}
    for name in step.reads:
        found |= {s.name: s for s in below(steps[name], steps)}
    return [*found.values(), step]
