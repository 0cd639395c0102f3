"""What becomes of each plan node on Spark: its operators, its state, and whether real-time mode takes it.

The lowering notes which node each step was made for (``Lowering.owners``); a conversion belongs to the node that needs
it. EXPLAIN prints one block a node.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from flinkddl.plan.nodes import Scan
from flinkddl.plan.physical import identities, numbers
from flinkddl.spark import realtime
from flinkddl.spark.job import (
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
    WithWatermark,
)
from flinkddl.spark.stateful import nodes_by_path
from flinkddl.spark.ttl import forgets

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from flinkddl.plan.identity import Identity
    from flinkddl.plan.nodes import Node
    from flinkddl.plan.nodes.base import Mode
    from flinkddl.plan.physical import Physical
    from flinkddl.spark.job import SparkJob, StateCall


@dataclass(frozen=True)
class OnSpark:
    """One plan node: where it stands, Spark's operators, what they keep, what keeps real-time mode out, its number."""

    depth: int
    here: Physical
    mode: Mode
    operators: tuple[str, ...]
    state: str
    blocked: str
    identity: str = ""
    number: int = 0


def paths(sinks: Iterable[Node]) -> dict[int, str]:
    """Return the path of every node by its identity: ``0.1`` is the second input of the first sink."""
    return {id(node): path for n, sink in enumerate(sinks) for node, path in _walk(sink, f"{n}")}


def _walk(node: Node, path: str) -> Iterator[tuple[Node, str]]:
    yield node, path
    for i, child in enumerate(node.inputs):
        yield from _walk(child, f"{path}.{i}")


def operators(job: SparkJob) -> list[OnSpark]:
    """Return the nodes of a job, roots first."""
    owned: dict[str, list[Step]] = {}
    for step in job.steps:
        for owner, part in _parts(step):
            owned.setdefault(job.owners.get(owner, "0"), []).append(part)
    blocked = {p.name if isinstance(p, Step) else id(p): why for p, why in realtime.blockers(job)}
    sink = next((f"writes through '{w.format}'" for w in job.writes if w.format not in realtime.SINKS), "")
    numbered, places = numbers(job.plan), nodes_by_path(job)
    running = {numbered[id(places[path])]: path for path in owned if path in places}
    walk = _Walk(owned, blocked | {"": sink}, identities(job.plan), numbered, running)
    return [o for n, p in enumerate(job.plan) for o in walk.nodes(p.root, p.modes, f"{n}")]


def _parts(step: Step) -> Iterator[tuple[str, Step]]:
    """Yield a step by the name of its owner; a stage once for each of its nodes."""
    if not isinstance(step, GroupBy) or step.stage is None:
        yield step.name, step
        return
    for node in step.stage.nodes:
        yield node.step, replace(step, aggs=(("", replace(step.stage, nodes=(node,))),))


@dataclass(frozen=True)
class _Walk:
    """Steps by the path of the node that they serve; what node, step or, as "", sink real-time mode does not take.

    ``running`` is the path of the place where an operator runs that is there more than once, by its number.
    """

    owned: Mapping[str, list[Step]]
    blocked: Mapping[str | int, str]
    identities: Mapping[int, Identity]
    numbers: Mapping[int, int]
    running: Mapping[int, str]

    def nodes(self, found: Physical, mode: Mode, path: str, depth: int = 0) -> Iterator[OnSpark]:
        steps = self.owned.get(path, [])
        names = tuple(dict.fromkeys(filter(None, map(spark_operator, steps))))
        if isinstance(found.node, Scan) and not steps:
            names = ("read with the scan above",)
        elif not steps and self.running.get(self.numbers[id(found)], path) != path:
            names = (f"runs once, as the other n{self.numbers[id(found)]}",)
        state = _state(mode, [s for s in steps if _keeps(s)])
        places: list[int | str] = [id(found.node), *(s.name for s in steps), *([] if depth else [""])]
        why = next((self.blocked[p] for p in places if self.blocked.get(p)), "")
        identity = str(self.identities.get(id(found), "")) if state else ""
        yield OnSpark(depth, found, mode, names, state, why, identity, self.numbers[id(found)])
        for i, (child, below) in enumerate(zip(found.inputs, mode.inputs, strict=True)):
            yield from self.nodes(child, below, f"{path}.{i}", depth + 1)


def key_names(mode: Mode) -> tuple[tuple[str, ...], ...]:
    """Return the upsert keys of a node by the names of their columns."""
    names = [f.name for f in mode.node.fields]
    return tuple(tuple(names[k] for k in sorted(key)) for key in mode.keys)


def _state(mode: Mode, keeping: list[Step]) -> str:
    if not keeping:
        return ""
    words = mode.node.state(mode) or ", ".join(s.note for s in keeping)
    return f"{words}; idle rows are forgotten" if all(map(forgets, keeping)) else words


def _keeps(step: Step) -> bool:
    return step.keeps != "nothing" if isinstance(step, JoinStep) else isinstance(step, GroupBy | DropDuplicates)


_WORDS: Mapping[type[Step], str] = {
    DropDuplicates: "dropDuplicates",
    UnionAll: "union",
    WithWatermark: "withWatermark",
    WithTime: "event time as rows",
    Rows: "constant rows",
    Where: "",
    Select: "",
}


def spark_operator(step: Step) -> str:
    """Return a step in the words of Spark's API; "" for a mere projection."""
    match step:
        case Read():
            return f"readStream {step.format}" if step.streaming else f"read {step.format}"
        case GroupBy():
            return f"{_grouping(step.state_calls)}{_staged(step)}"
        case JoinStep():
            return f"join {step.how}"
        case Coalesce():
            return f"coalesce {step.tasks}"
    return _WORDS.get(type(step), type(step).__name__)


def _staged(step: GroupBy) -> str:
    """Return the words for a node that shares its operator with others, or with rows that pass."""
    return f" in '{step.name}'{', which others pass' * bool(step.stage.passes)}" if step.stage else ""


def _grouping(calls: Sequence[StateCall]) -> str:
    """Return the words for a GROUP BY: which of our functions, and in which form they keep their state."""
    if not calls:
        return "groupBy.agg, Spark's own functions"
    if all(call.form == "keyed" for call in calls):
        return f"transformWithState {', '.join(call.function for call in calls)}"
    ours = (f"{call.function}{', which has no keyed form' * (call.form == 'uncovered')}" for call in calls)
    return f"groupBy.agg {', '.join(ours)}"


def lines(found: Iterable[OnSpark]) -> list[str]:
    """Return the text of EXPLAIN."""
    return [f"{'   ' * o.depth}{line}" for o in found for line in _lines(o)]


def _lines(o: OnSpark) -> Iterator[str]:
    yield f"n{o.number} {o.here.node.describe()}"
    spark = ", ".join(o.operators) or "select, where"
    yield f"   Flink [{o.mode.words}], here {o.here.form.kind}; Spark: {spark}"
    if o.mode.keys and not o.mode.append:
        yield f"   upsert keys: {', '.join('(' + ', '.join(key) + ')' for key in key_names(o.mode))}"
    if o.here.asked.words:
        yield f"   required traits: {', '.join(o.here.asked.words)}"
    if o.state:
        yield f"   state: {o.state}{f'; {o.identity}' if o.identity else ''}"
    yield f"   real-time mode: {'no, ' + o.blocked if o.blocked else 'yes'}"
