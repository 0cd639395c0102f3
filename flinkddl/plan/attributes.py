"""Time attributes through the plan: kept by row-wise and time-ordered operators, plain timestamps after all others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.plan import make
from flinkddl.plan.rex import Call, Rex

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flinkddl.plan.nodes import Node


def plain(value: Rex) -> Rex:
    """Return a time attribute as an ordinary timestamp (an explicit CAST), any other value as it is."""
    if value.type.time_attribute is None:
        return value
    return Call(value.type.as_attribute(None), "CAST", (value,))


def materialised(node: Node, only: Iterable[int] | None = None) -> Node:
    """Return the node with its time attributes (all, or those of some fields) as ordinary timestamps."""
    wanted = range(len(node.fields)) if only is None else set(only)
    if not any(node.fields[i].type.time_attribute for i in wanted):
        return node
    exprs = [plain(make.ref(node, i)) if i in wanted else make.ref(node, i) for i in range(len(node.fields))]
    return make.project(node, exprs, [f.name for f in node.fields])
