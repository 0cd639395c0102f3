"""Spark's real-time mode (``SET 'flinkddl.execution.mode' = 'realtime'``): which jobs it takes, and the tasks it needs.

What it takes is Spark's own list (RealTimeModeAllowlist of Spark 4.3: Kafka in, Kafka or console out, projections,
filters, unions of different topics, GROUP BY, dropDuplicates, transformWithState; no stream-stream join, no operator
with state below a union, update mode only). An aggregate of ours compares a group with what it was before the batch,
which lasts as long as its trigger says there. So what changes rows runs as one chain of operators by key
(``stream/whole.py``), each of which takes a row at a time.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.plan.nodes.forms import COMPARES
from flinkddl.plan.nodes.leaves import Scan
from flinkddl.plan.stateforms import needs_chain, out_of_chain
from flinkddl.spark.job import (
    CONTROL,
    KAFKA,
    KAFKA_SINK,
    ROWS,
    Coalesce,
    DropDuplicates,
    GroupBy,
    JoinStep,
    Read,
    Rows,
    Select,
    Step,
    UnionAll,
    Where,
    WithTime,
    below,
)
from flinkddl.spark.stateful import nodes_by_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from flinkddl.catalog.settings import Settings
    from flinkddl.plan.nodes import Node
    from flinkddl.plan.physical import PhysicalSink
    from flinkddl.spark.context import Lowering
    from flinkddl.spark.job import SparkJob, Write

    Blocked = tuple[Node | Step, str]

MODE = "flinkddl.execution.mode"
SINKS = (KAFKA, "console")
MORE = "exactly-once, or has a partitioner, a parallelism, a buffer or a written timestamp"
SHORTEST_MS = 5000  # spark.sql.streaming.realTimeMode.minBatchDuration
USUAL_MS = 300_000  # Spark's own Trigger.RealTime: each boundary holds records up for most of a second
STATE_FORMAT = "spark.sql.streaming.stateStore.checkpointFormatVersion"
SETTINGS = {STATE_FORMAT: "2"}
"""Spark keeps it with the checkpoint: a chain has it in micro-batches too, so that both modes can go on with one."""
_CLOCKS = {
    "current_timestamp()": "timestamp_millis(flinkddl.clock())",
    "unix_timestamp()": "(flinkddl.clock() div 1000L)",
}
"""Spark's functions that give the time of a batch, and what gives that of a row."""
_TOKENS = re.compile(rf"""'(?:[^'\\]|\\.)*'|`[^`]*`|\b(?:{"|".join(map(re.escape, _CLOCKS))})""", re.DOTALL)
"""Texts, names, and functions in neither."""
NO_STREAM = "stands above rows that are there as a whole, which no chain of operators by key takes"
TOO_MANY = "has rows that go on in more ways than one chain of operators by key can be made of"


def wanted(config: Settings) -> bool:
    """Whether the session asks for real-time mode."""
    return config.flinkddl_execution_mode == "REALTIME"


def runs(ctx: Lowering) -> bool:
    """Whether what is lowered is to run in real-time mode: what ends has micro-batches."""
    return ctx.streaming and not ctx.bounded and wanted(ctx.config)


def batch_ms(config: Settings) -> int:
    """Return how long a real-time batch lasts: ``execution.checkpointing.interval``, within what Spark allows."""
    return max(config.execution_checkpointing_interval or USUAL_MS, SHORTEST_MS)


def checked(job: SparkJob) -> dict[str, str]:
    """Return the settings of a job in real-time mode, or as one chain.

    Raises FD662 with the operator that keeps it out of real-time mode, FD677 with the one that no chain can do.
    """
    chained = any(p.how.chain for p in job.plan)
    if job.plan[0].how.realtime:
        for reason in refusals(job):
            help = f"take \"SET '{MODE}' = 'realtime'\" out: the job runs in micro-batches"
            message = f"the job cannot run in real-time mode: {reason}"
            raise FlinkDdlError.of("FD662", message, job.plan[0].sink.span, help)
        return SETTINGS
    for place, why in _of_chain(job) if chained else ():
        raise _no_chain(job.plan[0], place, why)
    return SETTINGS if chained else {}


