"""A plan made to fit state that an earlier one has left: new filters above what keeps it, unread columns left out.

``pushdown`` brings a filter as far down as it goes, also below an operator whose state holds rows that do not pass it.
Over rows that change they could then not be taken back. Such a filter gives the same rows where it was written: above
the operator, as far up as it may stand. What it reads must come out there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from flinkddl.deep import deep
from flinkddl.plan import make
from flinkddl.plan.nodes import Deduplicate, Filter, Join, Rank, Scan
from flinkddl.plan.nodes.base import I
from flinkddl.plan.nodes.values import moved
from flinkddl.plan.rex import InputRef, Literal, Rex, conjuncts, references, transform

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from flinkddl.plan.conditions import Conditions
    from flinkddl.plan.nodes import Node, Sink
    from flinkddl.plan.nodes.base import Needed, Places

    Stays = Callable[[Filter, Rex], bool]
    Lacks = Callable[[Scan], frozenset[int]]


@deep
def lifted(sink: Sink, stays: Stays) -> Sink:
    """Return a sink over filters that stand as high as they may; those that stay, and those of inserts, where they are.

    ``stays`` says of a filter and one of its conditions whether that is where it was.
    """
    query, conditions = _lifted(sink.input, stays)
    return sink.with_inputs((make.where(query, make.all_of(conditions)),))


def _lifted(node: Node, stays: Stays) -> tuple[Node, Conditions]:
    """Return a node without the conditions that may as well stand above it, and those, over its fields."""
    if not node.inputs:
        return node, ()
    inputs, below = zip(*(_lifted(i, stays) for i in node.inputs), strict=True)
    if isinstance(node, Filter):
        changing = node.input.known_changes() != I
        rise = [c for c in conjuncts(node.condition) if changing and not stays(node, c)]
        stay = [c for c in conjuncts(node.condition) if c not in rise]
        return make.where(inputs[0], make.all_of(stay)), (*below[0], *rise)
    above: list[Rex] = []
    stuck: list[Conditions] = []
    for n, conditions in enumerate(below):
        found = {c: up for c in conditions if (up := _above(node, n, c, below)) is not None}
        above += [up for up in found.values() if up not in above]
        stuck.append(tuple(c for c in conditions if c not in found))
    under = [make.where(i, make.all_of(own)) for i, own in zip(inputs, stuck, strict=True)]
    return node.with_inputs(under), tuple(above)


def _above(node: Node, number: int, condition: Rex, below: tuple[Conditions, ...]) -> Rex | None:
    """Return a condition over one input as the same one over the node's fields; None where there is none.

    It is the same where the node, asked to bring it down, brings it to where it came from and nowhere else.
    """
    if isinstance(node, Rank | Deduplicate):  # made of a filter when others had gone down already: it lets none through
        keys = node.partition if isinstance(node, Rank) else node.keys
        return condition if references(condition) <= frozenset(keys) else None
    places = [(rex, i) for rex, i in _places(node, number) if not isinstance(rex, Literal)]
    lost: list[Rex] = []

    def out(found: Rex) -> Rex | None:
        at = next((i for rex, i in places if rex == found), None)
        lost.extend([found] if at is None and isinstance(found, InputRef) else ())
        return None if at is None else InputRef(node.fields[at].type, at)

    up = transform(condition, out)
    if lost:
        return None
    (bare, _, usual), (pushed, stay, asked) = node.pushed(()), node.pushed((up,))
    if stay or (isinstance(node, Join) and isinstance(pushed, Join) and _kind(bare) != _kind(pushed)):
        return None
    new = [[c for c in now if c not in then] for then, now in zip(usual, asked, strict=True)]
    known = all(c in below[n] for n, conditions in enumerate(new) for c in conditions)
    return up if known and condition in new[number] else None


def _kind(node: Node) -> tuple[str, Rex] | None:
    return (node.kind, node.condition) if isinstance(node, Join) else None


def _places(node: Node, number: int) -> Iterator[tuple[Rex, int]]:
    """Yield what of an input comes out of a node, and as which field."""
    if not isinstance(node, Join):
        yield from ((rex, i) for i, rex in node.through()[number].items())
    elif number < node.passes:
        first = len(node.left.fields) * number
        yield from ((InputRef(f.type, i), first + i) for i, f in enumerate(node.inputs[number].fields))


@deep
def without(sink: Sink, lacks: Lacks) -> Sink:
    """Return a sink whose tables have no columns that nobody reads and ``lacks`` names."""
    query, _ = _without(sink.input, frozenset(range(len(sink.input.fields))), lacks)
    return sink.with_inputs((query,))


def _without(node: Node, needed: Needed, lacks: Lacks) -> tuple[Node, Places]:
    if isinstance(node, Scan):
        return _narrow(node, lacks(node) - needed)
    if not node.inputs:
        return node, {i: i for i in range(len(node.fields))}
    below = [_without(i, r, lacks) for i, r in zip(node.inputs, node.reads(needed), strict=True)]
    return node.rebuild([b for b, _ in below], [p for _, p in below])


def _narrow(scan: Scan, gone: Needed) -> tuple[Node, Places]:
    """Return a table without physical columns; what is computed keeps them all, since it may read them."""
    made = {i for i, _ in (*scan.metadata, *scan.computed)}
    names = {scan.fields[i].name for i in gone - made}
    if scan.computed or scan.watermark is not None or not names:
        return scan, {i: i for i in range(len(scan.fields))}
    kept = [i for i, f in enumerate(scan.fields) if f.name not in names]
    places = {i: n for n, i in enumerate(kept)}
    table = replace(scan.table, columns=tuple(c for c in scan.table.columns if c.name not in names))
    metadata = tuple((places[i], moved(rex, places)) for i, rex in scan.metadata)
    fields = tuple(scan.fields[i] for i in kept)
    return replace(scan, table=table, fields=fields, metadata=metadata), places
