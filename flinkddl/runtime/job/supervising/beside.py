"""Queries that make the state of an operator beside a checkpoint, before anything in that changes."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from flinkddl.runtime.storage.moves import FILLING, made

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from flinkddl.runtime.storage.checkpoint import Checkpoint
    from flinkddl.spark import job as J

    Run = Callable[[DataFrame, J.Write, str], None]
    """Runs the query of a write over what is there, with its checkpoint in a folder, to its end."""

_WHOLE = {"spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "false"}
"""Each version of state as one snapshot: it shall stand for all versions before it."""


class Beside:
    """A folder beside the state of a write's query as of its last batch: ``place`` is the query's, ``folder`` this one.

    ``conf`` are the settings by which the state is laid out: how many partitions, which formats.
    """

    def __init__(self, spark: SparkSession, checkpoint: Checkpoint, write: J.Write) -> None:
        self.spark, self.storage = spark, checkpoint.storage
        self.place = checkpoint.location(write.name)
        self.folder = f"{checkpoint.root}/{FILLING}"
        self._batch = max(int(n) for n in self.storage.names(f"{self.place}/commits") if n.isdigit())
        lines = (self.storage.read(f"{self.place}/offsets/{self._batch}") or "").splitlines()
        self.conf: Mapping[str, str] = json.loads(lines[1])["conf"]

    @contextmanager
    def open(self) -> Iterator[None]:
        """Make the folder, and give the session the state's settings; both go in the end."""
        self.storage.remove(self.folder)
        self.storage.make(f"{self.folder}/none")
        try:
            with _told(self.spark, {**self.conf, **_WHOLE}):
                yield
        finally:
            self.storage.remove(self.folder)

    def read(self, operator: int, part: str, *more: str, **columns: str) -> DataFrame:
        """Return columns of a part of an operator's state, each of which Spark gives as a STRUCT of one BINARY.

        ``more`` are columns as they are.
        """
        from pyspark.sql import functions as F

        options: dict[str, Any] = {"operatorId": operator, "batchId": self._batch, "stateVarName": part}
        state = self.spark.read.format("statestore").options(**options).load(self.place)
        types: Any = state.schema
        return state.select(*more, *(F.col(c)[types[c].dataType.names[0]].alias(name) for name, c in columns.items()))

    def take(self, number: int, now: int) -> None:
        """Take an operator that has been made in ``folder`` for the one that the query's next batch reads."""
        made(self.storage, f"{self.folder}/query", number, self.place, now, self._batch + 1)


@contextmanager
def _told(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Give a session settings for a while."""
    before = {name: spark.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value_ in before.items():
            if value_ is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value_)
