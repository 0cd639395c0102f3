"""The operators of a job that keep state by key, as its pictures show them: whose they are, and what they read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flinkddl.plan.physical import numbers
from flinkddl.spark.job import GroupBy, Read
from flinkddl.spark.stateful import KEYED, nodes_by_path, operator_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from flinkddl.spark.job import SparkJob, StateCall, Step


@dataclass(frozen=True)
class Stage:
    """One ``transformWithState``: the step that makes it, and how many such its rows have gone through, itself too.

    ``nodes`` are the ids of the plan nodes whose state it keeps, with the name of our function and the columns of the
    key; ``passes`` says rows of how many others pass it, which a deeper one wants; ``reads`` are the scans and
    operators with state that its rows come from.
    """

    name: str
    depth: int
    nodes: tuple[tuple[str, str, tuple[str, ...]], ...]
    passes: int
    reads: tuple[str, ...]

    @property
    def shared(self) -> bool:
        """Whether it is more than one node's own operator."""
        return len(self.nodes) > 1 or self.passes > 0

    def words(self, node: str) -> str:
        """Return what stands in the box of one of its nodes."""
        others = [n for n, *_ in self.nodes if n != node]
        beside = f", with {', '.join(dict.fromkeys(others))}" if others else ""
        return f"by key in '{self.name}'{beside}{f', which rows of {self.passes} others pass' * (self.passes > 0)}"

    @property
    def json(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        nodes = [{"node": node, "function": function, "key": list(key)} for node, function, key in self.nodes]
        return {
            "name": self.name,
            "depth": self.depth,
            "nodes": nodes,
            "passes": self.passes,
            "reads": list(self.reads),
        }


def stages_of(job: SparkJob) -> tuple[Stage, ...]:
    """Return the operators that keep state by key, each behind those that it reads."""
    given, places = numbers(job.plan), nodes_by_path(job)
    ids = {s: f"n{given[id(places[path])]}" for s, path in job.owners.items() if path in places}
    steps, depths = {s.name: s for s in job.steps}, dict[str, int]()
    found = []
    for step in job.steps:
        if not isinstance(step, GroupBy) or operator_of(step) != KEYED:
            continue
        below = list(dict.fromkeys(_sources(step, steps)))
        depths[step.name] = 1 + max((depths.get(name, 0) for name in below), default=0)
        nodes = tuple((ids.get(owner, ""), call.function, key) for owner, call, key in _nodes(step))
        passes = len(step.stage.passes) if step.stage else 0
        reads = (ids.get(name, name) if isinstance(steps[name], Read) else name for name in below)
        found.append(Stage(step.name, depths[step.name], nodes, passes, tuple(dict.fromkeys(reads))))
    return tuple(found)


def _nodes(step: GroupBy) -> Iterator[tuple[str, StateCall, tuple[str, ...]]]:
    """Yield the step that owns each node of an operator, its call, and the columns of its key."""
    parts = [(n.step, n.call, n.keys) for n in step.stage.nodes] if step.stage else ()
    for owner, call, keys in parts or [(step.name, step.state_calls[0], step.keys)]:
        yield owner, call, tuple(sql for _, sql in keys)


def _sources(step: Step, steps: Mapping[str, Step]) -> Iterator[str]:
    """Yield the scans and operators with state whose rows come into a step."""
    for name in step.reads:
        if isinstance(steps[name], Read) or operator_of(steps[name]):
            yield name
        else:
            yield from _sources(steps[name], steps)
