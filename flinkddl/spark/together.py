"""INSERTs of a statement set that are one query: what they read alike is read once, and one Kafka sink writes it all.

Flink runs a statement set as one job in which equal scans and sub-plans are there once. Spark runs a query for each
write; so INSERTs that share something and write through Spark's own Kafka sink, with the same client, end in a UNION
ALL of their records with a ``topic`` column, and what lies between it and what they share becomes a chain
(``stream/chain.py``).

Rows that go from a scan to their topic one by one need no stage, and pass none: such INSERTs are one query with one
another, and those with state by key are another.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from flinkddl.functions.core import string
from flinkddl.plan.merged import merged, worth
from flinkddl.plan.nodes import Scan, Sink, Union, scans
from flinkddl.plan.nodes.base import Stateless
from flinkddl.plan.nodes.forms import APPEND, PLAIN
from flinkddl.plan.physical import Cons, Physical
from flinkddl.spark.base import select
from flinkddl.spark.expressions import user_functions
from flinkddl.spark.job import (
    KAFKA,
    PART,
    Coalesce,
    GroupBy,
    Read,
    Select,
    StateCall,
    UnionAll,
    Where,
    WithMetadata,
    WithWatermark,
    Write,
    below,
)
from flinkddl.spark.stream.chain import chained
from flinkddl.spark.stream.regions import unfolds
from flinkddl.sqltypes import quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from flinkddl.plan.nodes import Node
    from flinkddl.plan.nodes.forms import How
    from flinkddl.plan.physical import PhysicalSink
    from flinkddl.spark.context import Lowering
    from flinkddl.spark.job import Step

MOST = {False: 24, True: 8}
"""So many INSERTs are one query at most, by whether they keep state: Spark still compiles so many ways of a row."""
_DEFAULT = "default_catalog.default_database."
_COLUMNS = {
    "key": "BINARY",
    "value": "BINARY",
    "topic": "STRING",
    "headers": "ARRAY<STRUCT<key: STRING, value: BINARY>>",
}
"""What Spark's Kafka sink takes, and as which type."""


@dataclass(frozen=True)
class Group:
    """INSERTs that are one query, by their numbers; ``keyed``: they keep state."""

    name: str
    places: tuple[int, ...]
    keyed: bool


# ---- which INSERTs -------------------------------------------------------------------------------------------------


def groups(
    lowered: Sequence[tuple[PhysicalSink, Write]],
    ctx: Lowering,
    begun: Mapping[str, tuple[str, ...]] | None,
) -> list[Group]:
    """Return the INSERTs that are one query, as each was lowered by itself.

    ``begun`` are those of the run with which this one goes on: an INSERT that was by itself there stays so.
    """
    if not ctx.config.table_optimizer_reuse_source_enabled or not ctx.streaming:
        return []
    kinds = {n: kind for n, (p, w) in enumerate(lowered) if (kind := _kind(p, w, ctx)) is not None}
    if len(kinds) < 2 and not begun:
        return []
    sinks = [planned for planned, _ in lowered]
    reads = _shareable(sinks, kinds)
    if begun is None:
        return list(_named(kinds, reads, sinks))
    found = []
    for name, parts in begun.items():
        order = {n: parts.index(lowered[n][1].name) for n in kinds if lowered[n][1].name in parts}
        places = max(_components({n: kinds[n] for n in order}, reads), key=len, default=())
        found += [Group(name, tuple(sorted(places, key=order.__getitem__)), kinds[places[0]][0])] if places else []
    return found


_Kind = tuple[bool, Any]
"""Whether an INSERT keeps state, and what else must be the same for two to be one query."""


