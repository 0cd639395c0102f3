"""New operators above some that go on: they begin with the rows that those have given out so far.

A new operator has to know the rows that were there before it, or each change of one of them would be wrong. Where it
reads operators that go on and can tell their rows (``Held.java``), these rows are read from the checkpoint once. The
query runs over them in one batch, with them in the place of those operators and all below: what the new operators keep
after it is their state, and what comes out of them is written, as the new query has never written it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.plan.nodes import Scan
from flinkddl.plan.physical import numbers
from flinkddl.spark.carried import NEW
from flinkddl.spark.folders import FILES
from flinkddl.spark.job import PART, GroupBy, Read, Where, below
from flinkddl.spark.stateful import KEYED, nodes_by_path, place_of, stateful
from flinkddl.sqltypes import quote

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from flinkddl.plan.physical import Physical
    from flinkddl.spark.job import SparkJob, Step, Write
    from flinkddl.spark.stateful import Kept, Stateful

SEED = "flinkddl.seed"
"""Format of a read of the rows that an operator has given out so far."""
TELLING = frozenset({"aggregate", "inner", "latest", "semi", "top"})
"""Kinds of nodes that tell their rows (``Kind.held``)."""


@dataclass(frozen=True)
class Seed:
    """An operator that goes on: its step, the number it had, and the nodes whose rows are wanted."""

    step: GroupBy
    was: int
    nodes: tuple[Kept, ...]


@dataclass(frozen=True)
class Seeding:
    """The query over rows that are there: ``job``, whose operators are those with the numbers ``new``, in its order.

    ``result`` is the step whose rows are written.
    """

    job: SparkJob
    new: tuple[int, ...]
    seeds: Mapping[str, Seed]
    result: str


def seeding(job: SparkJob, write: Write, order: Sequence[int]) -> Seeding | None:
    """Return how the new operators of a query begin; None where none is new.

    ``order`` has the number that each operator had (``carried.py``). Raises FD679 where rows are not to be had.
    """
    found = stateful(job, write)
    new = [n for n, was in enumerate(order) if was == NEW]
    if not new:
        return None
    _check_sink(write)
    wanted = _Wanted(job, write, found, order)
    for n in new:
        wanted.below(n)
    parts = wanted.parts()
    steps = {s.name: s for s in job.steps}
    number = {o.step: n for n, o in enumerate(found)}
    reached = _reached(write, steps, {o.step for n, o in enumerate(found) if n not in new})
    kept = [s for s in reached if number.get(s.name, NEW) not in (NEW, *new)]
    seeds = {s.name: _seed(s, order[number[s.name]], wanted.nodes, found[number[s.name]]) for s in kept}
    run = replace(job, steps=tuple(_read(s) if s.name in seeds else s for s in reached))
    hidden = wanted.nodes.keys() - {node.step for seed in seeds.values() for node in seed.nodes}
    if hidden or [number[o.step] for o in stateful(run, write)] != new:
        raise _refused(
            f"an operator of '{write.name}'", "rows of an operator that goes on pass others on their way to a new one"
        )
    if len(parts) == len(job.parts_of(write)):
        return Seeding(run, tuple(new), seeds, write.input)
    few = Where(name="few", input=write.input, condition=f"{quote(PART)} IN ({', '.join(map(str, parts))})")
    return Seeding(replace(run, steps=(*run.steps, few)), tuple(new), seeds, few.name)


def _check_sink(write: Write) -> None:
    """Refuse a sink that tells by a query's batches what it has: another one fills, and again where it is killed."""
    what = f"an operator of '{write.name}'"
    if write.format in FILES:
        raise _refused(what, "its sink has a list of the files that the query before wrote, and takes no other's")
    if "transactional-id" in write.options:
        raise _refused(what, "its sink takes each row once, and what a start that is killed has filled comes again")


