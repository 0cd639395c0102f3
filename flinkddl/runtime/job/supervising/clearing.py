"""Operators that have lost a node: their state is written anew without it, beside the checkpoint.

Nothing but the entries of that node is left out, and each entry stays in its partition: what lies there is taken over
byte by byte (``Store.take`` of the jar), notes of time and of timers too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.job.supervising.beside import Beside
from flinkddl.runtime.session.errors import full_text, reason
from flinkddl.runtime.storage.heads import KEY, NO_NODE, NODE, NOTES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from flinkddl.runtime.job.supervising.beside import Run
    from flinkddl.runtime.storage.checkpoint import Checkpoint
    from flinkddl.spark import job as J
    from flinkddl.spark.carried import Carried

_MAPS = 3  # of each group (Store.MAPS)
_PARTITIONS = "spark.sql.shuffle.partitions"
_ENTRY = "to INT, parts INT, part INT, key BINARY, name BINARY, value BINARY"


class Clearing:
    """The operators of one query that have lost a node."""

    def __init__(self, spark: SparkSession, checkpoint: Checkpoint, write: J.Write, carried: Carried) -> None:
        self._write, self._carried = write, carried
        self._beside = Beside(spark, checkpoint, write)

    def run(self, run: Run) -> None:
        """Write their state anew, and put it where the journal's moves look for it. Raises FD678."""
        nowhere = replace(self._write, format="noop", options={}, mode="update", partitions=(), writer="", parts=())
        try:
            for now, stay in self._carried.cleared.items():
                with self._beside.open():
                    frame = self._taken(self._entries(self._carried.order[now], stay))
                    run(frame, nowhere, f"{self._beside.folder}/query")
                    self._beside.take(0, now)
        except FlinkDdlError:
            raise
        except Exception as error:
            message = (
                f"the state of the query into '{self._write.name}' cannot be written without what is dropped:"
                f" {reason(full_text(error))}"
            )
            help = "the checkpoint is as it was: start again, go on with the old script, or start anew with --fresh"
            raise FlinkDdlError.of("FD678", message, help=help) from error

    def _entries(self, operator: int, stay: Sequence[int]) -> DataFrame:
        """Return the entries of an operator that stay, with their partitions."""
        entries = self._part(operator, 0, "head", "CAST(NULL AS BINARY)", "v", k="key", v="value")
        for n in range(_MAPS):
            entry = {"k": "key", "n": "user_map_key", "v": "user_map_value"}
            entries = entries.union(self._part(operator, n + 1, f"map{n}", "n", "v", **entry))
        return entries.where(_of(stay))

    def _part(self, operator: int, part: int, name: str, *shown: str, **columns: str) -> DataFrame:
        parts = self._beside.conf[_PARTITIONS]
        found = self._beside.read(operator, name, "partition_id", **columns)
        return found.selectExpr("partition_id AS to", f"{parts} AS parts", f"{part} AS part", "k AS key", *_as(shown))

    def _taken(self, entries: DataFrame) -> DataFrame:
        """Return the rows, none, of an operator that takes entries for its own."""
        from pyspark.sql import functions as F

        folder = f"{self._beside.folder}/entries"
        entries.write.parquet(folder)
        rows = self._beside.spark.readStream.schema(_ENTRY).parquet(folder)
        entry = ", ".join(f"'{name}', {name}" for name in rows.columns)
        call: Any = F.expr("flinkddl.stages(named_struct('taken', entry))").alias("out")
        return rows.selectExpr(f"named_struct({entry}) AS entry").groupBy("entry.to").agg(call).select("out")


def _as(shown: Sequence[str]) -> list[str]:
    return [f"{sql} AS {name}" for sql, name in zip(shown, ("name", "value"), strict=True)]


def _of(stay: Sequence[int]) -> str:
    """Return the condition on a key of state that is not of a node that goes, nor a note of one."""
    node, behind = (_number(at) for at in (NODE.start, KEY))
    numbers = ", ".join(map(str, stay))
    notes = ", ".join(map(str, NOTES))
    whose = f"length(key) % 8 = {(KEY + 2) % 8} AND {behind} NOT IN ({numbers})"  # others are of all groups there are
    return f"{node} IN ({numbers}) OR {node} >= {NO_NODE} AND NOT ({node} IN ({notes}) AND {whose})"


def _number(at: int) -> str:
    return f"CAST(conv(hex(substring(key, {at + 1}, 2)), 16, 10) AS INT)"
