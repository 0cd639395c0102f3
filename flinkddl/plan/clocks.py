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
    from collections.abc import Iterator, Mapping, Sequence

    from flinkddl.plan.nodes import Node

_OF_ZONES = 1000
"""Windows over TIMESTAMP_LTZ end at the wall clock of the session's zone, whose distance from UTC is whole seconds."""

_ANYWHERE = 100
"""How often event time is told for sessions, interval and temporal joins, in ms of it: Flink tells it every 200 ms."""

WALL = 62
"""The clock of processing time, behind those of all tables."""

_OF_ZONES_NOW = 900_000
"""What the distance of each zone from UTC is a multiple of today, in ms: an hour, half of one, or three quarters."""


@dataclass(frozen=True)
class Wall:
    """Where windows over processing time end, in ms.

    At ``shift`` and multiples of ``every`` from there, the last one of a row at most ``open`` after it; sessions each
    of the ``gaps`` after their last row. ``zone``: on whose clock they are, "" for UTC. ``depth``: so many such windows
    lie over one another; rows come to the upper ones as the lower ones fire.
    """

    every: int
    shift: int
    open: int
    gaps: tuple[int, ...]
    zone: str
    depth: int


@dataclass(frozen=True)
class Timing:
    """The clocks of a query's tables by their paths, and the places at which its windows end, in ms.

    ``walled``: the paths of tables below windows over processing time, which end as ``wall`` says.
    """

    clocks: Mapping[str, int]
    every: int
    shift: int
    walled: frozenset[str] = frozenset()
    wall: Wall | None = None

    def below(self, node: Node) -> int:
        """Return the clocks that a node waits for, a bit each: of the tables that it reads, or of processing time."""
        if isinstance(node, WindowAggregate) and node.window.proctime:
            return 1 << WALL
        found = {self.clocks[p] for scan in timed_scans(node, below=True) if (p := str(scan.table.path)) in self.clocks}
        return sum(1 << clock for clock in found)

    def of(self, scan: Scan) -> int | None:
        """Return the clock of a table; None where its watermark does not count."""
        return self.clocks.get(str(scan.table.path))

    def wall_of(self, scan: Scan) -> Wall | None:
        """Return where windows over processing time end that are above a table; None where there is none."""
        return self.wall if str(scan.table.path) in self.walled else None

    def tells(self, scan: Scan) -> bool:
        """Whether a table's rows tell a time."""
        return str(scan.table.path) in {*self.clocks, *self.walled}


def timing(top: Node, zone: str) -> Timing | None:
    """Return the time of a query that is one chain; None where none of its operators waits for it."""
    paths = dict.fromkeys(str(scan.table.path) for scan in timed_scans(top, below=False))
    wall = _wall(top, zone)
    if not paths and wall is None:
        return None
    under = frozenset(str(scan.table.path) for node in _walls(top) for scan in _all(node) if isinstance(scan, Scan))
    ends = [end for window in _windows(top) for end in _ends(window)]
    ends += [(_ANYWHERE, 0)] * any(isinstance(node, IntervalJoin | TemporalJoin) for node in _all(top))
    every, shift = _places(ends)
    every = max(1, gcd(every, _OF_ZONES) if zone != "UTC" else every)
    return Timing({path: n for n, path in enumerate(paths)}, every, shift % every, under, wall)


def _places(ends: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return how far apart ends of windows are, 0 where there is none, and where one of them is."""
    shift = ends[0][1] if ends else 0
    return reduce(gcd, (n for step, first in ends for n in (step, first - shift)), 0), shift


def _wall(top: Node, zone: str) -> Wall | None:
    walls = [node.window for node in _walls(top)]
    if not walls:
        return None
    placed = [window for window in walls if window.kind != "SESSION"]
    every, shift = _places([end for window in placed for end in _ends(window)])
    every = gcd(every, _OF_ZONES_NOW) if placed and zone != "UTC" else every
    gaps = sorted({window.size_ms for window in walls if window.kind == "SESSION"})
    open = max((window.size_ms for window in placed), default=0)
    return Wall(every, shift % every if every else 0, open, tuple(gaps), "" if zone == "UTC" else zone, _depth(top))


def _depth(node: Node) -> int:
    """Return how many windows over processing time lie over one another."""
    own = isinstance(node, WindowAggregate) and node.window.proctime
    return int(own) + max(map(_depth, node.inputs), default=0)


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
