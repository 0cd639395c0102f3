"""Columns, aggregates and row numbers that nobody reads are dropped, from the root down.

State holds whole rows: what is not read must not be kept. A row number nobody selects also makes far fewer updates.
What a node reads, and the same node over other inputs, are facts of its class (``Node.reads``, ``Node.rebuild``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.plan import make
from flinkddl.plan.nodes import Sink

if TYPE_CHECKING:
    from flinkddl.plan.context import Context
    from flinkddl.plan.nodes import Node
    from flinkddl.plan.nodes.base import Needed, Places


def prune(node: Node, context: Context) -> Node:
    """Return the plan without unread columns; its own fields stay."""
    if isinstance(node, Sink):
        return node.with_inputs((prune(node.input, context),))
    out, places = _prune(node, frozenset(range(len(node.fields))))
    wanted = [places[i] for i in range(len(node.fields))]
    names = [f.name for f in node.fields]
    if wanted == list(range(len(out.fields))):
        return make.rename(out, names)
    return make.project(out, [make.ref(out, i) for i in wanted], names)


def _prune(node: Node, needed: Needed) -> tuple[Node, Places]:
    """Return the node with at least the fields that are needed, and where they went."""
    slim, kept = node.narrowed(needed)
    needed = frozenset(kept[i] for i in needed)
    if any(slim is i for i in node.inputs):
        out, places = _prune(slim, needed)
    else:
        below = [
            (_narrow if slim.exact else _prune)(i, r) for i, r in zip(slim.inputs, slim.reads(needed), strict=True)
        ]
        out, places = slim.rebuild([b for b, _ in below], [p for _, p in below])
        out = make.merged(out)
    return out, {old: places[new] for old, new in kept.items() if new in places}


def _narrow(node: Node, needed: Needed) -> tuple[Node, Places]:
    """Prune an input down to exactly what is needed, in the order of its fields."""
    wanted = sorted(needed)
    out, places = _prune(node, needed)
    if len(out.fields) == len(wanted):
        return out, places
    return make.keep(out, [places[i] for i in wanted]), {old: new for new, old in enumerate(wanted)}
