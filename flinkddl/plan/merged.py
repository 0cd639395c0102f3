"""Equal sub-plans of a query that run as one, where each would keep the same state once more.

Flink does so too (``table.optimizer.reuse-sub-plan-enabled``, SubplanReuser), but for what is not deterministic. A
table of changes is a sub-plan, too: it is read for what all of its mentions ask for, and brought to the newest rows of
its keys once, below what each of them projects (``spark/stream/kinds.py``, ``normalise``).
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from flinkddl.deep import deep
from flinkddl.plan.conditions import deterministic
from flinkddl.plan.nodes import Scan, scans
from flinkddl.plan.nodes.base import Stateless
from flinkddl.plan.physical import Cons
from flinkddl.plan.rex import AggCall, Call

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from flinkddl.plan.nodes import Node
    from flinkddl.plan.nodes.forms import How, Traits
    from flinkddl.plan.physical import Physical

_INPUTS = frozenset({"input", "left", "right", "parts", "span"})


@deep
def merged(tree: Physical, how: How, apart: Iterable[int] = ()) -> dict[int, list[Physical]]:
    """Return the places of sub-plans that keep state and are there more than once, by a number each.

    The largest ones count; those whose number is in ``apart`` do not, and what lies in them does.
    """
    cons, without = Cons(asked=_blended) if how.blends else Cons(), set(apart)
    bare = how.shares or not how.blends

    def counts(here: Physical) -> bool:
        return worth(here) and (bare or not _reads(here))

    places: dict[int, list[Physical]] = {}

    def look(here: Physical) -> None:
        number = cons.number(here)
        known = places.setdefault(number, [])
        known.append(here)
        if len(known) == 1 or number in without or not counts(here):
            for child in here.inputs:
                look(child)

    look(tree)
    return {n: found for n, found in places.items() if len(found) > 1 and n not in without and counts(found[0])}


def blended(tree: Physical, how: How) -> bool:
    """Whether ``how.blends`` makes other sub-plans one."""
    if not any(map(_changes, tree.walk())):
        return False
    with_, without = (merged(tree, replace(how, blends=blends)).values() for blends in (True, False))
    return [list(map(id, places)) for places in with_] != [list(map(id, places)) for places in without]


def asks(places: Iterable[Physical]) -> Traits:
    """Return what is asked of one sub-plan in all of its places together."""
    first, *more = (here.asked for here in places)
    return replace(first, sequence=first.sequence or any(asked.sequence for asked in more))


def twins(queries: Iterable[tuple[Physical, How]]) -> Iterator[list[Scan]]:
    """Yield the scans that are one where equal sub-plans are."""
    for tree, how in queries:
        for found in merged(tree, how).values():
            yield from map(list, zip(*(list(scans(here.node)) for here in found), strict=True))


def _blended(here: Physical) -> Traits:
    """Return what must be asked of another place for both to be one: a table's order of arrival can be left out."""
    return replace(here.asked, sequence=False) if _changes(here) else here.asked


def _reads(here: Physical) -> bool:
    """Whether it is a table alone, of which no newest rows are kept: Flink's ``reuse-source-enabled`` says of it."""
    return isinstance(here.node, Scan) and here.form.kind == "delta"


def worth(here: Physical) -> bool:
    """Whether it reads a table, keeps state or has to (the newest row of a key), and gives the same each time."""
    parts = list(here.walk())
    keeps = any(not isinstance(p.node, Stateless | Scan) or _changes(p) for p in parts)
    return keeps and any(isinstance(p.node, Scan) for p in parts) and all(repeatable(p.node) for p in parts)


def _changes(here: Physical) -> bool:
    return isinstance(here.node, Scan) and here.form.kind != "append"


def repeatable(node: Node) -> bool:
    """Return whether a node gives the same of the same rows each time."""
    return all(map(_same, calls(node)))


def calls(node: Node) -> Iterator[Call | AggCall]:
    """Yield what a node computes of the rows of its inputs, each expression as a whole."""
    yield from _calls([getattr(node, f.name) for f in fields(node) if f.name not in _INPUTS])


def _same(call: Call | AggCall) -> bool:
    if isinstance(call, Call):
        return deterministic(call)
    java = call.option("call")  # of an aggregate function in Java
    return java is None or bool(java.deterministic)


def _calls(value: Any) -> Iterator[Call | AggCall]:
    if isinstance(value, Call | AggCall):
        yield value
    elif isinstance(value, tuple | list):
        for one in value:
            yield from _calls(one)
