"""What each operator by key keeps, carried on from batch to batch and from run to run.

Operators count by how much a batch makes their state larger or smaller: what they keep is known as long as each batch
follows the one before, from the first one on, or from the place where the run before has left its sums. A run that was
killed may have left none of its last batch: then nothing is said, until somebody counts (``flinkddl state``).
"""

from __future__ import annotations

import json
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError

if TYPE_CHECKING:
    from collections.abc import Callable

    from flinkddl.runtime.job.reporting.progress import KeyedRows, Progress
    from flinkddl.runtime.storage.checkpoint import Checkpoint

FILE = "flinkddl-figures.json"
EVERY_SECONDS = 10.0
RAN = "addBatch"  # Spark's name of the part of a batch in which its rows are read and written


@dataclass
class Sums:
    """Groups and bytes of each operator of a query (Spark's ``id``) after a batch, by its name; None: not known."""

    id: str
    batch: int
    nodes: dict[str, list[int]] | None = field(default_factory=dict)


class Kept:
    """The sums of a job's queries, by their folders in the checkpoint."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._sums: dict[str, Sums] = {}
        self._last: dict[str, tuple[KeyedRows, ...]] = {}
        self._marks: dict[str, str | None] = {}
        self._checkpoint: Checkpoint | None = None
        self._written = clock()
        self._changed = False

    def open(self, checkpoint: Checkpoint) -> None:
        """Take what the run before has left in a checkpoint."""
        if self._checkpoint is None:
            self._checkpoint = checkpoint
            with suppress(FlinkDdlError, ValueError, TypeError, AttributeError):
                text = checkpoint.storage.read(f"{checkpoint.root}/{FILE}")
                self._sums = {folder: Sums(**told) for folder, told in json.loads(text or "{}").items()}

    def add(self, folder: str, id: str, record: Progress) -> Progress:
        """Take a batch of a query; return it with what its operators keep after it, as far as that is known."""
        known = self._sums.get(folder)
        if RAN not in record.phases:  # while nothing runs Spark reports too, under the next batch's number
            still = self._last.get(folder, ())
            mark = record.watermark or (self._marks.get(folder) if still else None)
            return replace(record, keyed=tuple(_idle(k) for k in still), watermark=mark)
        if known is None and not record.keyed:
            return record
        follows = known is not None and (known.id, known.batch + 1) == (id, record.batch)
        before = {} if record.batch == 0 else known.nodes if known is not None and follows else None
        nodes = None if before is None or not record.keyed else _grown(before, record.keyed, first=record.batch == 0)
        self._sums[folder], self._changed = Sums(id, record.batch, nodes), True
        self._last[folder] = tuple(_told(k, nodes) for k in record.keyed)
        self._marks[folder] = record.watermark
        return replace(record, keyed=self._last[folder])

    def save(self, *, last: bool = False) -> None:
        """Write the sums down, now and then and at the end; what cannot be written is not known to the next run."""
        checkpoint, now = self._checkpoint, self._clock()
        if checkpoint is None or checkpoint.temporary or not self._changed:
            return
        if last or now >= self._written + EVERY_SECONDS:
            self._written, self._changed = now, False
            with suppress(FlinkDdlError):
                told = {folder: asdict(sums) for folder, sums in self._sums.items()}
                checkpoint.storage.write(f"{checkpoint.root}/{FILE}", json.dumps(told))


def _grown(before: dict[str, list[int]], keyed: tuple[KeyedRows, ...], *, first: bool) -> dict[str, list[int]]:
    """Return the sums after a batch, the first of a query or one more.

    An operator that has come to a query that goes on was filled before, nobody has counted with what: it is not known.
    """
    out = {}
    for k in keyed:
        if first or k.node.operator in before:
            groups, size = before.get(k.node.operator, (0, 0))
            out[k.node.operator] = [groups + k.more_groups, size + k.more_size]
    return out


def _idle(k: KeyedRows) -> KeyedRows:
    return replace(k, came=(0,) * len(k.came), went=0, late=0, passed=k.passed and 0)


def _told(k: KeyedRows, nodes: dict[str, list[int]] | None) -> KeyedRows:
    groups, size = (nodes or {}).get(k.node.operator, (None, None))
    return replace(k, groups=groups, size=size)
