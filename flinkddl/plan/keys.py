"""Unique keys that a temporal join may rely on: declared primary keys and deduplications, through projections."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.plan import nodes as N
from flinkddl.plan.rex import InputRef

if TYPE_CHECKING:
    from flinkddl.plan.nodes import Node


def unique_key(node: Node) -> tuple[int, ...] | None:
    """Return the field indices of a unique key of the node's rows, or None."""
    match node:
        case N.Scan() if node.table.primary_key is not None:
            names = [c.name for c in node.table.columns]
            return tuple(names.index(c) for c in node.table.primary_key.columns)
        case N.Deduplicate():
            return node.keys
        case N.Rank() if node.start == node.end and node.end_field is None:
            return node.partition
        case N.Aggregate() if node.keys:
            return tuple(range(len(node.keys)))
        case N.Filter() | N.Sort():
            return unique_key(node.input)
        case N.Project():
            return _projected(node)
        case _:
            return None


def _projected(node: N.Project) -> tuple[int, ...] | None:
    below = unique_key(node.input)
    if below is None:
        return None
    places = {e.index: i for i, e in reversed(list(enumerate(node.exprs))) if isinstance(e, InputRef)}
    return tuple(places[k] for k in below) if all(k in places for k in below) else None
