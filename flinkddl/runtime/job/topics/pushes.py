"""Rows that the driver puts into a control stream, each a small file: a query begins a batch for them."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flinkddl.runtime.job.topics.sources import Sources
    from flinkddl.spark import job as J

PUSH_SECONDS = 1.0  # how often a row is put there, at most
KEPT_FILES = 50


@dataclass
class Pushes:
    """The rows of one control stream."""

    sources: Sources
    control: J.Read
    files: list[str] = field(default_factory=list)

    def push(self, text: str) -> None:
        """Put a row with this time (ISO 8601) there; of older files the last few stay."""
        name = f"tick-{time.time_ns()}"
        folder = self.sources.push(self.control, name, text)
        storage = self.sources.storage
        self.files.append(f"{name}.json")
        if len(self.files) == 1:  # runs before this one have left theirs
            self.files = sorted(n for n in storage.names(folder) if n.startswith("tick-"))
        for old in self.files[:-KEPT_FILES]:
            storage.remove(f"{folder}/{old}")
        del self.files[:-KEPT_FILES]
