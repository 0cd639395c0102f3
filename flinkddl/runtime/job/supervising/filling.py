"""Operators with state that come and go over a checkpoint: the new ones are filled, then all get their places.

What a new operator has to know is run through it in a query of its own, beside the checkpoint (``spark/seeds.py``); its
state becomes that of the version which the next batch reads. Until that is there nothing of the checkpoint has changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.job.steps import build_frames
from flinkddl.runtime.job.supervising.beside import Beside
from flinkddl.runtime.job.supervising.clearing import Clearing
from flinkddl.runtime.session.errors import full_text, reason
from flinkddl.runtime.storage.noted import node_types
from flinkddl.runtime.storage.results import constants, paged, told, types_of, with_pages
from flinkddl.spark import job as J
from flinkddl.spark.seeds import SEED, seeding

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from flinkddl.runtime.job.supervising.beside import Run
    from flinkddl.runtime.storage.checkpoint import Checkpoint
    from flinkddl.spark.seeds import Seed, Seeding
    from flinkddl.spark.stateful import Kept

    Read = Callable[[SparkSession, J.Read], DataFrame]

_RECORD = "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, timestampType INT"
_HEADERS = ", headers ARRAY<STRUCT<key: STRING, value: BINARY>>"


def fill(spark: SparkSession, job: J.SparkJob, checkpoint: Checkpoint, run: Run) -> None:
    """Make the new operators of queries that go on, and anew those that have lost a node.

    Raises FD820 where one stopped within a batch, FD679, FD678. Nothing is written where one of them is refused.
    """
    begun: list[_Filling | Clearing] = []
    for write, carried in checkpoint.edit.carried.items():
        query = next(r for r in job.runs if r.name == write)
        place = checkpoint.location(write)
        if not checkpoint.whole(write):
            message = f"the query in '{place}' was ended within a batch, which the edited one would write otherwise"
            help = (
                "run the unedited script, and end it with `flinkddl jobs stop NAME --savepoint DIR`, which runs a batch"
                " that has begun to its end; then start this one"
            )
            raise FlinkDdlError.of("FD820", message, help=help)
        found = seeding(job, query, carried.order)
        if found is not None and checkpoint.started(write):
            begun.append(_Filling(spark, job, checkpoint, query, found))
        if carried.cleared and checkpoint.started(write):
            begun.append(Clearing(spark, checkpoint, query, carried))
    for one in begun:
        one.run(run)


class _Filling:
    """One query's new operators."""

    def __init__(
        self, spark: SparkSession, job: J.SparkJob, checkpoint: Checkpoint, write: J.Write, found: Seeding
    ) -> None:
        self._spark, self._job, self._write, self._found = spark, job, write, found
        self._beside = Beside(spark, checkpoint, write)

    def run(self, run: Run) -> None:
        """Fill them, and put them where the journal's moves look for them."""
        try:
            with self._beside.open():
                self._seeds()
                frames = build_frames(self._spark, self._found.job, self._open)
                run(frames[self._found.result], self._write, f"{self._beside.folder}/query")
                for n, now in enumerate(self._found.new):
                    self._beside.take(n, now)
        except FlinkDdlError:
            raise
        except Exception as error:
            message = (
                f"new operators of the query into '{self._write.name}' cannot be filled: {reason(full_text(error))}"
            )
            help = (
                "the checkpoint is as it was, what is written by then stays: go on with the unedited script, or start"
                " anew with --fresh"
            )
            raise FlinkDdlError.of("FD678", message, help=help) from error

    def _seeds(self) -> None:
        """Write down the rows of the operators that go on."""
        frames = build_frames(self._spark, self._job, self._open)
        for name, seed in self._found.seeds.items():
            schema = frames[name].schema
            rows = self._spark.createDataFrame([], schema)
            for node in seed.nodes:
                given = self._state(seed, node, frames)
                rows = rows.union(given.select(*_columns(seed.step, node, schema)))
            rows.write.parquet(f"{self._beside.folder}/{name}")

    def _state(self, seed: Seed, node: Kept, frames: Mapping[str, Any]) -> DataFrame:
        """Return what a node has given out, as ``Held.java`` says it: in the column ``h``."""
        call, types = node.call, node_types(seed.step, node, frames)
        mine = f"substring(k, 9, 2) = unhex('{call.node:04X}')"
        state, pages = self._beside.read(seed.was, "head", k="key", head="value").where(mine), None
        if paged(call.kind, types["arguments"]):
            pages = self._beside.read(seed.was, "map0", k="key", n="user_map_key", v="user_map_value").where(mine)
        return told(with_pages(state, pages), call.kind, types_of(types, constants(call.args))).select("h")

    def _open(self, spark: SparkSession, step: J.Read) -> DataFrame:
        """Return the rows of an operator that goes on; of a source its columns, and no row."""
        if step.format == SEED:
            folder = f"{self._beside.folder}/{step.name}"
            return spark.readStream.schema(spark.read.parquet(folder).schema).parquet(folder)
        schema = step.schema
        if step.format in (J.KAFKA, J.KAFKA_SOURCE):
            schema = _RECORD + (_HEADERS if step.options.get("includeHeaders") == "true" else "")
        if schema is None:
            message = f"'{self._write.name}' has new operators beside the table '{step.table}', of which that cannot be"
            raise FlinkDdlError.of("FD679", message, help="start anew with --fresh")
        reader: Any = spark.readStream if step.streaming else spark.read
        frame: DataFrame = reader.schema(schema).parquet(f"{self._beside.folder}/none")
        return frame


def _columns(step: J.GroupBy, node: Kept, schema: Any) -> list[Any]:
    """Return the columns of an operator's result, made of ``h``: those of a stage's other nodes are NULL."""
    from pyspark.sql import functions as F

    columns = {}
    if step.stage is None:
        columns = {name: F.col(f"h.k.c{i}") for i, (name, _) in enumerate(node.keys)} | {step.aggs[0][0]: F.col("h.r")}
    else:
        n = next(i for i, one in enumerate(step.stage.nodes) if one.step == node.step)
        given = {f"k{n}": F.col("h.k"), f"r{n}": F.col("h.r")}
        parts = schema[step.aggs[0][0]].dataType.fields
        whole = [given.get(f.name, F.lit(None)).cast(f.dataType).alias(f.name) for f in parts]
        columns = {step.aggs[0][0]: F.struct(*whole)}
    return [columns.get(f.name, F.lit(None)).cast(f.dataType).alias(f.name) for f in schema.fields]