def _kind(planned: PhysicalSink, write: Write, ctx: Lowering) -> _Kind | None:
    """Return what an INSERT must have in common with another one to be one query with it; None where it cannot be."""
    if write.format != KAFKA or planned.how.realtime or planned.how.chain or user_functions((planned.sink,)):
        return None
    nodes = {id(here.node): here.node for here in planned.query.walk()}
    if any(node.bounded for node in nodes.values() if isinstance(node, Scan)):
        return None
    known = {step.name: step for step in ctx.steps}
    mine = below(known[write.input], known)
    if not all(_fits(step, nodes.get(ctx.owners.get(step.name, 0))) for step in mine):
        return None
    keyed = any(isinstance(step, GroupBy) for step in mine)
    if keyed and not planned.how.merges:
        return None
    client = tuple(sorted((k, v) for k, v in write.options.items() if k != "topic"))
    return keyed, (client, write.mode)


def _fits(step: Step, made_for: Node | None) -> bool:
    """Whether a step can be in a chain, or below one where it makes a table's rows.

    Where ways part a row is one for each: what makes many of it for one INSERT is not.
    """
    match step:
        case Read():
            return step.streaming and step.of_topics
        case GroupBy():
            return all(isinstance(call, StateCall) and call.form == "keyed" for _, call in step.aggs) or bool(
                step.stage and all(call.form == "keyed" for call in step.state_calls)
            )
        case Select():
            if isinstance(made_for, Scan) or not unfolds(step):
                return True
            return isinstance(made_for, Union) or not isinstance(made_for, Stateless | Sink | None)
    return isinstance(step, Where | UnionAll | WithMetadata | WithWatermark | Coalesce)


def _shareable(sinks: Sequence[PhysicalSink], kinds: Mapping[int, _Kind]) -> list[dict[int, str]]:
    """Return what each INSERT can share: tables of inserts, and with state by key equal sub-plans that keep some.

    Each has a number, which is the same for what is equal, and the path of a table that it reads.
    """
    cons = Cons()
    return [
        {
            cons.number(here): str(next(scans(here.node)).table.path)
            for here in (planned.query.walk() if n in kinds else ())
            if _inserts(here.node) or (kinds[n][0] and worth(here))
        }
        for n, planned in enumerate(sinks)
    ]


def _inserts(node: Node) -> bool:
    return isinstance(node, Scan) and node.carries == "append"


def _components(kinds: Mapping[int, _Kind], reads: Sequence[Mapping[int, str]]) -> Iterator[tuple[int, ...]]:
    """Yield INSERTs of one kind that share something, or share it with one that does; also those alone."""
    left = list(kinds)
    while left:
        found, ahead = [left[0]], [left[0]]
        while ahead:
            one = ahead.pop()
            more = [
                n for n in left if n not in found and kinds[n] == kinds[one] and reads[n].keys() & reads[one].keys()
            ]
            found += more
            ahead += more
        left = [n for n in left if n not in found]
        yield tuple(sorted(found))


def _named(
    kinds: Mapping[int, _Kind], reads: Sequence[Mapping[int, str]], sinks: Sequence[PhysicalSink]
) -> Iterator[Group]:
    """Yield groups of several under the name of the table that most of them read."""
    names: Counter[str] = Counter()
    for found in _components(kinds, reads):
        most = MOST[kinds[found[0]][0]]
        for at in range(0, len(found), most):
            places = _ordered(found, sinks)[at : at + most]
            if len(places) > 1:
                shared = Counter(path for n in places for path in {*reads[n].values()})
                table = min(shared, key=lambda path: (-shared[path], path))
                names[table] += 1
                number = f"-{names[table]}" if names[table] > 1 else ""
                yield Group(f"{table}-read-once{number}", places, kinds[places[0]][0])


def _ordered(places: Iterable[int], sinks: Sequence[PhysicalSink]) -> tuple[int, ...]:
    """Return INSERTs in an order that does not hang on theirs in the script, which may change."""
    return tuple(sorted(places, key=lambda n: (sinks[n].sink.target, n)))


def twins(trees: Iterable[Physical]) -> list[list[Scan]]:
    """Return the scans of tables of inserts that are one in each of some trees."""
    out: list[list[Scan]] = []
    for tree in trees:
        cons, alike = Cons(), dict[int, list[Scan]]()
        for here in tree.walk():
            if isinstance(here.node, Scan) and _inserts(here.node):
                alike.setdefault(cons.number(here), []).append(here.node)
        out += (found for found in alike.values() if len(found) > 1)
    return out


