"""A watermark for each Kafka partition, merged by the least, as Flink keeps it (connector reference, section 4.8).

Spark has one watermark an operator ``withWatermark``, its latest time less the delay, and with the policy ``min`` the
least of all such operators holds. So a table below an operator on event time is read partition by partition: a source,
its projections and a ``withWatermark`` each, then their UNION. How many partitions there are is known when the job
starts: the lowering marks the watermark, ``split`` makes the branches then. The sources carry names, by which Spark
finds their offsets again when a partition has been added.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from flinkddl.options.values import parse_duration
from flinkddl.plan.clocks import timed_scans
from flinkddl.plan.identity import digest
from flinkddl.spark.job import Read, SparkJob, UnionAll, WithTime, WithWatermark, below

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from flinkddl.catalog.settings import Settings
    from flinkddl.diagnostics import Bag
    from flinkddl.plan.nodes import Node, Scan, Sink
    from flinkddl.plan.physical import PhysicalSink
    from flinkddl.spark.context import Lowering
    from flinkddl.spark.job import Step, Write

LIMIT = "flinkddl.watermark.partitions"
_NO_EFFECT = f"'{LIMIT}' = '1' has no effect: a chain has a watermark for each partition"
NAMED_SOURCES = "spark.sql.streaming.queryEvolution.enableSourceEvolution"
_IDLE = "scan.watermark.idle-timeout"
SUBSCRIPTION = ("subscribe", "subscribePattern", "assign")
MOST = "maxOffsetsPerTrigger"

Places = dict[str, list[int]]
"""Topic -> partition numbers."""


def timed_tables(sinks: Iterable[Node]) -> frozenset[str]:
    """Return the tables (their paths) below an operator that waits for the watermark or drops rows behind it."""
    return frozenset(str(scan.table.path) for sink in sinks for scan in timed_scans(sink, below=False))


def is_timed(node: Scan, ctx: Lowering) -> bool:
    """Whether a table is read from Kafka and its watermark counts."""
    return node.options.of_topics and str(node.table.path) in ctx.timed


def above_timed(node: Node, ctx: Lowering) -> bool:
    """Whether the watermark of a table below a node counts for the job."""
    return any(str(scan.table.path) in ctx.timed for scan in timed_scans(node, below=True))


def most_partitions(node: Scan, ctx: Lowering) -> int:
    """Return how many partitions of a table may have a watermark each; 0 where one for all does."""
    if not is_timed(node, ctx):
        return 0
    limit = ctx.config.flinkddl_watermark_partitions
    return limit if limit > 1 else 0


def note_one(plan: Iterable[PhysicalSink], config: Settings, bag: Bag) -> None:
    """Note FD886 where a table is to have one watermark for all partitions, and a chain reads it."""
    if config.flinkddl_watermark_partitions == 1 and (chained := _chained(plan)):
        help = "SET 'flinkddl.execution.state' = 'aggregate' lets a table have one watermark"
        bag.note("FD886", _NO_EFFECT, chained[0].span, help)


def one_as_begun(asked: SparkJob, begun: SparkJob) -> str:
    """Return what a job says that asks for one watermark and goes on as the chain of its checkpoint; else ""."""
    one = any(isinstance(s, WithWatermark) and not s.partitions for s in asked.steps)
    if not one or _chained(asked.plan) or not _chained(begun.plan):
        return ""
    return f"FD886: {_NO_EFFECT}: its checkpoint was begun so; --fresh begins anew"


def _chained(plan: Iterable[PhysicalSink]) -> list[Sink]:
    """Return the INSERTs that run as chains and wait for the watermark of a table in Kafka."""
    return [p.sink for p in plan if p.how.chain and any(s.options.of_topics for s in timed_scans(p.sink, below=False))]


def idle_ms(node: Scan, config: Settings) -> int:
    """Return after how many ms without records a partition is idle; 0 is never. The table's option wins."""
    given = node.table.options.get(_IDLE)
    return config.table_exec_source_idle_timeout if given is None else parse_duration(given.value or "0")


def can_name(steps: Sequence[Step], writes: Iterable[Write]) -> bool:
    """Whether sources can have names: Spark refuses one (DUPLICATE_SOURCE_NAME) that a query reads by two ways."""
    places = {step.name: i for i, step in enumerate(steps)}
    for write in writes:
        ways = Counter({write.input: 1})
        for step in (steps[i] for i in _below(steps, places, write.input)):
            for name in step.reads:
                ways[name] += ways[step.name]
            if isinstance(step, Read) and step.streaming and ways[step.name] > 1:
                return False
    return True


