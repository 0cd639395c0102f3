"""The result of a running query as it is shown: the table its changes leave, or the changes themselves."""

from __future__ import annotations

import threading
import time
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING

from flinkddl.cli.tables import paired

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from flinkddl.api import Job
    from flinkddl.cli.tables import Columns
    from flinkddl.runtime.job.reporting.changes import Change, Values

_RETRACT = frozenset({"-U", "-D"})
_CANDIDATES = 64  # emptied places that an inserted row is compared with: more would make large batches slow


class Result:
    """Rows as cells, taken by one thread and shown by another. ``count`` changes came so far, ``most`` rows stay."""

    op = False

    def __init__(self, columns: Columns, most: int) -> None:
        self.columns, self.most = columns, max(1, most)
        self.count = 0
        self.last: float | None = None  # when the last change came, monotonic seconds
        self._lock = threading.Lock()

    @property
    def header(self) -> tuple[str, ...]:
        """The names above the columns."""
        return ("op", *self.columns.names) if self.op else self.columns.names

    def add(self, changes: Sequence[Change]) -> None:
        """Take the changes of a batch."""
        self.last = time.monotonic()
        with self._lock:
            for change in paired(changes, self.columns.key):
                self.count += 1
                self._take(change)

    def __len__(self) -> int:
        raise NotImplementedError

    def page(self, start: int, count: int) -> list[list[str]]:
        """Return some rows as texts."""
        with self._lock:
            return [self._cells(item) for item in islice(self._items(), start, start + count)]

    def _take(self, change: Change) -> None:
        raise NotImplementedError

    def _items(self) -> Iterable[Change]:
        raise NotImplementedError

    def _cells(self, item: Change) -> list[str]:
        cells = self.columns.cells(item.row)
        return [item.kind, *cells] if self.op else cells


class ChangelogResult(Result):
    """The last changes, in order, each with its kind."""

    op = True

    def __init__(self, columns: Columns, most: int) -> None:
        super().__init__(columns, most)
        self._changes: deque[Change] = deque(maxlen=self.most)

    def __len__(self) -> int:
        return len(self._changes)

    def _take(self, change: Change) -> None:
        self._changes.append(change)

    def _items(self) -> Iterable[Change]:
        return self._changes


class TableResult(Result):
    """The rows that are in the result now.

    A row that is updated stays in its place: +U takes the place of the -U before it, +I that of the row taken back in
    the same batch that it has most values in common with. Beyond ``most`` the oldest row goes, as in Flink.
    """

    def __init__(self, columns: Columns, most: int) -> None:
        super().__init__(columns, most)
        self._rows: dict[int, Change] = {}
        self._places: dict[str, list[int]] = {}
        self._empty: list[tuple[int, Values]] = []
        self._next = 0

    def __len__(self) -> int:
        return len(self._rows)

    def _items(self) -> Iterable[Change]:
        return self._rows.values()

    def add(self, changes: Sequence[Change]) -> None:
        """Take the changes of a batch."""
        super().add(changes)
        with self._lock:
            for place, _ in self._empty:
                self._rows.pop(place, None)
            self._empty.clear()

    def _take(self, change: Change) -> None:
        name = repr(change.row)
        if change.kind in _RETRACT:
            places = self._places.get(name)
            if places:  # otherwise it was more than ``most`` rows ago
                self._empty.append((places.pop(), change.row))
                if not places:
                    del self._places[name]
            return
        place = self._place_of(change)
        self._rows[place] = change
        self._places.setdefault(name, []).append(place)

    def _place_of(self, change: Change) -> int:
        if not self._empty:
            return self._new_place()
        if change.kind == "+U":
            return self._empty.pop()[0]
        candidates = self._empty[:_CANDIDATES]
        common = [sum(a == b for a, b in zip(old, change.row, strict=True)) for _, old in candidates]
        best = max(range(len(common)), key=common.__getitem__)
        return self._empty.pop(best)[0] if common[best] or len(change.row) == 1 else self._new_place()

    def _new_place(self) -> int:
        if len(self._rows) >= self.most:
            oldest = next(iter(self._rows))
            name = repr(self._rows.pop(oldest).row)
            left = [p for p in self._places.pop(name, ()) if p != oldest]
            if left:
                self._places[name] = left
        self._next += 1
        return self._next


def job_state(job: Job) -> list[str]:
    """Return how a query does, in a few words a part."""
    if job.status != "running":
        return [job.status]
    latest = job.progress
    if job.waiting:
        return [job.waiting]
    if job.flows:
        flow = job.flows[0]
        return [f"{flow.rate_in:,.0f} records/s in, {flow.rate_out:,.0f} out", *flow.words]
    if not latest:
        return ["running", "waiting for the first batch"]
    now = latest[0]
    parts = [f"batch {now.batch}", f"{now.rate:,.0f} rows/s in"]
    if now.lag:
        parts.append("lag " + ", ".join(f"{topic} {n:,}" for topic, n in now.lag.items()))
    if now.watermark:
        parts.append(f"watermark {now.watermark[11:19]}")
    if job.lost:
        parts.append(f"{sum(job.lost.values()):,} records deleted unread")
    if now.waiting:
        parts.append(now.waiting.lower())
    return parts
