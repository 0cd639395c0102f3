"""The operators of a job that keep state by key, as EXPLAIN and its pictures have them: their nodes, what comes in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from flinkddl.plan.decoded import names_in
from flinkddl.plan.nodes import Deduplicate, Filter, Project, Scan
from flinkddl.plan.physical import numbers
from flinkddl.show.edges import Edge, ways_between
from flinkddl.spark.job import GroupBy, Read, below
from flinkddl.spark.stateful import KEYED, nodes_by_path, operator_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from flinkddl.plan.physical import Physical
    from flinkddl.spark.job import SparkJob, StateCall, Step, Write


@dataclass(frozen=True)
class Stage:
    """One ``transformWithState``: the step that makes it, and how many such its rows have gone through, itself too.

    ``nodes`` are the ids of the plan nodes whose state it keeps, with the name of our function, its kind and the
    columns of the key. ``edges`` say whose rows they get, ``passes`` whose pass it, and for whom: a deeper one wants
    them. ``reads`` are the scans and operators with state that its rows come from; ``tells``: event time comes in.
    """

    name: str
    depth: int
    nodes: tuple[tuple[str, str, str, tuple[str, ...]], ...]
    edges: tuple[Edge, ...]
    passes: tuple[Edge, ...]
    reads: tuple[str, ...]
    tells: bool

    def words(self, node: str) -> str:
        """Return what stands in the box of one of its nodes."""
        others = [n for n, *_ in self.nodes if n != node]
        beside = f", with {', '.join(dict.fromkeys(others))}" if others else ""
        return f"by key in '{self.name}'{beside}{f', passed by rows of {self._passing}' if self.passes else ''}"

    @property
    def line(self) -> str:
        """It in a line."""
        each = dict.fromkeys((n, kind) for n, _, kind, _ in self.nodes)
        told = [f"{n} {kind} of {', '.join(self._sources(n)) or 'no rows'}" for n, kind in each]
        time = "; event time comes in" if self.tells else ""
        passing = f"; passed by rows of {self._passing}" if self.passes else ""
        return f"{self.depth} '{self.name}': {'; '.join(told)}{passing}{time}"

    def _sources(self, node: str) -> Iterable[str]:
        return dict.fromkeys(edge.origin for edge in self.edges if edge.target == node)

    @property
    def _passing(self) -> str:
        targets: dict[str, dict[str, None]] = {}
        for edge in self.passes:
            targets.setdefault(edge.origin, {})[edge.target] = None
        alike: dict[str, list[str]] = {}
        for origin, each in targets.items():
            alike.setdefault(", ".join(each), []).append(origin)
        return " and ".join(f"{', '.join(origins)} for {each}" for each, origins in alike.items())

    @property
    def json(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        nodes = [
            {"node": node, "function": name, "kind": kind, "key": list(key)} for node, name, kind, key in self.nodes
        ]
        return {
            "name": self.name,
            "depth": self.depth,
            "nodes": nodes,
            "edges": [edge.json for edge in self.edges],
            "passes": [edge.json for edge in self.passes],
            "reads": list(self.reads),
            "eventTime": self.tells,
        }


def stages_of(job: SparkJob) -> tuple[Stage, ...]:
    """Return the operators that keep state by key, each behind those that it reads."""
    told, depths = _Told(job), dict[str, int]()
    found = []
    for step in job.steps:
        if not isinstance(step, GroupBy) or operator_of(step) != KEYED:
            continue
        under = list(dict.fromkeys(told.sources(step)))
        depths[step.name] = 1 + max((depths.get(name, 0) for name in under), default=0)
        nodes = tuple((told.id(owner), call.function, call.kind, key) for owner, call, key in _nodes(step))
        mine = {owner for owner, *_ in _nodes(step)}
        ways = told.ways(step, under)
        edges, passes = (
            tuple(dict.fromkeys(edge for a, b in ways if (b in mine) == into for edge in told.edges(a, b)))
            for into in (True, False)
        )
        reads = (told.id(name) if isinstance(told.steps[name], Read) else name for name in under)
        tells = step.stage is not None and bool(step.stage.time)
        found.append(Stage(step.name, depths[step.name], nodes, edges, passes, tuple(dict.fromkeys(reads)), tells))
    return tuple(found)


def _nodes(step: GroupBy) -> Iterator[tuple[str, StateCall, tuple[str, ...]]]:
    """Yield the step that owns each node of an operator, its call, and the columns of its key."""
    parts = [(n.step, n.call, n.keys) for n in step.stage.nodes] if step.stage else ()
    for owner, call, keys in parts or [(step.name, step.state_calls[0], step.keys)]:
        yield owner, call, tuple(sql for _, sql in keys)


class _Told:
    """Steps by the plan nodes that they serve."""

    def __init__(self, job: SparkJob) -> None:
        self._job, self._numbers, self._places = job, numbers(job.plan), nodes_by_path(job)
        self.steps: Mapping[str, Step] = {s.name: s for s in job.steps}
        self._owners = {name: f"{n}" for n, write in reversed(list(enumerate(job.writes))) for name in self._of(write)}
        self._owners |= job.owners  # what no node owns was made for the sink

    def _of(self, write: Write) -> Iterator[str]:
        """Yield the steps of the query of an INSERT, those in stages too."""
        run = next((query for query in self._job.united if write.name in query.parts), write)
        for step in below(self.steps[run.input], self.steps):
            yield step.name
            yield from (owner for owner, *_ in _nodes(step)) if isinstance(step, GroupBy) and step.stage else ()

    def id(self, step: str) -> str:
        """Return the id of a step's plan node, else its name."""
        place = self._place(step)
        return step if place is None else self._id(place)

    def _id(self, place: Physical) -> str:
        return f"n{self._numbers[id(place)]}"

    def _place(self, step: str) -> Physical | None:
        return self._places.get(self._owners.get(step, ""))

    @cached_property
    def _kinds(self) -> dict[str, str]:
        """What each node keeps that does so by key, by its step."""
        keyed = (s for s in self.steps.values() if isinstance(s, GroupBy) and operator_of(s) == KEYED)
        return {owner: call.kind for s in keyed for owner, call, _ in _nodes(s)}

    @cached_property
    def _keeping(self) -> set[str]:
        """The ids of the nodes that keep state by key."""
        return {self.id(owner) for owner in self._kinds}

    def sources(self, step: Step) -> Iterator[str]:
        """Yield the scans and operators with state whose rows come into a step."""
        for name in step.reads:
            if isinstance(self.steps[name], Read) or operator_of(self.steps[name]):
                yield name
            else:
                yield from self.sources(self.steps[name])

    def ways(self, step: GroupBy, under: Iterable[str]) -> list[tuple[str, str]]:
        """Return whose rows come into an operator, and for whom; out of a chain come those of its ``ends``."""
        ways = step.stage.ways if step.stage else [(name, step.name) for name in under]
        return [(origin, target) for name, target in ways for origin in self._origins(name)]

    def _origins(self, name: str) -> Iterator[str]:
        """Yield the tables and nodes whose rows a step has: of what stands in a chain itself."""
        step = self.steps.get(name)
        if step is None or isinstance(step, Read):
            yield name
        elif isinstance(step, GroupBy) and step.stage is not None:
            for end in step.stage.ends:
                yield from self._origins(end)
        elif operator_of(step):
            yield name
        else:
            for read in step.reads:
                yield from self._origins(read)

    def _kept(self, scan: Scan) -> tuple[str, ...]:
        """Return what of a row is kept of a table of upserts."""
        names = [[f.name] for f in scan.fields] if scan.carries == "upsert" else []
        parts = self._job.kept.get(id(scan))
        return tuple(map(".".join, names if parts is None else sorted(names_in(parts))))

    def edges(self, origin: str, target: str) -> Iterator[Edge]:
        """Yield the ways of rows from one step to another, with what is done with them in words."""
        given, above = self._place(origin), self._place(target)
        if given is None or above is None:
            yield Edge(self.id(origin), self.id(target))
            return
        while isinstance(given.node, Filter | Project) and self._id(given) not in self._keeping:
            given = given.inputs[0]
        bare = Edge(self._id(given), self._id(above))
        if isinstance(given.node, Scan):
            bare = replace(bare, table=given.node.table.path.name, columns=self._kept(given.node))
        looked = list(self._tables(given)) if self._brings(origin, given) else [given]
        yield from [
            edge for place in looked for edge in ways_between(bare, self._id(place), above, self._id, self._keeping)
        ] or [bare]

    def _brings(self, step: str, place: Physical) -> bool:
        """Whether a step brings a table to changes for a node that does something else with them."""
        own = isinstance(place.node, Deduplicate | Filter | Project | Scan)
        return self._kinds.get(step) == "latest" and not own

    def _tables(self, place: Physical) -> Iterator[Physical]:
        """Yield the tables of upserts that a place reads itself, one of equal ones."""
        found: dict[str, Physical] = {}
        ahead = list(place.inputs)
        while ahead:
            here = ahead.pop()
            if isinstance(here.node, Scan) and here.form.kind == "upsert":
                found[self._id(here)] = here
            elif self._id(here) not in self._keeping:
                ahead += here.inputs
        yield from found.values()