def _below(steps: Sequence[Step], places: Mapping[str, int], top: str) -> list[int]:
    """Return the places of the steps that one reads, and they in turn, the last first."""
    left, found = [top], set[int]()
    while left:
        place = places.get(left.pop())
        if place is not None and place not in found:
            found.add(place)
            left += steps[place].reads
    return sorted(found, reverse=True)


def apart(job: SparkJob) -> Iterator[tuple[Read, WithWatermark]]:
    """Yield each Kafka read whose partitions have a watermark each, and the step that keeps it."""
    steps = {s.name: s for s in job.steps}
    for step in job.steps:
        if isinstance(step, WithWatermark) and step.partitions:
            for read in below(step, steps):
                if isinstance(read, Read) and read.of_topics:
                    yield read, step


def split(job: SparkJob, places: Mapping[str, Places]) -> SparkJob:
    """Return the job with a branch for each partition; ``places`` are those of a read by its name.

    A read that is not in ``places`` stays whole.
    """
    steps = {s.name: s for s in job.steps}
    branched = {mark.name: read for read, mark in apart(job) if read.name in places}
    chains = {name: below(steps[name], steps) for name in branched}
    inside = {s.name for chain in chains.values() for s in chain}
    out: list[Step] = []
    for step in job.steps:
        if step.name in branched:
            out += _branches(chains[step.name], branched[step.name], places[branched[step.name].name])
        elif step.name not in inside:
            out.append(step)
    return replace(job, steps=tuple(out))


def _branches(chain: Sequence[Step], read: Read, places: Places) -> list[Step]:
    count = sum(map(len, places.values()))
    out: list[Step] = []
    ends = []
    for topic, numbers in sorted(places.items()):
        for number in sorted(numbers):
            branch = [_of(s, read, topic, number, count) for s in chain]
            out += branch
            ends.append(branch[-1].name)
    return [
        *out,
        UnionAll(name=chain[-1].name, parts=tuple(ends), note=f"{chain[-1].note}, the least of all partitions"),
    ]


def _of(step: Step, read: Read, topic: str, number: int, count: int) -> Step:
    """Return the copy of a step for one partition."""

    def name(of: str) -> str:
        return f"{of}@{topic}-{number}"

    changes: dict[str, Any] = {"name": name(step.name)}
    if isinstance(step, UnionAll):
        changes["parts"] = tuple(map(name, step.parts))
    elif step.reads:
        changes["input"] = name(step.reads[0])
    if isinstance(step, WithWatermark):
        changes |= {"partitions": 0, "observed": changes["name"] if step.idle_ms else ""}
    if step is read:
        changes |= {"options": branch_options(read.options, topic, number, count), "source": read.name}
    elif isinstance(step, Read):
        changes["source"] = step.name
    return replace(step, **changes)


def branch_options(options: Mapping[str, str], topic: str, number: int, count: int) -> dict[str, str]:
    """Return the options of a Kafka source for one of ``count`` partitions."""
    out = {k: v for k, v in options.items() if k not in SUBSCRIPTION}
    out["assign"] = json.dumps({topic: [number]})
    return out | ({MOST: share(int(options[MOST]), count)} if MOST in options else {})


def counted(job: SparkJob, counts: Mapping[str, int]) -> SparkJob:
    """Return the job in which each table that tells its time by partition knows how many it has, by reads' names."""
    steps = {s.name: s for s in job.steps}
    return replace(job, steps=tuple(_counted(s, steps, counts) if isinstance(s, WithTime) else s for s in job.steps))


def _counted(step: WithTime, steps: Mapping[str, Step], counts: Mapping[str, int]) -> WithTime:
    read = topic_of(step, steps)
    return step if read is None else replace(step, senders=counts[read.name])


def topic_of(step: WithTime, steps: Mapping[str, Step]) -> Read | None:
    """Return the read of a topic whose partitions tell the time of a table; None where it is one sender."""
    reads = (s for s in below(step, steps) if isinstance(s, Read) and s.of_topics)
    return None if step.senders else next(reads)


def share(most: int, count: int) -> str:
    """Return the part of one of ``count`` branches in the most records of a batch."""
    return str(max(1, -(-most // count)))


def source_name(step: str) -> str:
    """Return the name under which Spark keeps a source's offsets: letters, digits and underscores."""
    return f"{re.sub('[^A-Za-z0-9]', '_', step)[:40]}_{digest(step)}"
