"""Which fields of a plan node are the bounds of a window, followed from the window function upwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from flinkddl.plan import nodes as N
from flinkddl.plan.rex import InputRef

if TYPE_CHECKING:
    from flinkddl.plan.nodes import Node, Window


@dataclass(frozen=True)
class WindowFields:
    """Field indices that hold window_start, window_end and window_time, and the window they belong to."""

    starts: frozenset[int]
    ends: frozenset[int]
    times: frozenset[int]
    window: Window

    def bounds(self, keys: tuple[int, ...]) -> tuple[int, int] | None:
        """Return (start, end) when both are among ``keys``."""
        start = next((k for k in keys if k in self.starts), None)
        end = next((k for k in keys if k in self.ends), None)
        return None if start is None or end is None else (start, end)

    def all(self) -> frozenset[int]:
        """All window fields."""
        return self.starts | self.ends | self.times


def window_fields(node: Node) -> WindowFields | None:
    """Return the window fields of a node's output, or None when start or end is not there."""
    match node:
        case N.WindowTableFunction():
            n = len(node.input.fields)
            return WindowFields(frozenset({n}), frozenset({n + 1}), frozenset({n + 2}), node.window)
        case N.Project():
            below = window_fields(node.input)
            return None if below is None else _projected(node, below)
        case N.Filter() | N.Unnest() | N.Sort():
            return window_fields(node.input)
        case N.Rank() | N.Deduplicate():
            return window_fields(node.input) if node.window is not None else None
        case N.WindowAggregate() if not node.legacy:
            return _aggregated(node)
        case N.WindowJoin():
            return _joined(node)
        case _:
            return None


def _projected(node: N.Project, below: WindowFields) -> WindowFields | None:
    def among(wanted: frozenset[int]) -> frozenset[int]:
        return frozenset(i for i, e in enumerate(node.exprs) if isinstance(e, InputRef) and e.index in wanted)

    found = WindowFields(among(below.starts), among(below.ends), among(below.times), below.window)
    return found if found.starts and found.ends else None


def _aggregated(node: N.WindowAggregate) -> WindowFields | None:
    first = len(node.keys) + len(node.aggs)
    places = {p: frozenset({first + i}) for i, p in enumerate(node.properties)}
    none: frozenset[int] = frozenset()
    found = WindowFields(places.get("start", none), places.get("end", none), places.get("time", none), node.window)
    return found if found.starts and found.ends else None


def _joined(node: N.WindowJoin) -> WindowFields | None:
    below = window_fields(node.left)
    if below is None or node.kind in ("semi", "anti"):
        return below
    width = len(node.left.fields)
    right = window_fields(node.right)
    if right is None or node.kind != "inner":
        return below if node.kind in ("inner", "left") else None

    def both(a: frozenset[int], b: frozenset[int]) -> frozenset[int]:
        return a | {i + width for i in b}

    return WindowFields(
        both(below.starts, right.starts), both(below.ends, right.ends), both(below.times, right.times), below.window
    )
