"""A chain of stages where rows part and meet again: what is read more than once runs once.

A stage is one operator for all nodes with state of one depth; rows that a deeper stage wants pass it. Before a stage
one pass over the rows makes a row for each node that wants it: STRUCTs of which one is not NULL, an edge each
(linear.md; Spark takes no step apart that others read twice, and would make its rows twice, with all the state below).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from flinkddl.plan.sharing import MOST_PASSED
from flinkddl.plan.stateforms import MERGES, TABLES
from flinkddl.spark.base import same, select, where
from flinkddl.spark.job import (
    TIMES,
    WATERMARKED,
    DropDuplicates,
    GroupBy,
    JoinStep,
    Select,
    StageCall,
    StageNode,
    StateCall,
    UnionAll,
    Where,
    WithMetadata,
    WithTime,
    below,
    flows,
)
from flinkddl.spark.stream.base import explode, members, struct
from flinkddl.spark.stream.fanout import drop_unread
from flinkddl.spark.stream.regions import Graph, region, trunk, unfolds
from flinkddl.spark.stream.ways import Pass
from flinkddl.sqltypes import quote

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence, Set

    from flinkddl.spark.context import Lowering
    from flinkddl.spark.job import Named, Step
    from flinkddl.spark.stream.regions import Region, Way

STAGE = "__stage"
EDGE = "__edge"
TIME = "__time"
"""In the place of a target: event time, which goes from stage to stage (``plan/clocks.py``)."""
FROM = "__from"
"""The task that makes a row which passes a stage on its way to the end: its rows pass in one group, in their order."""
KEY = "key"
ARGUMENTS = "args"


def chained(ctx: Lowering, first: int, top: str, tables: Set[str] = frozenset(), *, merges: bool = True) -> set[str]:
    """Put chains into the place of what would run more than once, in the steps from number ``first`` on.

    ``tables`` are the steps of tables that are read once; without ``merges`` chains begin at those alone. Returns the
    steps that run more than once all the same.
    """
    drop_unread(ctx, first, top)
    kept: set[str] = set()
    while True:
        graph = Graph.of(ctx.steps[first:])
        base = next((name for name in graph.parted() if name not in kept and (merges or name in tables)), None)
        if base is None:
            return kept & {*graph.parted()}
        kept.add(base)
        found = region(graph, base)
        streams = flows(ctx.steps)
        if found is None or not all(streams[e] for e in found.entries) or not _pays(ctx, found):
            continue
        # what an earlier version had by itself is no part of a chain that it did not have
        inside = {*graph.parted()} & {*found.inside, *found.entries}
        uses = {TABLES if name in tables else MERGES for name in inside}
        if not tables or uses <= ctx.newer:
            ctx.used |= uses
            put(ctx, graph, found)
            drop_unread(ctx, first, top)


def _pays(ctx: Lowering, found: Region) -> bool:
    """Whether no table's rows pass more stages than reading it again costs."""
    steps = {step.name: step for step in ctx.steps}
    for entry, ways in found.entries.items():
        depths = [found.depths[way.target] for way in ways]
        read = not any(isinstance(s, GroupBy | JoinStep | DropDuplicates) for s in below(steps[entry], steps))
        if read and max(depths) - min(depths) > MOST_PASSED:
            return False
    return True


def put(ctx: Lowering, graph: Graph, found: Region) -> None:
    """Put the chain's steps where its last step was."""
    old = list(ctx.steps)
    made = len(old)
    _Chain(ctx, graph, found).build()
    for step in ctx.steps[made:]:
        ctx.owners.setdefault(step.name, ctx.owners.get(found.end, 0))
    new = ctx.steps[made:]
    at = next(n for n, step in enumerate(old) if step.name == found.end)
    ctx.steps[:] = [*(s for s in old[:at] if s.name not in found.inside), *new, *old[at + 1 :]]


