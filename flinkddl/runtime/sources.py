"""Opening the sources of a job: Kafka positions, stop filters, and the control streams that end the input."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.lower import job as J
from flinkddl.runtime.files import missing
from flinkddl.runtime.kafka_admin import KafkaAdmin, Offsets
from flinkddl.runtime.offsets import client_properties, partitions_of, spark_options, stop_condition, stop_offsets

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from flinkddl.runtime.checkpoint import Checkpoint

CONTROL = "flinkddl.control"
END_OF_TIME = "2200-01-01T00:00:00.000Z"  # behind the filter `rowtime < TIMESTAMP '2199-01-01'` of the lowering


@dataclass
class Sources:
    """Opens the reads of one job.

    ``resumes``: every query goes on from its checkpoint, so start modes are not looked up. ``stops`` are exclusive ends
    per read name, fixed when the job starts; a drain narrows them to what was read. ``partitions`` are counts per read
    name, known after ``preflight``.
    """

    job: J.SparkJob
    checkpoint: Checkpoint | None
    resumes: bool = False
    max_offsets_per_trigger: int | None = None
    stops: dict[str, Offsets] = field(default_factory=dict)
    partitions: dict[str, int] = field(default_factory=dict)

    @property
    def kafka_reads(self) -> tuple[J.Read, ...]:
        """The Kafka sources of the job."""
        return tuple(s for s in self.job.steps if isinstance(s, J.Read) and s.format == "kafka")

    @property
    def control_reads(self) -> tuple[J.Read, ...]:
        """The control streams of the job."""
        return tuple(s for s in self.job.steps if isinstance(s, J.Read) and s.format == CONTROL)

    def preflight(self) -> None:
        """Ask each cluster once whether it and the topics are there. Raises FD811, FD812, FD814.

        A cluster whose client key only Java can open (FD813) is left to Spark.
        """
        try:
            for step in self.kafka_reads:
                with KafkaAdmin(client_properties(step.options)) as admin:
                    found = partitions_of(step.options, admin)
                self.partitions[step.name] = sum(map(len, found.values()))
            servers = {json.dumps(p, sort_keys=True): p for p in map(client_properties, self._kafka_writes())}
            for properties in servers.values():
                KafkaAdmin(properties).close()
        except FlinkDdlError as error:
            if error.diagnostics[0].code != "FD813":
                raise

    def _kafka_writes(self) -> Iterator[Mapping[str, str]]:
        return (w.options for w in self.job.writes if w.format in ("kafka", J.KAFKA_SINK))

    def fix_stops(self) -> None:
        """Look up the stop offsets of bounded streaming reads, once.

        ``latest-offset`` under the available-now trigger needs none, except where a last round follows it (control
        streams): that one must not read what came in meanwhile.
        """
        natural = self.job.trigger[0] == "availableNow" and not self.control_reads
        for step in self.kafka_reads:
            mode = step.stop.get("mode", "unbounded")
            if not step.streaming or mode == "unbounded" or (natural and mode == "latest-offset"):
                continue
            with KafkaAdmin(client_properties(step.options)) as admin:
                found = stop_offsets(step.options, step.stop, admin)
                if found is not None:
                    self.stops[step.name] = found

    def open(self, spark: SparkSession, step: J.Read) -> DataFrame:
        """Return the DataFrame of a read."""
        if step.format == CONTROL:
            return self._open_control(spark, step)
        reader: Any = spark.readStream if step.streaming else spark.read
        reader = reader.format(step.format)
        if step.schema is not None:
            reader = reader.schema(step.schema)
        options = dict(step.options)
        if step.format == "kafka":
            options |= self._positions(step)
        for key, value in options.items():
            reader = reader.option(key, value)
        try:
            frame: DataFrame = reader.load()
        except Exception as error:
            raise missing(step, error) or error from error
        return frame.where(stop_condition(self.stops[step.name])) if step.name in self.stops else frame

    def _positions(self, step: J.Read) -> dict[str, str]:
        most = self.max_offsets_per_trigger
        limit = {"maxOffsetsPerTrigger": str(most)} if step.streaming and most else {}
        if (step.streaming and self.resumes) or not (step.start or step.stop):
            return limit
        return spark_options(step.options, step.start, step.stop, step.streaming) | limit

    def _open_control(self, spark: SparkSession, step: J.Read) -> DataFrame:
        if self.checkpoint is None or self.checkpoint.local is None or step.schema is None:
            message = f"the control stream '{step.name}' needs a schema and a checkpoint in a local folder"
            raise FlinkDdlError.of("FD833", message, help="set 'execution.checkpointing.dir' to a local folder")
        folder = self.checkpoint.control(step.name)
        Path(folder).mkdir(parents=True, exist_ok=True)
        return spark.readStream.schema(step.schema).json(folder)

    def end_input(self) -> None:
        """Put the far-future row into every control stream: the next batch closes all windows."""
        assert self.checkpoint is not None
        for step in self.control_reads:
            row = dict.fromkeys(step.options["rowtime"].split(";"), END_OF_TIME)
            folder = Path(self.checkpoint.control(step.name))
            part = folder.with_name(f".{folder.name}.part")
            part.write_text(json.dumps(row), encoding="utf-8")
            part.replace(folder / "end.json")