@dataclass
class _Wanted:
    """Which nodes new operators read, by the names of their steps."""

    job: SparkJob
    write: Write
    found: Sequence[Stateful]
    order: Sequence[int]

    def __post_init__(self) -> None:
        self.nodes: dict[str, Kept] = {}
        self._places, self._numbered = nodes_by_path(self.job), numbers(self.job.plan)
        self._owned: dict[int, tuple[int, Kept | None]] = {}  # by what is equal in the plan: the last of its steps
        seen: Counter[tuple[int, str]] = Counter()
        for n, operator in reversed(list(enumerate(self.found))):
            for kept in operator.nodes or (None,):
                place = self._place(kept.step if kept else operator.step)
                self._owned[self._numbered[id(place)]] = n, kept
                seen[self._numbered[id(place)], f"{kept and (kept.keys, kept.call.args)}"] += 1
        self._twice = {number for (number, _), times in seen.items() if times > 1}

    def _place(self, step: str) -> Physical:
        return self._places[place_of(self.job, self.write, step)]

    def below(self, number: int) -> None:
        """Look for the rows that a new operator reads. Raises FD679."""
        operator = self.found[number]
        if operator.spark != KEYED or not operator.nodes:
            raise _refused(f"'{operator.what}'", "it keeps no state by key")
        for node in operator.nodes:
            for child in self._place(node.step).inputs:
                self._read(child, node)

    def parts(self) -> list[int]:
        """Return which INSERTs of the query new operators write into, by their places; the others have their rows.

        Raises FD679 where one gets rows of operators that go on as well, which it has too.
        """
        found = []
        for n, part in enumerate(self.job.parts_of(self.write)):
            given = self._givers(self.job.plan[self.job.writes.index(part)].root)
            if len(given) > 1:
                why = "rows of an operator that goes on come to the sink beside it, and would be written again"
                raise _refused(f"an operator of '{part.name}'", why)
            found += [n] if True in given else []
        return found

    def _givers(self, here: Physical) -> set[bool]:
        """Return of the operators from which rows come out, without another one above, whether they are new."""
        equal = self._numbered[id(here)]
        if equal in self._owned:
            return {self.order[self._owned[equal][0]] == NEW}
        return {new for child in here.inputs for new in self._givers(child)}

    def _read(self, here: Physical, by: Kept) -> None:
        equal = self._numbered[id(here)]
        if equal not in self._owned:
            if isinstance(here.node, Scan) or not here.inputs:
                raise _refused(f"'{by.what}'", f"it reads '{here.node.describe()}' itself")
            for child in here.inputs:
                self._read(child, by)
            return
        number, kept = self._owned[equal]
        if self.order[number] == NEW:
            return
        if kept is None or kept.call.kind not in TELLING or any(kept.call.ttl) or equal in self._twice:
            raise _refused(f"'{by.what}'", f"'{here.node.describe()}' does not tell what it has given out")
        self.nodes[kept.step] = kept


def _reached(write: Write, steps: Mapping[str, Step], ends: set[str]) -> list[Step]:
    """Return the steps of a query down to those ``ends``, in the job's order."""
    wanted = {write.input}
    for step in reversed(below(steps[write.input], steps)):
        wanted |= set(step.reads) if step.name in wanted and step.name not in ends else set()
    return [step for step in steps.values() if step.name in wanted]


def _seed(step: Step, was: int, wanted: Mapping[str, Kept], operator: Stateful) -> Seed:
    assert isinstance(step, GroupBy)
    return Seed(step, was, tuple(node for node in operator.nodes if node.step in wanted))


def _read(step: Step) -> Read:
    return Read(name=step.name, format=SEED, options={}, streaming=True, note="rows of an operator that goes on")


def _refused(what: str, why: str) -> FlinkDdlError:
    message = f"{what} is new, and the rows that were there before it are not to be had: {why}"
    help = (
        "write it as an INSERT of its own beside the old one, which reads its topics anew, or start anew with --fresh"
    )
    return FlinkDdlError.of("FD679", message, help=help)
