"""The writes of a job: Spark's own sinks as they are, and the few that end on the driver.

A driver sink is a function from the changes of a batch to an effect; DRIVER_SINKS lists them by format name.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.job.reporting.changes import Change, ChangeReader, flink_line, visible_types
from flinkddl.runtime.job.reporting.progress import METRICS
from flinkddl.runtime.job.steps import perform
from flinkddl.runtime.job.tasks import batches, by_tasks
from flinkddl.runtime.storage.files import alone, check_target, streams_into
from flinkddl.spark.calls import query_calls, write_calls
from flinkddl.spark.job import PART

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.types import DataType, StructType

    from flinkddl.spark.job import Write


@dataclass(frozen=True)
class Rows:
    """What a driver sink gets: the write it serves, the relation's schema, and the changes of one batch."""

    write: Write
    schema: StructType
    changes: Sequence[Change]

    @property
    def types(self) -> list[DataType]:
        """Spark types of the visible columns."""
        return visible_types(self.schema)

    def lines(self) -> list[str]:
        """Return the changes as Flink's print sink writes them."""
        return [flink_line(change, self.types) for change in self.changes]


def print_rows(rows: Rows) -> None:
    """Write the changes to stdout, or stderr where ``standard-error`` says so, after ``print-identifier``."""
    stream = sys.stderr if rows.write.options.get("standard-error") == "true" else sys.stdout
    identifier = rows.write.options.get("print-identifier", "")
    start = f"{identifier}> " if identifier else ""
    for line in rows.lines():
        stream.write(f"{start}{line}\n")
    stream.flush()


DRIVER_SINKS: Mapping[str, Callable[[Rows], None] | None] = {"flinkddl.print": print_rows, "flinkddl.collect": None}
"""Format name -> effect; None where the caller of the job takes the rows (RunOptions.on_rows)."""


class DriverSink:
    """Takes the rows of one batch after the other to where a write wants them on the driver.

    One for the whole life of a job: it remembers the rows of an upsert stream, and which batch it had last, where a
    query is started again in the middle (a drain, a new partition).
    """

    def __init__(self, frame: DataFrame, write: Write, on_rows: Callable[[Rows], None] | None = None) -> None:
        key = write.options.get("key-columns")
        self._frame = frame
        self._reader = ChangeReader(frame.columns, None if key is None else [name for name in key.split(";") if name])
        self._effect, self._write, self._schema = _effect(write, on_rows), write, frame.schema
        self._last = -1

    def take(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Hand over what the rows of the next batch mean."""
        changes = self._reader.read(rows)
        if changes:
            self._effect(Rows(self._write, self._schema, changes))

    def take_batch(self, batch: DataFrame, number: int) -> None:
        """Hand over a micro-batch, unless it was handed over before: one that was cut off is run again."""
        if number > self._last:
            self.take(tuple(row) for row in batch.collect())
            self._last = number

    def start(self, trigger: Mapping[str, Any], location: str) -> StreamingQuery:
        """Start the query of its write, as a printed program does."""
        return start_query(self._frame, self._write, trigger, location, self)


def _effect(write: Write, on_rows: Callable[[Rows], None] | None) -> Callable[[Rows], None]:
    if write.format not in DRIVER_SINKS:
        raise FlinkDdlError.of("FD832", f"there is no writer '{write.format}' for '{write.table or write.name}'")
    return DRIVER_SINKS[write.format] or on_rows or print_rows


def start_query(
    frame: DataFrame,
    write: Write,
    trigger: Mapping[str, Any],
    location: str,
    sink: DriverSink | None = None,
) -> StreamingQuery:
    """Start the streaming query of one write with its checkpoint at ``location``; ``sink`` takes rows on the driver."""
    take = None
    if write.writer:
        take = batches(frame, write.writer, write.options)
    elif write.on_driver:
        take = (sink or DriverSink(frame, write)).take_batch
    else:
        check_target(frame, write, location)
        frame = _observed(frame, write, trigger)
    starting = query_calls(write, trigger, location, take)
    query: StreamingQuery = perform(starting, frame.sparkSession, {write.input: frame})
    streams_into(write, query)
    return query


def _observed(frame: DataFrame, write: Write, trigger: Mapping[str, Any]) -> DataFrame:
    """Count rows and tombstones of a Kafka sink on the way, of each INSERT; real-time mode takes no observation."""
    if "value" not in frame.columns or "realTime" in trigger:
        return frame
    from pyspark.sql.functions import expr

    counts = {"rows": "count(1)", "tombstones": "count_if(`value` IS NULL)"}
    for n in range(len(write.parts)):
        counts |= {f"rows_{n}": f"count_if({PART} = {n})"}
        counts |= {f"tombstones_{n}": f"count_if({PART} = {n} AND `value` IS NULL)"}
    return frame.observe(METRICS, *[expr(sql).alias(name) for name, sql in counts.items()])


def run_write(frame: DataFrame, write: Write, on_rows: Callable[[Rows], None] | None = None) -> None:
    """Run one write of a batch job to its end."""
    if write.on_driver:
        DriverSink(frame, write, on_rows).take(tuple(row) for row in frame.collect())
        return
    if write.writer:
        by_tasks(frame, write.writer, write.options)
        return
    with alone(write):
        check_target(frame, write)
        perform(write_calls(write), frame.sparkSession, {write.input: frame})
