"""Telling consumer groups where a job stands. Informational, as in Flink: a failure is told, not raised."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.kafka.admin import KafkaAdmin
from flinkddl.runtime.kafka.offsets import client_properties
from flinkddl.runtime.machine.aside import Aside

if TYPE_CHECKING:
    from collections.abc import Callable

    from flinkddl.runtime.job.topics.sources import Sources
    from flinkddl.runtime.kafka.admin import Offsets

COMMIT_SECONDS = 1.0
LAST_SECONDS = 10.0


class GroupCommits:
    """Commits for the groups of one job, once a second, beside its supervisor.

    ``answers`` says whether its clusters do: one that is away has been told of already.
    """

    def __init__(self, sources: Sources, notice: Callable[[str], None], answers: Callable[[], bool]) -> None:
        self._reads = [(s, s.start["commit-group"]) for s in sources.kafka_reads if s.start.get("commit-group")]
        self._notice, self._answers = notice, answers
        self._at = 0.0
        self._aside: Aside[None] = Aside()
        self._told: set[str] = set()

    def commit(self, ends: Callable[[], Offsets]) -> None:
        """Commit these offsets, unless that was done just now."""
        self._aside.take()  # raises what is no answer of a cluster
        if self._reads and time.monotonic() - self._at >= COMMIT_SECONDS and not self._aside.busy:
            self._at = time.monotonic()
            self._begin(ends())

    def last(self, ends: Offsets) -> None:
        """Commit where the job ends, if the clusters answer soon."""
        if self._answers():  # else a commit may be under way that nobody answers
            self._aside.wait(LAST_SECONDS)
        if self._reads and not self._aside.busy and self._answers():
            self._begin(ends)
            self._aside.wait(LAST_SECONDS)

    def _begin(self, ends: Offsets) -> None:
        if self._answers():
            self._aside.start(lambda: self._commit(ends))

    def _commit(self, ends: Offsets) -> None:
        for step, group in self._reads:
            topics = {t: ends[t] for t in ends if t in step.options.get("subscribe", t).split(",")}
            if not topics:
                continue
            try:
                with KafkaAdmin(client_properties(step.options)) as admin:
                    admin.commit(group, topics)
                self._told.discard(group)
            except FlinkDdlError as error:
                # a cluster that does not answer is waited for, and that is said elsewhere
                if group not in self._told and error.diagnostics[0].code != "FD811" and self._answers():
                    self._told.add(group)
                    self._notice(f"offsets of group '{group}' were not committed: {error}")
