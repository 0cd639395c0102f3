"""Idle partitions: after ``scan.watermark.idle-timeout`` without records a partition holds the watermark back no more.

Spark knows no idle input: an operator ``withWatermark`` counts with the latest time that it saw. So a silent partition
gets rows of its control stream, which carry the latest time of the active partition that is furthest behind, and no
data. What follows is Flink's: the least of the active partitions holds; a partition that has records again counts again
from where the watermark stands; when all are idle the largest holds (StatusWatermarkValve, a reader a partition).
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from flinkddl.runtime.job.reporting.progress import offsets_in
from flinkddl.runtime.job.topics.pushes import PUSH_SECONDS, Pushes
from flinkddl.spark import job as J
from flinkddl.spark.calls import LATEST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from flinkddl.runtime.job.topics.sources import Sources

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass
class _Branch:
    """One partition. Times in seconds since 1970; ``latest`` event times in microseconds, per write."""

    name: str
    table: str
    topic: str
    partition: int
    pushes: Pushes
    timeout: float
    active_at: float
    latest: dict[str, int] = field(default_factory=dict)
    pushed: int | None = None
    pushed_at: float = 0.0

    @property
    def reached(self) -> int | None:
        """The latest time that every write has seen, or that was given to it."""
        known = [*([min(self.latest.values())] if self.latest else []), *([self.pushed] if self.pushed else [])]
        return max(known, default=None)


class IdlePartitions:
    """Follows the batches of a job and moves on the watermarks of its silent partitions."""

    def __init__(self, sources: Sources, clock: Callable[[], float] = time.time) -> None:
        self._sources, self._clock = sources, clock
        self._seen = clock()
        self._branches = {b.name: b for b in _branches(sources, self._seen)}

    def __bool__(self) -> bool:
        return bool(self._branches)

    def batch(self, write: str, event: Mapping[str, Any]) -> None:
        """Take a finished batch: Spark's progress event."""
        start = datetime.fromisoformat(str(event["timestamp"]).replace("Z", "+00:00")).timestamp()
        self._seen = max(self._seen, start)
        read = {
            (topic, p)
            for s in event.get("sources", [])
            if int(s.get("numInputRows") or 0) > 0
            for topic, places in offsets_in(s.get("endOffset")).items()
            for p in places
        }
        observed = event.get("observedMetrics") or {}
        for branch in self._branches.values():
            if (branch.topic, branch.partition) in read:
                branch.active_at = max(branch.active_at, start)
            row = observed.get(branch.name)
            latest = None if row is None else (row.asDict() if hasattr(row, "asDict") else row).get(LATEST)
            if latest is not None:
                branch.latest[write] = max(int(latest), branch.latest.get(write, int(latest)))

    def wake(self) -> None:
        """Count the silence anew: a query that is started again was silent itself."""
        now = self._seen = self._clock()
        for branch in self._branches.values():
            branch.active_at = now

    def move(self, *, quiet: bool) -> None:
        """Move on the idle partitions of every table; ``quiet`` says that nothing is left to be read at this moment."""
        now = self._clock()
        seen = now if quiet else self._seen
        tables: dict[str, list[_Branch]] = {}
        for branch in self._branches.values():
            tables.setdefault(branch.table, []).append(branch)
        for branches in tables.values():
            active = [b for b in branches if seen - b.active_at < b.timeout]
            goal = _goal(active, branches)
            for branch in branches:
                behind = goal is not None and (branch.reached is None or branch.reached < goal)
                if branch not in active and behind and now - branch.pushed_at >= PUSH_SECONDS:
                    assert goal is not None
                    self._push(branch, goal, now)

    def _push(self, branch: _Branch, micros: int, now: float) -> None:
        branch.pushes.push((_EPOCH + timedelta(microseconds=micros)).strftime("%Y-%m-%dT%H:%M:%S.%fZ"))
        branch.pushed, branch.pushed_at = micros, now


def _goal(active: list[_Branch], branches: list[_Branch]) -> int | None:
    """Return the time that idle partitions are moved to; None while an active one has shown none."""
    if not active:
        return max((b.reached for b in branches if b.reached is not None), default=None)
    times = [b.reached for b in active]
    known = [t for t in times if t is not None]
    return min(known) if len(known) == len(times) else None


def _branches(sources: Sources, now: float) -> Iterator[_Branch]:
    steps = {s.name: s for s in sources.run.steps}
    for step in sources.run.steps:
        if isinstance(step, J.WithWatermark) and step.observed:
            reads = [s for s in J.below(step, steps) if isinstance(s, J.Read)]
            kafka = next(r for r in reads if r.of_topics)
            control = next(r for r in reads if not r.of_topics)
            topic, (partition, *_) = next(iter(json.loads(kafka.options["assign"]).items()))
            pushes = Pushes(sources, control)
            yield _Branch(step.observed, kafka.source, topic, partition, pushes, step.idle_ms / 1000, now)