@dataclass
class _Chain:
    """The chain at hand: a hop before each stage, and one before the end."""

    ctx: Lowering
    graph: Graph
    found: Region
    seen: set[str] = field(default_factory=set)  # targets of rows that are in the chain, and not yet taken
    timed: set[int] = field(default_factory=set)  # columns of the end that are event time
    names: tuple[str, ...] = ()  # of the end's columns
    own: str = ""  # what its own columns begin with: a way may have those of other passes
    last: int = 0  # the last stage that event time goes to

    def build(self) -> None:
        """Add the steps; the last one has the end's name."""
        self.own = f"__{self.ctx.fresh('chain')}"
        self.names = self.graph.columns(self.found.end) or ()
        kept = self.found.depths.keys() - {self.found.end}
        self.last = max((self.found.depths[n] for n in kept if _call(self.group(n)).clocks), default=0)
        stage: tuple[str, list[str], list[str]] | None = None
        for depth in range(1, self.found.stages + 2):
            entries = {e: w for e, w in self.found.entries.items() if self._first(w) == depth}
            hops = [_Hop(self, depth, entry, ways) for entry, ways in entries.items()]
            for ways in entries.values():
                self.seen |= {way.target for way in ways}
            if stage is not None:
                nodes = stage[1]
                told = [TIME] * (depth <= self.last)
                self.seen |= {way.target for node in nodes for way in self.found.ways[node]}
                hops = [_Hop(self, depth, stage[0], (), stage[1], [*stage[2], *told]), *hops]
            if depth > self.found.stages:
                self._end([hop.rows(()) for hop in hops])
                return
            nodes = sorted((t for t in self.seen if self.found.depths[t] == depth), key=self.graph.place.__getitem__)
            passes = sorted((t for t in self.seen if self.found.depths[t] > depth), key=self.graph.place.__getitem__)
            edges = [*nodes, *passes, *[TIME] * (depth <= self.last)]
            parts = [hop.rows(edges) for hop in hops]
            stage = (self._stage(self._united(parts, "edges"), depth, nodes, passes), nodes, passes)
            self.seen -= set(nodes)

    def _first(self, ways: Sequence[Way]) -> int:
        return 1 if self.found.whole else min(self.found.depths[way.target] for way in ways)

    def _united(self, parts: Sequence[str], prefix: str) -> str:
        if len(parts) == 1:
            return parts[0]
        return self.ctx.add(UnionAll(name=self.ctx.fresh(prefix), parts=tuple(parts), note="into a stage")).name

    def _stage(self, step: str, depth: int, nodes: Sequence[str], passes: Sequence[str]) -> str:
        groups = [self.group(node) for node in nodes]
        calls = tuple(StageNode(g.name, f"{EDGE}{i}", g.keys, _call(g)) for i, g in enumerate(groups))
        count = len(nodes) + len(passes)
        time = f"{EDGE}{count}" if depth <= self.last else ""
        edges = tuple(f"{EDGE}{i}" for i in range(len(nodes), count))
        call = StageCall(calls, edges, time, depth < self.last, self._ways(depth), self._ends(depth))
        keys = tuple((f"__key{i}", f"{EDGE}{i}.{KEY}") for i in range(len(nodes)))
        notes = [g.note or g.name for g in groups]
        name, note = self.ctx.fresh("stage"), f"{'; '.join(notes)}{f'; {len(passes)} pass' if passes else ''}"
        self.ctx.add(GroupBy(name=name, input=step, keys=keys, aggs=((STAGE, call),), note=note))
        self.ctx.owners[name] = self.ctx.owners.get(nodes[0], 0)
        return name

    def _ways(self, depth: int) -> tuple[tuple[str, str], ...]:
        """Return whose rows come into a stage and for whom, of nodes of it and of what is deeper."""
        depths = self.found.depths
        inside = [(n, ways) for n, ways in self.found.ways.items() if depths[n] < depth]
        outside = [(e, ways) for e, ways in self.found.entries.items() if self._first(ways) <= depth]
        every = ((origin, way.target) for origin, ways in (*outside, *inside) for way in ways)
        return tuple(sorted({p for p in every if depths[p[1]] >= depth}, key=lambda p: tuple(map(self._place, p))))

    def _ends(self, depth: int) -> tuple[str, ...]:
        if depth < self.found.stages:
            return ()
        every = {**self.found.entries, **self.found.ways}
        given = (o for o, ways in every.items() if any(way.target == self.found.end for way in ways))
        return tuple(sorted(given, key=self._place))

    def _place(self, name: str) -> tuple[int, str]:
        return self.graph.place.get(name, -1), name

    def group(self, name: str) -> GroupBy:
        """Return the GROUP BY of an operator with state."""
        step = self.graph.steps[name]
        assert isinstance(step, GroupBy)
        return step

    def _end(self, parts: Sequence[str]) -> None:
        end, ctx = self.graph.steps[self.found.end], self.ctx
        columns = {self.names[i]: WATERMARKED for i in sorted(self.timed)}
        if len(parts) > 1 and columns:
            parts = [self._united(parts, "met")]
        if len(parts) > 1:
            ctx.add(UnionAll(name=end.name, parts=tuple(parts), note=end.note))
        elif columns:
            ctx.add(WithMetadata(name=end.name, input=parts[0], columns=columns, note=end.note))
        else:
            ctx.add(Select(name=end.name, input=parts[0], columns=same(self.names), note=end.note))


def _call(group: GroupBy) -> StateCall:
    (_, call) = group.aggs[0]
    assert isinstance(call, StateCall)
    return call


