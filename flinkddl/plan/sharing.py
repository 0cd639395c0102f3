"""What is there twice in a plan: equal nodes, and rows of one table that meet again in a join or a UNION ALL.

Flink reads such a table once (``table.optimizer.reuse-source-enabled``). So do we where the two ways from the scan to
the node in which they meet are projections and filters of inserts: each row is read and decoded once, and goes on once
for each way that it passes (``spark/stream/fanout.py``). Of changes ``plan/merged.py`` makes one table.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from flinkddl.plan.nodes import Filter, Join, Project, Scan, Union

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flinkddl.plan.nodes import Node

MOST_WAYS = 32
"""So many ways of one row Spark still compiles to one piece of code."""
MOST_PASSED = 2
"""Of a table that is read: rows that pass more stages cost more than reading it once more (linear.md)."""
_INPUTS = frozenset({"input", "left", "right", "parts", "span"})


def alike(a: Node, b: Node) -> bool:
    """Return whether two nodes of one class do the same, whatever they read and wherever they stand."""
    return all(getattr(a, f.name) == getattr(b, f.name) for f in fields(a) if f.name not in _INPUTS)


def hash_of(node: Node) -> int:
    """Return a number that nodes share which are alike, so that a thousand parts are not compared with each other."""
    out = 0
    for f in fields(node):
        if f.name not in _INPUTS:
            try:
                out = hash((out, getattr(node, f.name)))
            except TypeError:  # a mapping, which is compared
                continue
    return out


def meeting(node: Node) -> list[list[Scan]]:
    """Return the scans whose rows meet again in a join or a UNION ALL, those of one table together.

    Each way to the node is row by row; of too many ways none is there.
    """
    found = filter(None, map(_source, node.inputs if isinstance(node, Join | Union) else ()))
    return [group for group in same_scans(found) if 1 < len(group) <= MOST_WAYS]


def same_scans(scans: Iterable[Scan]) -> list[list[Scan]]:
    """Return scans, those of one table together."""
    out: dict[int, list[list[Scan]]] = {}
    for scan in scans:
        candidates = out.setdefault(hash_of(scan), [])
        same = next((group for group in candidates if alike(group[0], scan)), None)
        if same is None:
            candidates.append([scan])
        else:
            same.append(scan)
    return [group for candidates in out.values() for group in candidates]


def leaders(nodes: Iterable[Node]) -> dict[int, int]:
    """Return of each scan that meets others in one of the nodes the first of them, both by their identity."""
    return {id(scan): id(group[0]) for node in nodes for group in meeting(node) for scan in group}


def _source(node: Node) -> Scan | None:
    """Return the table of inserts whose rows a node gives one by one; None for any other."""
    while isinstance(node, Filter | Project):
        node = node.input
    return node if isinstance(node, Scan) and node.carries == "append" else None
