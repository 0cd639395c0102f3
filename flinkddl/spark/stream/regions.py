"""Where rows part and meet again: the steps between a step that others read more than once and the one where all meet.

Steps make a graph in which most are read once. Rows of a step that two others read would be made twice, with all the
state below; what lies between such steps and the step in which all their rows meet can be a chain instead
(``chain.py``), as long as it is row by row, UNION ALL and operators with state by key.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from flinkddl.spark.job import (
    Coalesce,
    DropDuplicates,
    GroupBy,
    JoinStep,
    Read,
    Rows,
    Select,
    StateCall,
    UnionAll,
    Where,
    WithMetadata,
    WithTime,
    WithWatermark,
    below,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from flinkddl.spark.job import Step

MOST_WAYS = 32
_OF_RECORDS = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")
"""The columns of Spark's Kafka source."""
Move = tuple["Step", int]
"""A step of a way, and which of its choices; -1 where it has none."""


@dataclass(frozen=True)
class Way:
    """From a step to an operator with state, or to the step where all meet: what is done with a row, in order."""

    moves: tuple[Move, ...]
    target: str


@dataclass
class Graph:
    """Steps by their names, those that read each of them, and what is known of their columns."""

    steps: Mapping[str, Step]
    readers: dict[str, list[str]] = field(default_factory=dict)
    place: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, steps: Sequence[Step]) -> Graph:
        """Return the graph of steps, each behind those that it reads."""
        graph = cls({s.name: s for s in steps})
        for n, step in enumerate(steps):
            graph.place[step.name] = n
            for name in step.reads:
                graph.readers.setdefault(name, []).append(step.name)
        return graph

    def parted(self) -> list[str]:
        """Return the steps that are read more than once, inputs first."""
        return [name for name in self.steps if len(self.readers.get(name, ())) > 1]

    def source(self, name: str) -> str:
        """Return the step of rows that part of which this one is made by projections and filters alone; else this."""
        at, step = name, self.steps.get(name)
        while len(self.readers[at]) == 1 and isinstance(step, Select | Where) and _fits(step):
            at, step = step.input, self.steps.get(step.input)
        return at if len(self.readers[at]) > 1 else name

    def columns(self, name: str) -> tuple[str, ...] | None:
        """Return the columns of a step; None where its text does not say them."""
        match step := self.steps.get(name):
            case Select():
                more = step.generator[1] if step.generator else ()
                return (*(c for c, _ in step.columns), *more)
            case GroupBy():
                return (*(c for c, _ in step.keys), *(c for c, _ in step.aggs))
            case UnionAll():
                return self.columns(step.parts[0])
            case WithTime():
                return step.columns
            case Where() | WithMetadata() | WithWatermark() | Coalesce() | DropDuplicates():
                return self.columns(step.input)
            case Read() if step.of_topics:
                return (*_OF_RECORDS, *(["headers"] if step.options.get("includeHeaders") == "true" else []))
            case JoinStep():
                left, right = self.columns(step.left), self.columns(step.right)
                return None if left is None or right is None else (*left, *right)
        return None

    def timed(self, name: str) -> set[str]:
        """Return the columns of a step that Spark knows as event time."""
        match step := self.steps.get(name):
            case WithWatermark():
                return {step.column, *self.timed(step.input)}
            case WithMetadata():
                return {*step.columns, *self.timed(step.input)}
            case Select():
                below = self.timed(step.input)
                return {c for c, e in step.columns if e.strip("`") in below}
            case Where() | Coalesce() | DropDuplicates():
                return self.timed(step.input)
            case JoinStep():
                return self.timed(step.left) | self.timed(step.right)
            case UnionAll():
                whole = self.columns(name) or ()
                parts = [(self.columns(part) or (), self.timed(part)) for part in step.parts]
                return {whole[i] for columns, timed in parts for i, c in enumerate(columns) if c in timed}
        return set()


@dataclass(frozen=True)
class Region:
    """What lies between ``entries`` and ``end``: ``inside`` are the steps, ``depths`` of operators with state and end.

    ``entries`` are steps outside whose rows come in, each with its ways; of a ``whole`` query all of them at stage 1.
    """

    end: str
    inside: frozenset[str]
    depths: Mapping[str, int]
    entries: Mapping[str, tuple[Way, ...]]
    ways: Mapping[str, tuple[Way, ...]]
    whole: bool = False

    @property
    def stages(self) -> int:
        """How many stages its rows go through."""
        return self.depths[self.end] - 1


def region(graph: Graph, base: str) -> Region | None:
    """Return what lies between a step and where its rows meet; None where that cannot be a chain.

    What comes in from the side begins where its rows part, where that can be.
    """
    return _region(graph, base, wide=True) or _region(graph, base, wide=False)


def unfit(graph: Graph, base: str) -> list[str]:
    """Return the steps between a step and where its rows meet that keep that from being a chain."""
    found = _grown(graph, base, wide=True)
    if found is None:
        return []
    inside, end, _ = found
    last = [] if isinstance(graph.steps[end], UnionAll) else [end]
    return [*(name for name in inside if not _fits(graph.steps[name])), *last]


def _grown(graph: Graph, base: str, *, wide: bool) -> tuple[frozenset[str], str, set[str]] | None:
    """Return what lies between a step and where its rows meet, and those of all that comes in; then that, and those."""
    bases = [base]
    while True:
        found = _between(graph, bases)
        if found is None:
            return None
        inside, end = found
        entries = {r for name in (*inside, end) for r in graph.steps[name].reads if r not in inside}
        sources = {graph.source(e) if wide else e for e in entries}
        parted = sorted(e for e in sources if len(graph.readers[e]) > 1 and e not in bases)
        if not parted:
            return inside, end, entries
        bases += parted