def query_of(group: Group, sinks: Sequence[PhysicalSink]) -> tuple[Physical, How]:
    """Return the queries of a group under one root, in which what is equal is looked for, and how they run."""
    queries = tuple(sinks[place].query for place in group.places)
    union = Union(parts=tuple(q.node for q in queries), fields=queries[0].node.fields)
    return Physical(union, APPEND, PLAIN, queries), replace(sinks[group.places[0]].how, blends=False)


# ---- their query ---------------------------------------------------------------------------------------------------


def together(
    group: Group, sinks: Sequence[PhysicalSink], ctx: Lowering, write: Callable[[PhysicalSink, Lowering], Write]
) -> tuple[dict[int, Write], Write] | None:
    """Lower the INSERTs of a group; return the write of each by its number, and their query, without ``parts``.

    ``write`` lowers one. None where the rows of what they share do not meet again, so that it would be read more than
    once.
    """
    tree, how = query_of(group, sinks)
    leaders = {id(scan): id(alike[0]) for alike in twins([tree]) for scan in alike}
    apart: set[int] = set()
    while True:
        mark, first, used = ctx.mark(), len(ctx.steps), set(ctx.used)
        found = merged(tree, how, apart) if group.keyed else {}
        ctx.share(leaders, {id(here): number for number, places in found.items() for here in places}, together=True)
        writes = {place: write(sinks[place], ctx) for place in group.places}
        end = _end(writes, sinks, ctx)
        left = chained(ctx, first, end)
        twice = {n for n, made in ctx.made.items() if {made.step, ctx.newest.get(made, made).step} & left}
        read = {rel.step for rel in ctx.once.values()}
        ctx.share({}, {})
        if not twice:
            ctx.used = ctx.used if group.keyed else used
            return (
                None
                if read & left
                else (
                    {n: replace(w, input=end) for n, w in writes.items()},
                    _query(group, [writes[n] for n in group.places], end),
                )
            )
        apart |= twice
        ctx.back(mark)


def _end(writes: Mapping[int, Write], sinks: Sequence[PhysicalSink], ctx: Lowering) -> str:
    """Add the UNION ALL of the records of all INSERTs, with the columns that any of them has; returns its name."""
    steps = {step.name: step for step in ctx.steps}
    records = {n: [c for c, _ in _records(steps[w.input])] for n, w in writes.items()}
    names = [c for c in _COLUMNS if c == "topic" or any(c in has for has in records.values())]
    first, parts = len(ctx.steps), []
    for part, (n, w) in enumerate(writes.items()):
        own = {c: f"CAST({quote(c)} AS {_COLUMNS[c]})" for c in records[n]}
        if "topic" in w.options:
            own["topic"] = string(w.options["topic"])
        columns = [(c, own.get(c, f"CAST(NULL AS {_COLUMNS[c]})")) for c in names]
        parts.append(select(w.input, [*columns, (PART, f"{part}")], ctx, "records_of"))
    name = ctx.add(UnionAll(name=ctx.fresh("all_records"), parts=tuple(parts), note="records of all INSERTs")).name
    for step in ctx.steps[first:]:
        ctx.owners.setdefault(step.name, id(sinks[next(iter(writes))].sink))
    return name


def _records(step: Step) -> tuple[tuple[str, str], ...]:
    assert isinstance(step, Select)
    return step.columns


def _query(group: Group, writes: Sequence[Write], end: str) -> Write:
    options = {k: v for k, v in writes[0].options.items() if k != "topic"}
    tables = ", ".join(w.table.removeprefix(_DEFAULT) for w in writes)
    note = f"{len(writes)} INSERTs as one query"
    return Write(
        name=group.name, input=end, format=KAFKA, options=options, mode=writes[0].mode, table=tables, note=note
    )
