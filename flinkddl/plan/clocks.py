"""Event time of a chain of stages: a clock for each table whose watermark counts, told from stage to stage by rows.

A source tells how far each of its senders (the partitions of a topic) has come; a stage takes the least of them, fires
what is due and tells the next stage (Clocks.java, Tick.java). No window ends but at some places of the time axis: only
where a watermark comes to such a place it is told. Processing time is a clock more: that of the batches.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from math import gcd
from typing import TYPE_CHECKING

from flinkddl.plan.nodes import IntervalJoin, Scan, TemporalJoin, WindowAggregate
from flinkddl.plan.nodes.values import Window

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from flinkddl.plan.nodes import Node

_OF_ZONES = 1000
"""Windows over TIMESTAMP_LTZ end at the wall clock of the session's zone, whose distance from UTC is whole seconds."""


_ANYWHERE = 100
"""How often event time is told for sessions, interval and temporal joins, in ms of it: Flink tells it every 200 ms."""


WALL = 62
"""The clock of processing time, behind those of all tables."""


@dataclass(frozen=True)
class Timing:
    """The clocks of a query's tables by their paths, and the places at which its windows end, in ms.

    ``walled``: the paths of tables below windows over processing time; ``wall_ms``: how long such a window can be open
    after its last row.
    """

    clocks: Mapping[str, int]
    every: int
    shift: int
    walled: frozenset[str] = frozenset()
    wall_ms: int = 0

    def below(self, node: Node) -> int:
        """Return the clocks that a node waits for, a bit each: of the tables that it reads, or of processing time."""
        if isinstance(node, WindowAggregate) and node.window.proctime:
            return 1 << WALL
        found = {self.clocks[p] for scan in timed_scans(node, below=True) if (p := str(scan.table.path)) in self.clocks}
        return sum(1 << clock for clock in found)

    def of(self, scan: Scan) -> int | None:
        """Return the clock of a table; None where its watermark does not count."""
        return self.clocks.get(str(scan.table.path))

    def walls(self, scan: Scan) -> bool:
        """Whether a table is below a window over processing time."""
        return str(scan.table.path) in self.walled

    def tells(self, scan: Scan) -> bool:
        """Whether a table's rows tell a time."""
        return str(scan.table.path) in {*self.clocks, *self.walled}


def timing(top: Node, zone: str) -> Timing | None:
    """Return the time of a query that is one chain; None where none of its operators waits for it."""
    paths = dict.fromkeys(str(scan.table.path) for scan in timed_scans(top, below=False))
    walls = [*_walls(top)]
    under = frozenset(str(scan.table.path) for node in walls for scan in _all(node) if isinstance(scan, Scan))
    if not paths and not walls:
        return None
    ends = [end for window in _windows(top) for end in _ends(window)]
    ends += [(_ANYWHERE, 0)] * any(isinstance(node, IntervalJoin | TemporalJoin) for node in _all(top))
    shift = ends[0][1] if ends else 0
    steps = [n for step, first in ends for n in (step, first - shift)]
    steps += [_OF_ZONES] * (zone != "UTC")
    every = max(1, reduce(gcd, steps, 0))
    wall_ms = max((node.window.size_ms for node in walls), default=0)
    return Timing({path: n for n, path in enumerate(paths)}, every, shift % every, under, wall_ms)


def walled(top: Node) -> bool:
    """Whether a query has windows over processing time."""
    return any(True for _ in _walls(top))


def _walls(top: Node) -> Iterator[WindowAggregate]:
    return (node for node in _all(top) if isinstance(node, WindowAggregate) and node.window.proctime)


def _all(node: Node) -> Iterator[Node]:
    yield node
    for child in node.inputs:
        yield from _all(child)


def _windows(top: Node) -> Iterator[Window]:
    windows = (getattr(node, "window", None) for node in _all(top))
    yield from (window for window in windows if isinstance(window, Window))


def _ends(window: Window) -> Iterator[tuple[int, int]]:
    """Yield how far apart ends of windows are, and where one of them is: a session may end anywhere."""
    step = _ANYWHERE if window.kind == "SESSION" else window.slide_ms or window.size_ms
    yield step, window.offset_ms
    yield step, window.offset_ms + window.size_ms


def timed_scans(node: Node, below: bool) -> Iterator[Scan]:
    """Yield the scans below an operator that waits for the watermark; ``below``: that a node itself is below one."""
    below = below or node.requires_watermark
    if isinstance(node, Scan) and below:
        yield node
    for child in node.inputs:
        yield from timed_scans(child, below)
