"""Spark's real-time mode (``SET 'flinkddl.execution.mode' = 'realtime'``): which jobs it takes, and the tasks it needs.

What it takes is Spark's own list (RealTimeModeAllowlist of Spark 4.3: Kafka in, Kafka or console out, projections,
filters, unions of different topics, GROUP BY, dropDuplicates; no stream-stream join, no operator with state below a
union, update mode only). On our side: an operator that compares a group with what it was before the batch has no
place there, because a batch lasts as long as its trigger says and gives out every single change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.plan.nodes.forms import COMPARES
from flinkddl.plan.nodes.leaves import Scan
from flinkddl.spark.job import KAFKA, Coalesce, DropDuplicates, GroupBy, Read, Step, UnionAll

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from flinkddl.catalog.settings import Settings
    from flinkddl.plan.physical import Physical, PhysicalSink
    from flinkddl.spark.job import SparkJob, Write

MODE = "flinkddl.execution.mode"
SINKS = (KAFKA, "console")
SHORTEST_MS = 5000  # spark.sql.streaming.realTimeMode.minBatchDuration
USUAL_MS = 300_000  # Spark's own Trigger.RealTime: each boundary holds records up for most of a second
SETTINGS = {"spark.sql.streaming.stateStore.checkpointFormatVersion": "2"}


def wanted(config: Settings) -> bool:
    """Whether the session asks for real-time mode."""
    return config.flinkddl_execution_mode == "REALTIME"


def batch_ms(config: Settings) -> int:
    """Return how long a real-time batch lasts: ``execution.checkpointing.interval``, within what Spark allows."""
    return max(config.execution_checkpointing_interval or USUAL_MS, SHORTEST_MS)


def check(job: SparkJob) -> None:
    """Raise FD662 with the operator that keeps a job out of real-time mode."""
    for reason in refusals(job):
        help = f"take \"SET '{MODE}' = 'realtime'\" out: the job runs in micro-batches"
        message = f"the job cannot run in real-time mode: {reason}"
        raise FlinkDdlError.of("FD662", message, job.plan[0].sink.span, help)


def refusals(job: SparkJob) -> Iterator[str]:
    """Yield what keeps a job out of real-time mode, as a sentence each."""
    for place, why in blockers(job):
        what = f"'{place.name}'" if isinstance(place, Step) else place.node.describe()
        yield f"the operator {what} {why}"
    for write in job.writes:
        if write.format not in SINKS:
            yield f"the sink '{write.name}' writes through '{write.format}', real-time mode into Kafka only"
    if job.udfs:
        yield f"the function '{next(iter(job.udfs))}' is Python, which real-time mode does not run"


def blockers(job: SparkJob) -> Iterator[tuple[Physical | Step, str]]:
    """Yield what real-time mode does not take, and why: operators as planned, inputs first, then what is read."""
    for sink in job.plan:
        for here in reversed(list(sink.root.walk())):
            arranged = here is sink.root and sink.form.kind == "upsert" and not sink.keyed
            if why := COMPARES if arranged else _held_back(here):
                yield here, why
    steps = {s.name: s for s in job.steps}
    for step in job.steps:
        if why := _reading(step, steps):
            yield step, why


def _held_back(here: Physical) -> str:
    newest = any(i.form.kind == "upsert" for i in here.inputs)
    if newest and here.form.kind in ("delta", "images"):
        return f"needs the row before an update (ChangelogNormalize), which {COMPARES}"
    return here.node.holds_back(here.form)


def _reading(step: Step, steps: Mapping[str, Step]) -> str:
    match step:
        case Read() if not step.of_topics:
            return f"reads from '{step.format}', real-time mode from Kafka only"
        case Coalesce():
            return (
                "reads a topic's partitions one after the other ('scan.parallelism'); real-time mode reads all at once"
            )
        case UnionAll():
            return _union(step, steps)
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
        if not node.one_each:
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