def of_rows(job: SparkJob) -> SparkJob:
    """Return a job in real-time mode whose rows ask the clock, as Flink's do: a batch has one time for minutes.

    What state means is told without it, so that micro-batches can go on with it.
    """
    if not job.plan[0].how.realtime:
        return job
    return replace(job, steps=tuple(map(of_row, job.steps)))


def of_row(step: Step) -> Step:
    """Return a step whose rows ask the clock."""
    if isinstance(step, Select):
        columns = tuple((name, asking(sql)) for name, sql in step.columns)
        given = step.generator and (asking(step.generator[0]), step.generator[1])
        return replace(step, columns=columns, generator=given)
    return replace(step, condition=asking(step.condition)) if isinstance(step, Where) else step


def asking(sql: str) -> str:
    """Return Spark SQL whose rows ask the clock."""
    return _TOKENS.sub(lambda found: _CLOCKS.get(found[0], found[0]), sql) if any(c in sql for c in _CLOCKS) else sql


def check_chains(plan: Iterable[PhysicalSink]) -> None:
    """Raise FD677 with a node that no stage can do of a query that is to be one chain."""
    for sink in plan:
        for node, why in out_of_chain(sink) if sink.how.chain else ():
            raise _no_chain(sink, node, why)


def _no_chain(sink: PhysicalSink, place: Node | Step, why: str) -> FlinkDdlError:
    help = "take \"SET 'flinkddl.execution.state' = 'chain'\" out"
    message = f"the query cannot be one chain of operators by key: {_operator(place)} {why}"
    return FlinkDdlError.of("FD677", message, sink.sink.span, help)


def _operator(place: Node | Step) -> str:
    return f"the operator '{place.name}'" if isinstance(place, Step) else f"the operator {place.describe()}"


def refusals(job: SparkJob, called: Callable[[Node | Step], str] = _operator) -> Iterator[str]:
    """Yield what keeps a job out of real-time mode, as a sentence each; ``called``: the name of an operator."""
    for place, why in blockers(job):
        yield f"{called(place)} {why}"
    for write in job.writes:
        if write.format == KAFKA_SINK:
            yield f"the sink '{write.name}' is {MORE}, and real-time mode takes Spark's own Kafka sink alone"
        elif write.format not in SINKS:
            yield f"the sink '{write.name}' writes through '{write.format}', real-time mode into Kafka only"
    if job.udfs:
        yield f"the function '{next(iter(job.udfs))}' is Python, which real-time mode does not run"


def blockers(job: SparkJob) -> Iterator[Blocked]:
    """Yield what real-time mode does not take, and why: operators as planned, inputs first, then what is read.

    What only a chain can do there is looked for in the job as one chain.
    """
    needed = [found for sink in job.plan if not sink.how.chain for found in _needed(sink)]
    chained = _as_chain(job) if needed else job
    if chained is None:
        yield from needed
    else:
        yield from _of_chain(chained)
    steps = {s.name: s for s in (chained or job).steps}
    for step in steps.values():
        if why := _reading(step, steps):
            yield step, why


def _needed(sink: PhysicalSink) -> list[tuple[Node, str]]:
    needed = list(needs_chain(sink))
    return needed and (list(out_of_chain(sink)) or needed)


def _as_chain(job: SparkJob) -> SparkJob | None:
    if job.as_chain is None or job.plan[0].how.realtime:
        return None  # in real-time mode it is one where it can be
    try:
        return job.as_chain()
    except FlinkDdlError:
        return None