def _region(graph: Graph, base: str, *, wide: bool) -> Region | None:
    found = _grown(graph, base, wide=wide)
    if found is None:
        return None
    inside, end, entries = found
    if not isinstance(graph.steps[end], UnionAll) or not all(_fits(graph.steps[name]) for name in inside):
        return None
    try:
        return _described(graph, inside, end, entries)
    except _Unfit:
        return None


def whole_region(graph: Graph, end: str) -> Region | None:
    """Return what lies between the rows of tables and the last step; None where that cannot be a chain."""
    inside: set[str] = set()
    entries: set[str] = set()
    for step in reversed(list(graph.steps.values())):
        if step.name != end and not any(r in inside or r == end for r in graph.readers.get(step.name, ())):
            continue
        if _fits(step):
            inside.add(step.name)
        elif any(isinstance(s, GroupBy | JoinStep | DropDuplicates) for s in below(step, graph.steps)):
            return None
        else:
            entries.add(step.name)
    for name in sorted(entries):
        entries.remove(name)
        entries.add(_risen(graph, name, end))
    under = [s for e in entries for s in below(graph.steps[e], graph.steps)]
    if any(isinstance(s, WithTime) and s.name not in entries for s in under):
        return None  # nobody would hear what it tells
    inside -= {end, *(s.name for s in under)}
    read = [s.name for s in under if isinstance(s, Read | Rows)]
    if len(set(read)) < len(read) or not all({*graph.steps[s].reads} <= inside | entries for s in (*inside, end)):
        return None  # rows part below what only Spark does with them, such as a watermark
    try:
        return replace(_described(graph, frozenset(inside), end, entries), whole=True)
    except _Unfit:
        return None


def _risen(graph: Graph, name: str, end: str) -> str:
    """Return the step up to which projections and filters alone go on with rows, all of them the same way."""
    while not isinstance(graph.steps[name], WithTime):  # what it tells is beside its own rows
        several = graph.readers[name]
        step = graph.steps[several[0]]
        if len(several) > 1 or step.name == end or not isinstance(step, Select | Where) or unfolds(step):
            return name
        name = step.name
    return name


class _Unfit(Exception):
    pass


def _between(graph: Graph, bases: Sequence[str]) -> tuple[frozenset[str], str] | None:
    """Return the steps above some, up to the first through which all their rows come, and that one."""
    ahead = {r for base in bases for r in graph.readers.get(base, ())}
    inside: set[str] = set()
    while len(ahead) > 1:
        name = min(ahead, key=graph.place.__getitem__)
        ahead.remove(name)
        readers = graph.readers.get(name)
        if not readers:
            return None
        inside.add(name)
        ahead |= set(readers)
    end = next(iter(ahead), None)
    # a step of which a base is made is inside itself
    return (
        None
        if end is None or any(graph.place[end] <= graph.place.get(b, -1) for b in bases)
        else (frozenset(inside), end)
    )


def _fits(step: Step) -> bool:
    match step:
        case GroupBy():
            (_, call), *more = step.aggs
            return not more and isinstance(call, StateCall) and call.form == "keyed"
        case Select():
            return step.generator is None or bool(step.choices) or step.generator[0].startswith("inline(")
    return isinstance(step, Where | UnionAll | WithMetadata)


def _described(graph: Graph, inside: frozenset[str], end: str, entries: set[str]) -> Region:
    ways: dict[str, tuple[Way, ...]] = {}
    for origin in (*entries, *(n for n in inside if isinstance(graph.steps[n], GroupBy))):
        ways[origin] = tuple(_ways(graph, origin, inside, end))
        if len(ways[origin]) > MOST_WAYS or graph.columns(origin) is None or not _unfolds_first(ways[origin]):
            raise _Unfit
    depths: dict[str, int] = {}
    feeding: dict[str, list[str]] = {}
    for origin, several in ways.items():
        for way in several:
            feeding.setdefault(way.target, []).append(origin)

    def depth(name: str) -> int:
        if name not in depths:
            depths[name] = 1 + max((depth(o) for o in feeding[name] if o in inside), default=0)
        return depths[name]

    depth(end)
    if graph.columns(end) is None:
        raise _Unfit
    ordered = sorted(entries, key=lambda e: (graph.place.get(e, -1), e))
    of_nodes = {n: w for n, w in ways.items() if n in inside}
    return Region(end, inside, depths, {e: ways[e] for e in ordered}, of_nodes)


def _ways(graph: Graph, at: str, inside: frozenset[str], end: str, moves: tuple[Move, ...] = ()) -> Iterator[Way]:
    for name in graph.readers[at]:
        step = graph.steps[name]
        if name == end:
            yield Way((*moves, (step, -1)), end)
        elif name not in inside:
            continue
        elif isinstance(step, GroupBy):
            yield Way(moves, name)
        else:
            choices = len(step.choices) if isinstance(step, Select) else 0
            for n in range(choices) or (-1,):
                yield from _ways(graph, name, inside, end, (*moves, (step, n)))


def _unfolds_first(ways: Sequence[Way]) -> bool:
    """Whether a row becomes many before its ways part."""
    shared = trunk(ways)
    return not any(unfolds(step) for way in ways for step, n in way.moves[shared:] if n < 0)


def unfolds(step: Step) -> bool:
    """Whether a step makes several rows of one, and does not say how many at most."""
    return isinstance(step, Select) and step.generator is not None and not step.choices


def trunk(ways: Sequence[Way]) -> int:
    """Return how many moves ways begin with in common."""
    first, *more = (way.moves for way in ways)
    n = 0
    while n < len(first) and all(n < len(m) and m[n] == first[n] for m in more) and first[n][1] < 0:
        n += 1
    return n if more else len(first)
