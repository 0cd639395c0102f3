"""Windows over processing time: where one ends while no rows come, a row of a control stream makes a batch that tells.

Each batch with a row tells the time at which it began (``spark/scan.py``), and closes what is over by then. Flink has
a timer; Spark begins no batch without a row. Once all windows that rows can be in are over nothing is sent any more.
Times are Spark's own, of its batches: its machine's clock may be another than this one's.
"""

from __future__ import annotations

import time
from bisect import insort
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.job.topics.pushes import PUSH_SECONDS, Pushes
from flinkddl.spark import job as J

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from flinkddl.plan.clocks import Wall
    from flinkddl.runtime.job.topics.sources import Sources

_AWAY_SECONDS = 60.0  # after which a row that no batch has taken is sent again
_TURN_SECONDS = 7200.0  # by which a zone's clock is put back at most


@dataclass
class _Query:
    """A query with such windows. Times in seconds since 1970.

    ``until``: where the last window with rows ends, but for sessions, whose last rows are over at ``ends``; ``open``:
    until when windows of each depth can be open. A batch that nobody asked for may have told nothing: its records may
    be of another table, or not to be read.
    """

    name: str
    controls: list[Pushes]
    wall: Wall
    told: float = 0.0  # the time of the last batch that was asked for
    until: float = 0.0
    ends: list[float] = field(default_factory=list)
    open: list[float] = field(default_factory=list)
    pushed_at: float = 0.0  # by this machine's clock
    waits: bool = False  # for the batch that takes what was pushed

    def __post_init__(self) -> None:
        self.open = [0.0] * self.wall.depth

    @property
    def due(self) -> float | None:
        """When the next window may end that has rows; None where all are over."""
        while self.ends and self.ends[0] <= self.told:
            self.ends.pop(0)
        ends = self.ends[:1]
        if self.told < self.until:
            ends.append(self._place(self.told) + self.wall.every / 1000)
        return min(ends, default=None)

    def ran(self, start: float, end: float, *, rows: bool, asked: bool) -> None:
        """Take a batch, whose rows have a time from its start on: Spark takes it a moment later."""
        fires = [self.told < until for until in self.open[:-1]]
        if asked or self.told >= max(self.open):  # where nothing was open none can have been missed
            self.told = max(self.told, start)
        self.waits = self.waits and not asked
        for depth, came in enumerate([rows, *fires]):
            if came:
                self.came(depth, end)

    def came(self, depth: int, at: float) -> None:
        """Take rows for windows of a depth, the latest at this time."""
        last = at
        if self.wall.every:
            long = self.wall.open / 1000
            if self.wall.zone and _offset(self.wall.zone, at) != _offset(self.wall.zone, at + long + _TURN_SECONDS):
                long += _TURN_SECONDS  # the clock is put on or back meanwhile
            last = self._place(at + long)
            self.until = max(self.until, last)
        for gap in self.wall.gaps:
            insort(self.ends, at + gap / 1000)
            last = max(last, at + gap / 1000)
        self.open[depth] = max(self.open[depth], last)

    def _place(self, at: float) -> float:
        """Return the last place up to a time at which windows can end."""
        every, shift = self.wall.every / 1000, self.wall.shift / 1000
        return shift + (at - shift) // every * every


class WallClock:
    """Follows the batches of a job and asks for one where a window over processing time ends."""

    def __init__(self, sources: Sources, clock: Callable[[], float] = time.time) -> None:
        self._clock, self._sources = clock, sources
        self._queries = {q.name: q for q in _queries(sources)}
        self._begun = False

    def __bool__(self) -> bool:
        return bool(self._queries)

    def batch(self, write: str, event: Mapping[str, Any]) -> None:
        """Take a finished batch: Spark's progress event."""
        query = self._queries.get(write)
        if query is None:
            return
        asked, rows = False, False
        for source in event.get("sources", []):
            if int(source.get("numInputRows") or 0) > 0:
                ours = any(self._is(str(source.get("description")), p) for p in query.controls)
                asked, rows = asked or ours, rows or not ours
        if asked or rows:
            start = datetime.fromisoformat(str(event["timestamp"]).replace("Z", "+00:00")).timestamp()
            lasted = int((event.get("durationMs") or {}).get("triggerExecution") or 0) / 1000
            query.ran(start, start + lasted, rows=rows, asked=asked)

    def wake(self, writes: Collection[str]) -> None:
        """Ask for a batch at once: a query that is started again repeats one, at a time that nobody has seen."""
        for query in (q for name, q in self._queries.items() if name in writes):
            query.told, query.waits = 0.0, False
            for depth in range(query.wall.depth):
                query.came(depth, self._clock())

    def move(self, failed: Collection[str] = ()) -> None:
        """Ask for a batch of each query in which a window has ended, but for those that have failed."""
        if not self._begun:
            self._begun = True  # all windows of an earlier run are open: what is over comes out now, as in Flink
            checkpoint = self._sources.checkpoint
            self.wake([name for name in self._queries if checkpoint is not None and checkpoint.started(name)])
        now = self._clock()
        for name, query in self._queries.items():
            since, due = now - query.pushed_at, query.due
            if name in failed or due is None or due > now or since < (_AWAY_SECONDS if query.waits else PUSH_SECONDS):
                continue
            query.pushed_at = now
            with suppress(FlinkDdlError):  # the folder is away: it is tried again
                for control in query.controls:
                    control.push(datetime.fromtimestamp(now, UTC).isoformat())
                query.waits = True

    def _is(self, description: str, pushes: Pushes) -> bool:
        assert self._sources.checkpoint is not None
        folder = self._sources.checkpoint.control(pushes.control.name).rpartition("/")[2]
        return description.startswith("FileStreamSource[") and description.endswith(f"/control/{folder}]")


def _offset(zone: str, at: float) -> float:
    offset = datetime.fromtimestamp(at, ZoneInfo(zone)).utcoffset()
    return offset.total_seconds() if offset is not None else 0.0


def _queries(sources: Sources) -> Iterator[_Query]:
    steps = {s.name: s for s in sources.run.steps}
    for run in sources.run.runs:
        under = J.below(steps[run.input], steps)
        tellers = [s for s in under if isinstance(s, J.WithTime) and s.wall is not None]
        reads = {s.name: s for teller in tellers for s in J.below(teller, steps) if isinstance(s, J.Read)}
        controls = [Pushes(sources, read) for read in reads.values() if read.format == J.CONTROL]
        wall = next((s.wall for s in tellers if s.wall is not None), None)  # of one query all are alike
        if controls and wall is not None:
            yield _Query(run.name, controls, wall)
