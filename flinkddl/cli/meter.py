"""What a run has done so far, added up from the batches of its jobs: for the panel, the metrics and the log."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from flinkddl.runtime.job.reporting.progress import RowTotals
from flinkddl.runtime.job.topics.flow import lag_by_topic

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from flinkddl.diagnostics import FlinkDdlError
    from flinkddl.runtime.job.reporting.progress import Progress
    from flinkddl.runtime.job.topics.flow import Flow
    from flinkddl.spark.job import SparkJob

WINDOW_SECONDS = 10.0
OPERATOR_COUNTS = ("updated", "removed", "late", "commit_ms")


class Watched(Protocol):
    """What a meter asks a started job: ``running.RunningJob`` or ``api.Job``."""

    @property
    def status(self) -> str:
        """Its state in one word."""

    @property
    def error(self) -> FlinkDdlError | None:
        """Why it failed."""

    @property
    def progress(self) -> tuple[Progress, ...]:
        """The last batch of each write, with what it waits for."""

    @property
    def flows(self) -> tuple[Flow, ...]:
        """What goes through each write of a real-time job."""

    @property
    def lost(self) -> dict[str, int]:
        """Records per topic that were deleted unread."""

    @property
    def waiting(self) -> str:
        """What it waits for: a cluster, a restart."""

    @property
    def restarting(self) -> bool:
        """Whether a query is to be started again."""

    @property
    def restarts(self) -> int:
        """How often a query was started again."""

    @property
    def last_failure(self) -> str:
        """Why one failed last."""

    @property
    def failures(self) -> Mapping[tuple[str, str], int]:
        """How many failures of queries there were, by write and code."""


@dataclass
class WriteTotals:
    """The sums of one write, and its last batch. ``rows_out`` counts records where the sink says how many.

    ``batch_ms`` and ``phase_ms`` are milliseconds; ``operators`` counts ``updated``, ``removed``, ``late`` rows and
    ``commit_ms`` of each stateful operator, by its place, ``rows`` those of the plan's nodes.
    """

    last: Progress
    rows_in: int = 0
    rows_out: int = 0
    upserts: int = 0
    tombstones: int = 0
    late_rows: int = 0
    batches: int = 0
    batch_ms: int = 0
    phase_ms: Counter[str] = field(default_factory=Counter)
    operators: Counter[tuple[int, str]] = field(default_factory=Counter)
    rows: RowTotals = field(default_factory=RowTotals)
    recent: deque[tuple[float, int, int]] = field(default_factory=deque)

    def add(self, p: Progress, now: float) -> None:
        """Take a batch."""
        out = p.written or 0
        self.last = p
        self.rows_in += p.rows_in
        self.rows_out += out
        self.upserts += p.upserts
        self.tombstones += p.tombstones
        self.late_rows += p.late_rows
        self.batches += 1
        self.batch_ms += p.batch_ms
        self.phase_ms.update(p.phases)
        self.rows.add(p)
        for place, state in enumerate(p.state):
            self.operators.update({(place, name): getattr(state, name) for name in OPERATOR_COUNTS})
        self.recent.append((now, p.rows_in, out))

    def rates(self, now: float) -> tuple[float, float]:
        """Return rows a second in and out over the last seconds: nothing new means that they fall to zero."""
        while self.recent and self.recent[0][0] < now - WINDOW_SECONDS:
            self.recent.popleft()
        return (
            sum(rows for _, rows, _ in self.recent) / WINDOW_SECONDS,
            sum(rows for _, _, rows in self.recent) / WINDOW_SECONDS,
        )


class JobMeter:
    """One job of a run. ``update`` is RunOptions.on_progress; ``attach`` gives it the job once that is started."""

    def __init__(self, job: SparkJob, clock: Callable[[], float] = time.monotonic) -> None:
        self.job = job
        self.clock = clock
        self.writes: dict[str, WriteTotals] = {}
        self.began = clock()
        self._running: Watched | None = None
        self._lock = threading.Lock()

    def attach(self, running: Watched) -> None:
        """Take the started job, which knows its status and what it waits for."""
        self._running = running

    def update(self, progress: Progress) -> None:
        """Take a finished batch."""
        with self._lock:
            now = self.clock()
            known = self.writes.get(progress.write)
            if known is None:
                known = self.writes[progress.write] = WriteTotals(progress)
            known.add(progress, now)

    @property
    def status(self) -> str:
        """``starting`` until the job is attached, then its own."""
        return "starting" if self._running is None else self._running.status

    @property
    def error(self) -> str | None:
        """Why the job failed, in one line."""
        error = self._running.error if self._running is not None else None
        return None if error is None else error.diagnostics[0].message

    def totals(self) -> dict[str, WriteTotals]:
        """Return the totals by write, in the job's order."""
        with self._lock:
            return {w.name: self.writes[w.name] for w in self.job.writes if w.name in self.writes}

    def waiting(self, write: str) -> str:
        """Return what a write does or waits for at this moment."""
        if self._running is None:
            return "starting"
        found = next((p.waiting for p in self._running.progress if p.write == write), "")
        first = "in its first batch" if self.job.trigger[0] == "realTime" else "waiting for the first batch"
        return found or self.held() or (first if self.status == "running" else self.status)

    def flows(self) -> dict[str, Flow]:
        """Return what goes through each write of a real-time job, by write."""
        return {} if self._running is None else {f.write: f for f in self._running.flows}

    def lost(self) -> dict[str, int]:
        """Return records deleted before they were read, per topic."""
        return {} if self._running is None else self._running.lost

    def held(self) -> str:
        """Return what the whole job waits for: a cluster that is away, a restart; nothing where it runs."""
        return "" if self._running is None or self.status != "running" else self._running.waiting

    def restarts(self) -> tuple[int, str]:
        """Return how often a query was started again, and why one failed last."""
        return (0, "") if self._running is None else (self._running.restarts, self._running.last_failure)

    def failures(self) -> Mapping[tuple[str, str], int]:
        """Return how many failures of queries there were, by write and code."""
        return {} if self._running is None else self._running.failures

    def lag(self) -> dict[str, int]:
        """Return records not yet read, per topic; the slowest write counts."""
        return lag_by_topic(self.job, (total.last for total in self.totals().values()), self.flows().values())
