"""One round of a job's queries: the frames of its sources as they are now, and a query a write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flinkddl.runtime.job.steps import build_frames
from flinkddl.runtime.job.topics.idle import IdlePartitions
from flinkddl.spark.calls import trigger_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flinkddl.runtime.job.supervising.held import Held
    from flinkddl.runtime.job.topics.sources import Sources
    from flinkddl.spark.job import Write

PARTITIONS = "spark.flinkddl.partitions."  # ScalarWatermark.java asks for it
LAST: Mapping[str, Any] = {"availableNow": True}  # the trigger of the round that ends a job's input


class Round:
    """From one start of all queries to the next: a job's first, and another when a partition or the end has come."""

    def __init__(self, held: Held, sources: Sources) -> None:
        self._held = held
        for read in sources.places:
            held.spark.conf.set(f"{PARTITIONS}{read}", str(sources.count(read)))
        self.frames = build_frames(held.spark, sources.run, sources.open)
        self.idle = IdlePartitions(sources)

    def start(self, trigger: Mapping[str, Any] | None = None) -> None:
        """Start all queries, by the job's trigger or another. Raises JobFailed when Spark refuses one."""
        self._held.queries.trigger = trigger or trigger_of(self._held.job)
        for write in self._held.job.writes:
            self.start_write(write)

    def start_write(self, write: Write) -> None:
        """Start the query of a write, by the trigger of the round."""
        assert self._held.checkpoint is not None
        self._held.queries.start(write, self.frames[write.input], self._held.checkpoint)
