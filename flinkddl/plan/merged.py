"""Equal sub-plans of a query that run as one, where each would keep the same state once more.

Flink does so too (``table.optimizer.reuse-sub-plan-enabled``, SubplanReuser), but for what is not deterministic.
"""

from __future__ import annotations

from dataclasses import fields
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
    from flinkddl.plan.physical import Physical

_INPUTS = frozenset({"input", "left", "right", "parts", "span"})


@deep
def merged(tree: Physical, apart: Iterable[int] = ()) -> dict[int, list[Physical]]:
    """Return the places of sub-plans that keep state and are there more than once, by a number each.

    The largest ones count; those whose number is in ``apart`` do not, and what lies in them does.
    """
    cons, without = Cons(forms=True, asked=True), set(apart)
    places: dict[int, list[Physical]] = {}

    def look(here: Physical) -> None:
        number = cons.number(here)
        known = places.setdefault(number, [])
        known.append(here)
        if len(known) == 1 or number in without or not worth(here):
            for child in here.inputs:
                look(child)

    look(tree)
    return {n: found for n, found in places.items() if len(found) > 1 and n not in without and worth(found[0])}


def twins(trees: Iterable[Physical]) -> Iterator[list[Scan]]:
    """Yield the scans that are one where equal sub-plans are."""
    for tree in trees:
        for found in merged(tree).values():
            yield from map(list, zip(*(list(scans(here.node)) for here in found), strict=True))


def worth(here: Physical) -> bool:
    """Whether it reads a table, keeps state or has to (the newest row of a key), and gives the same each time."""
    parts = list(here.walk())
    keeps = any(not isinstance(p.node, Stateless | Scan) or _changes(p) for p in parts)
    return keeps and any(isinstance(p.node, Scan) for p in parts) and all(repeatable(p.node) for p in parts)


def _changes(here: Physical) -> bool:
    return isinstance(here.node, Scan) and here.form.kind != "append"


def repeatable(node: Node) -> bool:
    """Return whether a node gives the same of the same rows each time."""
    values = [getattr(node, f.name) for f in fields(node) if f.name not in _INPUTS]
    return all(_same(call) for call in _calls(values))


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
