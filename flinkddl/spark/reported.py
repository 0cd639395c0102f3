"""Which node of the plan each part of Spark's report of a query stands for: Spark tells its parts apart by order alone.

``StreamingQueryProgress.stateOperators`` comes in the order of the physical plan, from its root down and a join's left
side first (Spark's ProgressReporter: ``executedPlan.collect`` over what writes to a state store), ``sources`` in the
order of the logical plan's leaves. The steps of a job have both orders, so each place in them is of one node. Where
number or names are others than foreseen, nothing is said of any: an optimizer rule may take an operator away.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flinkddl.deep import deep
from flinkddl.plan.nodes import Scan
from flinkddl.plan.physical import numbers
from flinkddl.spark.job import DropDuplicates, GroupBy, JoinStep, Read

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from flinkddl.plan.physical import Physical
    from flinkddl.spark.job import SparkJob, Step

AGGREGATE, SESSIONS, KEYED = "stateStoreSave", "sessionWindowStateStoreSaveExec", "transformWithStateExec"
CONTROL = "flinkddl.control"
DEDUPLICATE, JOIN = "dedupe", "symmetricHashJoin"


@dataclass(frozen=True)
class NodePlace:
    """A node of the plan by its number in EXPLAIN (``n3``) and its name; both are empty where it is not known."""

    node: str
    name: str


UNKNOWN = NodePlace("", "")


@dataclass(frozen=True)
class Stateful:
    """A stateful operator as it is foreseen: the names by which Spark may report it, and the node that it serves."""

    spark: tuple[str, ...]
    place: NodePlace


@dataclass(frozen=True)
class Foreseen:
    """What Spark will report of the query of a write.

    ``stateful`` are its operators with state; ``reads`` the steps that read and the scan each serves, one that is read
    twice twice: whether Spark takes that for one source hangs on whether it must tell its columns apart.
    """

    stateful: tuple[Stateful, ...] = ()
    reads: tuple[tuple[str, NodePlace], ...] = ()

    def operators(self, reported: Sequence[str]) -> tuple[NodePlace, ...]:
        """Return the node of each stateful operator by Spark's names of them; all unknown where they do not fit."""
        fits = len(self.stateful) == len(reported) and all(
            name in one.spark for one, name in zip(self.stateful, reported, strict=True)
        )
        return tuple(one.place for one in self.stateful) if fits else (UNKNOWN,) * len(reported)

    def sources(self, count: int) -> tuple[NodePlace, ...]:
        """Return the scan of each of so many sources; all unknown where there are others."""
        for found in (tuple(dict.fromkeys(self.reads)), self.reads):
            if len(found) == count:
                return tuple(place for _, place in found)
        return (UNKNOWN,) * count


NOTHING = Foreseen()


def foreseen(job: SparkJob) -> dict[str, Foreseen]:
    """Return what Spark will report of each write of a job as it runs, by the write's name."""
    if not job.streaming:
        return {}
    places = _Places(job)
    out: dict[str, Foreseen] = {}
    for write in job.writes:
        found = _below(job, write.input)
        keeping = tuple(Stateful(_names(s), places.of(s)) for s in found if not isinstance(s, Read))
        out[write.name] = Foreseen(keeping, tuple((s.name, places.scanned(s)) for s in found if isinstance(s, Read)))
    return out


def _below(job: SparkJob, top: str) -> Sequence[Step]:
    """Return the reads and the steps with state of a query, from its root down; what is read twice comes twice."""
    streams: dict[str, bool] = {}
    found: dict[str, tuple[Step, ...]] = {}
    for step in job.steps:  # each after those that it reads
        sides = [streams[name] for name in step.reads]
        streams[step.name] = step.streaming if isinstance(step, Read) else any(sides)
        reads = isinstance(step, Read) and step.streaming
        own = (step,) if reads or (sides and all(sides) and _names(step)) else ()
        found[step.name] = own + tuple(s for name in step.reads for s in found[name])
    return found[top]


def _names(step: Step) -> tuple[str, ...]:
    """Return Spark's names (``StateStoreWriter.shortName``) of what a step becomes; none where it keeps nothing."""
    match step:
        case JoinStep():
            return (JOIN,)
        case DropDuplicates():
            return (DEDUPLICATE,)
        case GroupBy():
            if any(sql.startswith("session_window(") for _, sql in step.keys):
                return (SESSIONS,)
            # a Spark that was not tested keeps the aggregates (FD888)
            keyed = any(call.form == "keyed" for call in step.state_calls)
            return (KEYED, AGGREGATE) if keyed else (AGGREGATE,)
    return ()


class _Places:
    """The nodes that steps were made for."""

    def __init__(self, job: SparkJob) -> None:
        self._owners = job.owners
        self._paths = dict(_paths(job))
        told = numbers(job.plan)
        self._numbers = {path: told[id(here)] for path, here in self._paths.items()}
        shared: dict[int, set[int]] = defaultdict(set)
        for path, here in self._paths.items():
            shared[id(here.node)].add(self._numbers[path])
        # one node that Spark carries in two forms is two numbers: its steps do not say for which they were made
        self._unclear = {node for node, seen in shared.items() if len(seen) > 1}

    def of(self, step: Step) -> NodePlace:
        """Return the node of a step with state."""
        return self._place(self._owners.get(step.name, ""))

    def scanned(self, read: Read) -> NodePlace:
        """Return the scan whose rows a source gives; unknown of the control stream that ends the input."""
        place = UNKNOWN if read.format == CONTROL else self._place(self._owners.get(read.source or read.name, ""))
        return place if place.name == Scan.__name__ else UNKNOWN

    def _place(self, path: str) -> NodePlace:
        here = self._paths.get(path)
        if here is None or id(here.node) in self._unclear:
            return UNKNOWN
        return NodePlace(f"n{self._numbers[path]}", here.node.name)


@deep
def _paths(job: SparkJob) -> list[tuple[str, Physical]]:
    """Return each place of the plan with its path, as ``operators.paths`` has it."""

    def walk(here: Physical, path: str) -> Iterator[tuple[str, Physical]]:
        yield path, here
        for i, child in enumerate(here.inputs):
            yield from walk(child, f"{path}.{i}")

    return [found for n, planned in enumerate(job.plan) for found in walk(planned.root, f"{n}")]
