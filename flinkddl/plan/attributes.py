"""Time attributes through the plan: kept by row-wise and time-ordered operators, plain timestamps after all others."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from flinkddl.plan import make
from flinkddl.plan.nodes import Field
from flinkddl.plan.rex import Call, InputRef, Rex, transform

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flinkddl.plan.nodes import IntervalJoin, Join, Node, WindowJoin


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


def carried(join: Join | WindowJoin | IntervalJoin) -> tuple[Field, ...]:
    """Return a join's output with the time attributes that its inputs really have."""
    both = (*join.left.fields, *join.right.fields)
    return tuple(Field(f.name, both[i].type.with_nullable(f.type.nullable)) for i, f in enumerate(join.fields))


def refreshed(rex: Rex, node: Node) -> Rex:
    """Return an expression with its references typed as the node's fields are now."""

    def change(r: Rex) -> Rex | None:
        if isinstance(r, InputRef):
            now = node.fields[r.index].type
            return r if now == r.type else replace(r, type=now)
        return None

    return transform(rex, change)
