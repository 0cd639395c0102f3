"""Windows over processing time: where one ends while no rows come, a row of a control stream makes a batch that tells.

Each batch with a row tells the time at which it began (``spark/scan.py``), and closes what is over by then. Flink has
a timer; Spark begins no batch without a row. Once all windows that rows can be in are over nothing is sent any more.
Times are Spark's own, of its batches: its machine's clock may be another than this one's.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from flinkddl.runtime.job.topics.pushes import PUSH_SECONDS, Pushes
from flinkddl.spark import job as J

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from flinkddl.runtime.job.topics.sources import Sources

_AWAY_SECONDS = 60.0  # after which a row that no batch has taken is sent again


@dataclass
class _Query:
    """A query with such windows. Times in seconds since 1970."""

    name: str
    controls: list[Pushes]
    every: float
    shift: float
    open: float  # how long a window can be open after its last row
    rows_at: float | None = None  # until when rows have come, None while there are none
    told: float = 0.0  # the time that its last batch told
    pushed_at: float = 0.0  # by this machine's clock
    waits: bool = False  # for the batch that takes what was pushed

    @property
    def due(self) -> float | None:
        """When the next window may end that has rows; None where all are over."""
        if self.rows_at is None or self.told >= self._place(self.rows_at + self.open):
            return None
        return self._place(self.told) + self.every

    def _place(self, at: float) -> float:
        """Return the last place up to a time at which windows can end."""
        return self.shift + (at - self.shift) // self.every * self.every


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
        start = datetime.fromisoformat(str(event["timestamp"]).replace("Z", "+00:00")).timestamp()
        ours, others = False, False
        for source in event.get("sources", []):
            if int(source.get("numInputRows") or 0) > 0:
                control = any(self._folder(p) in str(source.get("description")) for p in query.controls)
                ours, others = ours or control, others or not control
        if ours or others:
            query.told = max(query.told, start)
        if others:  # they have the time of the batch, which Spark takes a moment after its start
            lasted = int((event.get("durationMs") or {}).get("triggerExecution") or 0) / 1000
            query.rows_at = max(query.rows_at or 0.0, start + lasted)
        query.waits = query.waits and not ours

    def wake(self) -> None:
        """Ask anew: what was pushed may be read already, by a query that has failed since."""
        for query in self._queries.values():
            query.waits = False

    def move(self) -> None:
        """Ask for a batch of each query in which a window has ended."""
        now = self._clock()
        self._begin(now)
        for query in self._queries.values():
            since = now - query.pushed_at
            due = query.due
            if due is not None and due <= now and since >= (_AWAY_SECONDS if query.waits else PUSH_SECONDS):
                for control in query.controls:
                    control.push(datetime.fromtimestamp(now, UTC).isoformat())
                query.pushed_at, query.waits = now, True

    def _begin(self, now: float) -> None:
        """Count all windows of an earlier run as open: what is over comes out now, as Flink's timers fire."""
        if not self._begun:
            self._begun = True
            checkpoint = self._sources.checkpoint
            for query in self._queries.values():
                if checkpoint is not None and checkpoint.started(query.name):
                    query.rows_at = max(query.rows_at or 0.0, now)

    def _folder(self, pushes: Pushes) -> str:
        assert self._sources.checkpoint is not None
        return self._sources.checkpoint.control(pushes.control.name).rpartition("/")[2]


def _queries(sources: Sources) -> Iterator[_Query]:
    steps = {s.name: s for s in sources.run.steps}
    for run in sources.run.runs:
        under = J.below(steps[run.input], steps)
        tellers = [s for s in under if isinstance(s, J.WithTime) and s.wall_ms]
        reads = {s.name: s for teller in tellers for s in J.below(teller, steps) if isinstance(s, J.Read)}
        controls = [Pushes(sources, read) for read in reads.values() if read.format == J.CONTROL]
        if controls:
            one = tellers[0]  # of one query all are alike
            yield _Query(run.name, controls, one.every / 1000, one.shift / 1000, one.wall_ms / 1000)