@dataclass
class _Hop:
    """One pass over rows, of a step outside or of a stage with its nodes and passing edges: what it makes of each."""

    chain: _Chain
    depth: int
    step: str
    ways: tuple[Way, ...]
    nodes: Sequence[str] = ()
    passes: Sequence[str] = ()
    columns: list[tuple[str, str]] = field(default_factory=list)  # a row's target, and the column or text that is it

    @property
    def tells(self) -> bool:
        """Whether a table's rows come in with what it tells of event time."""
        return isinstance(self.chain.graph.steps.get(self.step), WithTime) and self.depth <= self.chain.last

    def rows(self, edges: Sequence[str]) -> str:
        """Add the steps that make a row of each way's; returns the last. Without edges it is the end's rows."""
        made = Pass(self.step, "way", self.chain.ctx, f"{self.chain.own}_on")
        if self.nodes:
            made.kept.append(STAGE)
            for n, node in enumerate(self.nodes):
                group = self.chain.group(node)
                (result, call) = group.aggs[0]
                assert isinstance(call, StateCall)
                names = [name for name, _ in group.keys]
                columns: list[Named] = [(name, f"{STAGE}.k{n}.k{i}") for i, name in enumerate(names)]
                columns.append((result, f"{STAGE}.r{n}"))
                self._origin(made, self.chain.found.ways[node], columns, set(), f"{STAGE}.r{n} IS NOT NULL")
            for i, target in enumerate(self.passes, len(self.nodes)):
                row = f"{STAGE}.p{i}"
                self.columns.append((target, f"{row}.{ARGUMENTS}" if self._to_end(target) else row))
        else:
            known = self.chain.graph.columns(self.step) or ()
            made.whole = self.tells
            made.kept += [TIMES] * self.tells
            self._origin(made, self.ways, list(same(known)), self.chain.graph.timed(self.step), "")
        if edges and any(self._to_end(target) for target, _ in self.columns):
            named = [*same(made.kept), (FROM, "spark_partition_id()")]
            made.step = select(made.step, named, self.chain.ctx, "from", "rows to the end keep their order")
        return self._given(made.step, edges)

    def _to_end(self, target: str) -> bool:
        return target == self.chain.found.end

    def _origin(self, made: Pass, ways: Sequence[Way], columns: Sequence[Named], timed: set[str], when: str) -> None:
        made.begin(columns, timed, when)
        shared = trunk(ways)
        for move in ways[0].moves[:shared]:
            self._follow(made, *move)
        row = f"{self.chain.own}_row{len(self.columns)}"
        if len(ways) > 1:
            made.save(row)
        for n, way in enumerate(ways):
            if n:
                made.again(row)
            for move in way.moves[shared:]:
                self._follow(made, *move)
            name = f"{self.chain.own}_{len(self.columns)}"
            if way.target == self.chain.found.end:
                self.chain.timed |= made.end(name, struct(map(quote, made.have)))
            else:
                made.end(name, _edge(self.chain.group(way.target)))
            self.columns.append((way.target, name))
        if len(ways) > 1:
            made.drop(row)

    def _follow(self, made: Pass, step: Step, choice: int) -> None:
        if isinstance(step, Select) and choice >= 0:
            made.choose(step, choice)
        elif isinstance(step, Select) and unfolds(step):
            made.unfold(step)
        elif isinstance(step, Select | Where):
            made.follow(step)
        elif isinstance(step, UnionAll):
            columns = self.chain.graph.columns(step.name)
            assert columns is not None
            made.rename(columns)
        elif isinstance(step, WithMetadata):
            made.timed |= set(step.columns)

    def _given(self, step: str, edges: Sequence[str]) -> str:
        """Add the rows of all ways."""
        ctx = self.chain.ctx
        if not edges:
            names = self.chain.names
            rows = [column for _, column in self.columns]
            if len(rows) == 1:
                step = select(step, [(EDGE, rows[0])], ctx, "met")
                step = where(step, f"{EDGE} IS NOT NULL", ctx, "meets")
                return select(step, list(zip(names, members(EDGE, len(names)), strict=True)), ctx, "met")
            return explode(step, (), (f"array_compact(array({', '.join(rows)}))", names), ctx, "met")
        named = [f"{EDGE}{i}" for i in range(len(edges))]
        given = [(t, column, _row([FROM], column) if self._to_end(t) else column) for t, column in self.columns]
        of_edge = {t: row for t, _, row in given} | ({TIME: f"get({TIMES}, 0)"} if self.tells else {})
        nulls = {t: f"IF(false, {of_edge[t]}, NULL)" if t in of_edge else "NULL" for t in edges}
        rows = [
            f"IF({column} IS NULL, NULL, named_struct({_items(edges, nulls | {target: row})}))"
            for target, column, row in given
        ]
        note = f"into stage {self.depth}: {len(rows)} ways"
        each = f"array_compact(array({', '.join(rows)}))"
        if self.tells:
            ticks = f"transform({TIMES}, __t -> named_struct({_items(edges, nulls | {TIME: '__t'})}))"
            each = f"IF({TIMES} IS NULL, {each}, concat({each}, {ticks}))"
        return explode(step, (), (each, named), ctx, "edges", note)


def _items(edges: Sequence[str], texts: Mapping[str, str]) -> str:
    return ", ".join(f"'e{i}', {texts[target]}" for i, target in enumerate(edges))


def _edge(group: GroupBy) -> str:
    """Return a row of an operator's edge: the key of its group, and what it is given."""
    given = ", ".join(f"'a{i}', {sql}" for i, sql in enumerate(_call(group).args))
    return _row([sql for _, sql in group.keys], f"named_struct({given})")


def _row(group: Sequence[str], given: str) -> str:
    """Return what goes into a stage: rows of a group stay in their order there, also those that pass."""
    keys = ", ".join(f"'k{i}', {sql}" for i, sql in enumerate(group))
    return f"named_struct('{KEY}', named_struct({keys}), '{ARGUMENTS}', {given})"
