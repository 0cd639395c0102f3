"""Where the boxes of a picture stand, and the ways of its arrows between them: no arrow goes through a box.

An operator stands in a row below those that it reads. An arrow goes down, turns aside between two rows alone, and
passes a row where no box of it stands. Arrows of one box turn together; each other turn has a line of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from flinkddl.show.dataflow import Operator

Point = tuple[int, int]
Place = tuple[int, int, int]
"""x, y and height of a box."""
_MARGIN, _ASIDE, _LABEL, _TURN, _TIP = 16, 28, 26, 7, 14
"""Around all; between two boxes of a row; of what is written below a box; of a line of its own; of an arrow's tip."""

_BESIDE = (0, 3, -3, 6, -6, 9, -9)
"""Of lines down between the same two boxes, where each is."""


@dataclass(frozen=True)
class Layout:
    """Boxes by the ids of their operators, and arrows."""

    places: Mapping[str, Place]
    ways: Sequence[Sequence[Point]]
    width: int
    height: int


@dataclass(frozen=True)
class _Turn:
    """Where an arrow goes aside, below a row. Those that share ``line`` are one."""

    row: int
    line: Hashable
    start: int
    end: int


@dataclass
class _Drawing:
    operators: Sequence[Operator]
    width: int
    row: Mapping[str, int]
    x: Mapping[str, int]
    taken: dict[tuple[int, int], int] = field(default_factory=dict)  # lines down between two boxes, by row

    def turns(self, source: str, target: str, end: int) -> list[_Turn]:
        """Return where the arrow between two boxes goes aside, so that it ends at this x."""
        start, row, last = self.x[source] + self.width // 2, self.row[source], self.row[target] - 1
        if row == last:
            return [_Turn(row, source, start, end)]
        lane = self._lane(start, end, range(row + 1, last + 1))
        return [_Turn(row, (source, lane), start, lane), _Turn(last, (source, target, end), lane, end)]

    def _lane(self, start: int, end: int, rows: range) -> int:
        """Return an x at which no box of these rows stands: straight down where that can be."""
        boxes = [self.x[o.id] for o in self.operators if self.row[o.id] in rows]
        if not any(x - 8 < start < x + self.width + 8 for x in boxes):
            return start
        step = self.width + _ASIDE
        gaps = range(_MARGIN + self.width + _ASIDE // 2, max(self.x.values()) + 2 * step, step)
        at = min(gaps, key=lambda g: (abs(g - start) + abs(g - end), g))
        use = max(self.taken.get((at, r), 0) for r in rows)
        self.taken.update({(at, r): use + 1 for r in rows})
        return at + _BESIDE[use % len(_BESIDE)]


def laid_out(operators: Sequence[Operator], heights: Mapping[str, int], width: int) -> Layout:
    """Return where boxes of these heights stand, columns in reading order, and the arrows."""
    row, x, side = _rows(operators), dict[str, int](), dict[int, int]()
    for o in operators:
        x[o.id] = max(side.get(row[o.id], _MARGIN), min((x[r] for r in o.reads), default=_MARGIN))
        side[row[o.id]] = x[o.id] + width + _ASIDE
    drawing = _Drawing(operators, width, row, x)
    arrows = []
    for o in operators:
        ends = range(width // (len(o.reads) + 1), width, width // (len(o.reads) + 1))
        arrows += [(r, o.id, drawing.turns(r, o.id, x[o.id] + end)) for r, end in zip(o.reads, ends, strict=False)]
    lines = _lines(turn for _, _, turns in arrows for turn in turns)
    top, below = _heights(row, heights, lines)
    places = {o.id: (x[o.id], top[row[o.id]], heights[o.id]) for o in operators}
    ways = [
        _way((x[source] + width // 2, places[source][1] + heights[source]), top[row[target]], turns, lines, below)
        for source, target, turns in arrows
    ]
    right = max((px for way in ways for px, _ in way), default=0)
    wide = max(right, *(place + width for place in x.values())) + _MARGIN
    return Layout(places, ways, wide, max(y + h for _, y, h in places.values()) + _MARGIN)


def _rows(operators: Sequence[Operator]) -> dict[str, int]:
    """Return the row of each box: the longest way from a source; a source that is needed late stands late."""
    row: dict[str, int] = {}
    for o in operators:
        row[o.id] = max((row[r] + 1 for r in o.reads), default=0)
    users: dict[str, list[int]] = {}
    for o in operators:
        for r in o.reads:
            users.setdefault(r, []).append(row[o.id])
    late = {o.id: min(users[o.id]) - 1 for o in operators if not o.reads and o.id in users}
    return row | late


def _lines(turns: Iterable[_Turn]) -> dict[int, dict[Hashable, int]]:
    """Return the lines below each row, from above: in an order in which few of them cross."""
    found: dict[int, dict[Hashable, int]] = {}
    for turn in sorted(turns, key=lambda t: t.start if t.end < t.start else -t.start):
        if turn.start != turn.end:
            row = found.setdefault(turn.row, {})
            row.setdefault(turn.line, len(row))
    return found


def _heights(
    row: Mapping[str, int], heights: Mapping[str, int], lines: Mapping[int, Mapping[Hashable, int]]
) -> tuple[list[int], list[int]]:
    """Return where each row begins, and where lines below it do."""
    top, below, y = [], [], _MARGIN
    highest: dict[int, int] = {}
    for id, n in row.items():
        highest[n] = max(highest.get(n, 0), heights[id])
    for n in range(max(highest) + 1):
        top.append(y)
        below.append(y + highest.get(n, 0) + _LABEL)
        y = below[-1] + _TURN * len(lines.get(n, ())) + _TIP
    return top, below


def _way(
    source: tuple[int, int],
    end: int,
    turns: Sequence[_Turn],
    lines: Mapping[int, Mapping[Hashable, int]],
    below: Sequence[int],
) -> list[Point]:
    """Return the corners of an arrow from a point to the top of a box."""
    way = [source]
    for turn in turns:
        if turn.start != turn.end:
            y = below[turn.row] + _TURN * lines[turn.row][turn.line]
            way += [(turn.start, y), (turn.end, y)]
    return [*way, (turns[-1].end, end)]