def _of_chain(job: SparkJob) -> Iterator[Blocked]:
    """Yield the nodes of queries that are to be chains, and have no form by key or too many ways."""
    places = nodes_by_path(job)
    steps = {s.name: s for s in job.steps}
    chains = {s for w, p in job.planned if p.how.chain for s in _names(w.input, steps)}
    without = [s for s in job.steps if s.name in chains and _keeps(s) and not (isinstance(s, GroupBy) and s.stage)]
    alone = [s for s in without if isinstance(s, GroupBy) and all(c.form == "keyed" for c in s.state_calls)]
    way = NO_STREAM if any(_finished(s) for s in job.steps if s.name in chains) else TOO_MANY
    for step in [s for s in without if s not in alone] or alone:
        here = places.get(job.owners.get(step.name, ""))
        why = way if step in alone else here.node.holds_back(here.form) if here else ""
        yield here.node if here else step, why or COMPARES


def _names(name: str, steps: Mapping[str, Step]) -> set[str]:
    return {s.name for s in below(steps[name], steps)}


def _finished(step: Step) -> bool:
    return isinstance(step, Rows) or (isinstance(step, Read) and (step.finished or step.format == ROWS))


def _keeps(step: Step) -> bool:
    return isinstance(step, GroupBy | DropDuplicates | JoinStep)


def _reading(step: Step, steps: Mapping[str, Step]) -> str:
    match step:
        case Read() if step.format == CONTROL:
            return "reads rows that move time on while its topics have none, which real-time mode does not"
        case Read() if not step.of_topics:
            return f"reads from '{step.format}', real-time mode from Kafka only"
        case Coalesce():
            return (
                "reads a topic's partitions one after the other ('scan.parallelism'); real-time mode reads all at once"
            )
        case UnionAll():
            return _union(step, steps)
        case WithTime() if step.idle_ms:
            # after a stop each partition would seem silent until its first record comes, one before the other
            return "has an idle timeout, which real-time mode cannot tell from a partition that is read a moment later"
    return ""


def _union(step: UnionAll, steps: Mapping[str, Step]) -> str:
    below = [_runs(part, steps) for part in step.parts]
    if any(isinstance(s, GroupBy | DropDuplicates) for part in below for s in part):
        return "unites what an operator with state gives, which real-time mode does not"
    topics = [tuple(sorted(s.options.items())) for part in below for s in part if isinstance(s, Read)]
    if len(set(topics)) < len(topics):
        return "unites two readings of one topic, which real-time mode does not"
    return ""


def _runs(name: str, steps: Mapping[str, Step]) -> list[Step]:
    """Return what runs for a step: what two ways lead to runs twice, unlike in ``job.below``."""
    step = steps[name]
    return [step, *(s for r in step.reads for s in _runs(r, steps))]


def reads_of(job: SparkJob, write: Write) -> list[Read]:
    """Return what the query of a write reads."""
    return [s for s in _runs(write.input, {s.name: s for s in job.steps}) if isinstance(s, Read)]


def not_one_to_one(sink: PhysicalSink) -> str:
    """Return why a sink may get more or fewer records than its sources hold; "" where each of them gives one."""
    for here in sink.root.walk():
        node = here.node
        changes = any(i.form.kind != "append" for i in here.inputs) and not (here is sink.root and sink.keyed)
        if not node.one_each or (changes and sink.how.chain):
            return f"{node.name} may give more or fewer rows than it takes"
        if isinstance(node, Scan) and (here.form.kind != "append" or _drops(node)):
            return f"not each record of '{node.table.path.name}' is a row"
    return ""


def _drops(scan: Scan) -> bool:
    formats = (scan.options.key_format, scan.options.value_format)
    return any(f is not None and bool(f.options.get("ignore-parse-errors")) for f in formats)


def tasks(job: SparkJob, partitions: Callable[[Read], int], shuffles: int) -> int:
    """Return how many tasks run at once: a core each. Every write is a query of its own and runs all that it reads."""
    steps = {s.name: s for s in job.steps}
    total = 0
    for write in job.writes:
        for step in _runs(write.input, steps):
            if isinstance(step, Read):
                total += partitions(step)
            elif isinstance(step, GroupBy | DropDuplicates):
                total += shuffles
    return total
