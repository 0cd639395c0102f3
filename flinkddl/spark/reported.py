"""Which node of the plan each part of Spark's report of a query stands for: Spark tells its parts apart by order alone.

``stateful.py`` has the steps of a job in that order, so each place in it is of one node. Where number or names are
others than foreseen, nothing is said of any: an optimizer rule may take an operator away.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from flinkddl.plan.nodes import Scan
from flinkddl.plan.physical import numbers
from flinkddl.spark.job import GroupBy, Read
from flinkddl.spark.stateful import AGGREGATE, KEYED, nodes_by_path, operator_of, reported_steps

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from flinkddl.spark.job import SparkJob, Step

CONTROL = "flinkddl.control"
TWO_SIDED = frozenset({"anti", "antiif", "full", "fullif", "inner", "left", "leftif", "semi", "semiif"})
"""The kinds of operators by key that have a left and a right input."""


@dataclass(frozen=True)
class NodePlace:
    """A node of the plan by its number in EXPLAIN (``n3``) and its name; both are empty where it is not known.

    Several nodes in one stage of a chain are ``n3+n5``, ``Aggregate+Join``: Spark reports their sums.
    ``part``: which of the INSERTs of its query has it, by its place in ``Write.parts``.
    """

    node: str
    name: str
    part: int = field(default=0, compare=False)

    @property
    def nodes(self) -> tuple[str, ...]:
        """The numbers of its nodes."""
        return tuple(self.node.split("+"))


UNKNOWN = NodePlace("", "")


@dataclass(frozen=True)
class Expected:
    """An operator with state as it is foreseen: the names by which Spark may report it, and the node that it serves."""

    spark: tuple[str, ...]
    place: NodePlace


@dataclass(frozen=True)
class KeyedNode:
    """An operator by key, which counts for itself: ``latest_1`` is its kind and its number in the job's state.

    ``inputs`` are the nodes that its rows come from, those of a join left and right. A node of the plan may have
    several operators, one for an input that it needs as changes; ``last`` is the one whose rows are the node's.
    ``stage`` are the nodes of its stage, where it is the first of them and rows for deeper ones pass it.
    """

    operator: str
    place: NodePlace
    inputs: tuple[str, ...] = ()
    last: bool = True
    stage: NodePlace | None = None


@dataclass(frozen=True)
class Foreseen:
    """What Spark will report of the query of a write.

    ``stateful`` are its operators with state; ``reads`` the steps that read and the scan each serves, one that is read
    twice twice: whether Spark takes that for one source hangs on whether it must tell its columns apart. ``keyed`` are
    the operators by key, by their numbers in the job's state.
    """

    stateful: tuple[Expected, ...] = ()
    reads: tuple[tuple[str, NodePlace], ...] = ()
    keyed: Mapping[int, KeyedNode] = field(default_factory=dict)

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
    for write in job.runs:
        found = list(reported_steps(job, write))
        part = {f"{n}": write.parts.index(w.name) for n, w in enumerate(job.writes) if w.name in write.parts}
        keeping = tuple(Expected(_names(s), places.of(s, part)) for s in found if not isinstance(s, Read))
        reads = tuple((s.name, places.scanned(s)) for s in found if isinstance(s, Read))
        out[write.name] = Foreseen(keeping, reads, places.keyed([s for s in found if isinstance(s, GroupBy)], part))
    return out


def _names(step: Step) -> tuple[str, ...]:
    """Return the names by which Spark may report a step: one that was not tested keeps the aggregates (FD888)."""
    name = operator_of(step)
    return (KEYED, AGGREGATE) if name == KEYED else (name,)


class _Places:
    """The nodes that steps were made for."""

    def __init__(self, job: SparkJob) -> None:
        self._owners = job.owners
        self._paths = nodes_by_path(job)
        told = numbers(job.plan)
        self._numbers = {path: told[id(here)] for path, here in self._paths.items()}
        shared: dict[int, set[int]] = defaultdict(set)
        for path, here in self._paths.items():
            shared[id(here.node)].add(self._numbers[path])
        # one node that Spark carries in two forms is two numbers: its steps do not say for which they were made
        self._unclear = {node for node, seen in shared.items() if len(seen) > 1}

    def of(self, step: Step, part: Mapping[str, int]) -> NodePlace:
        """Return the node of a step with state, or those of a stage; unknown where one of them is.

        ``part`` has the place of each INSERT in its query, by its number: of several that of the first.
        """
        stage = step.stage if isinstance(step, GroupBy) else None
        paths = [self._owners.get(n.step, "") for n in stage.nodes] if stage else [self._owners.get(step.name, "")]
        places = list(dict.fromkeys(map(self._place, paths)))
        place = NodePlace("+".join(p.node for p in places), "+".join(p.name for p in places))
        place = UNKNOWN if UNKNOWN in places else place
        return replace(place, part=part.get(paths[0].partition(".")[0], 0))

    def keyed(self, groups: Sequence[GroupBy], part: Mapping[str, int]) -> dict[int, KeyedNode]:
        """Return the operators by key of a query by their numbers."""
        found: dict[int, KeyedNode] = {}
        last: dict[str, int] = {}
        for group in groups:
            made = [(n.step, n.call) for n in group.stage.nodes] if group.stage else []
            for step, call in made or [(group.name, call) for call in group.state_calls]:
                if call.form != "keyed":
                    continue
                path = self._owners.get(step, "")
                place = replace(self._place(path), part=part.get(path.partition(".")[0], 0))
                inputs = self._inputs(path, 2 if call.kind in TWO_SIDED else 1) if place != UNKNOWN else ()
                first = group.stage is not None and group.stage.passes and call is group.stage.nodes[0].call
                stage = self.of(group, part) if first else None
                found[call.node] = KeyedNode(f"{call.kind}_{call.node}", place, inputs, stage=stage)
                last.setdefault(path, call.node)  # they come from the sink on
        return {n: replace(one, last=n in {*last.values()}) for n, one in sorted(found.items())}

    def _inputs(self, path: str, count: int) -> tuple[str, ...]:
        """Return the numbers of a node's inputs; none where the operator is of one of several."""
        inputs = self._paths[path].inputs
        return tuple(f"n{self._numbers[f'{path}.{i}']}" for i in range(count)) if len(inputs) == count else ()

    def scanned(self, read: Read) -> NodePlace:
        """Return the scan whose rows a source gives; unknown of the control stream that ends the input."""
        place = UNKNOWN if read.format == CONTROL else self._place(self._owners.get(read.source or read.name, ""))
        return place if place.name == Scan.__name__ else UNKNOWN

    def _place(self, path: str) -> NodePlace:
        here = self._paths.get(path)
        if here is None or id(here.node) in self._unclear:
            return UNKNOWN
        return NodePlace(f"n{self._numbers[path]}", here.node.name)
