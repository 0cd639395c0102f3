"""Operators with state that come and go over a checkpoint: the new ones are filled, then all get their places.

What a new operator has to know is run through it in a query of its own, beside the checkpoint (``spark/seeds.py``); its
state becomes that of the version which the next batch reads. Until that is there nothing of the checkpoint has changed.
"""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.job.steps import build_frames
from flinkddl.runtime.session.errors import full_text, reason
from flinkddl.runtime.storage.moves import FILLING, made
from flinkddl.runtime.storage.noted import node_types
from flinkddl.spark import job as J
from flinkddl.spark.seeds import SEED, seeding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from flinkddl.runtime.storage.checkpoint import Checkpoint
    from flinkddl.spark.seeds import Seed, Seeding
    from flinkddl.spark.stateful import Kept

    Read = Callable[[SparkSession, J.Read], DataFrame]
    Run = Callable[[DataFrame, J.Write, str], None]
    """Runs the query of a write over what is there, with its checkpoint in a folder, to its end."""

_RECORD = "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, timestampType INT"
_HEADERS = ", headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
_PAGED = re.compile(r"'(min|max|first|last):")
"""Calls of which a result may lie in a page beside the head (Call.Values, Call.Edge)."""
_CONSTANT = re.compile(r"\d+L?|true|false")
_WHOLE = {"spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "false"}
"""Each version of state as one snapshot: it shall stand for all versions before it."""


def fill(spark: SparkSession, job: J.SparkJob, checkpoint: Checkpoint, run: Run) -> None:
    """Make the new operators of queries that go on. Raises FD820 where one stopped within a batch, FD679, FD678.

    Nothing is written where one of them is refused.
    """
    fillings = []
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
            fillings.append(_Filling(spark, job, checkpoint, query, found))
    for filling in fillings:
        filling.run(run)


class _Filling:
    """One query's new operators."""

    def __init__(
        self, spark: SparkSession, job: J.SparkJob, checkpoint: Checkpoint, write: J.Write, found: Seeding
    ) -> None:
        self._spark, self._job, self._write, self._found = spark, job, write, found
        self._storage = checkpoint.storage
        self._place = checkpoint.location(write.name)
        self._beside = f"{checkpoint.root}/{FILLING}"
        self._batch = max(int(n) for n in self._storage.names(f"{self._place}/commits") if n.isdigit())

    def run(self, run: Run) -> None:
        """Fill them, and put them where the journal's moves look for them."""
        self._storage.remove(self._beside)
        self._storage.make(f"{self._beside}/none")
        try:
            with _told(self._spark, {**self._conf(), **_WHOLE}):
                self._seeds()
                frames = build_frames(self._spark, self._found.job, self._open)
                run(frames[self._found.result], self._write, f"{self._beside}/query")
            for n, now in enumerate(self._found.new):
                made(self._storage, f"{self._beside}/query", n, self._place, now, self._batch + 1)
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
        finally:
            self._storage.remove(self._beside)

    def _conf(self) -> Mapping[str, str]:
        """Return the settings by which the checkpoint's state is laid out: how many partitions, which formats."""
        lines = (self._storage.read(f"{self._place}/offsets/{self._batch}") or "").splitlines()
        found: Mapping[str, str] = json.loads(lines[1])["conf"]
        return found

    def _seeds(self) -> None:
        """Write down the rows of the operators that go on."""
        frames = build_frames(self._spark, self._job, self._open)
        for name, seed in self._found.seeds.items():
            schema = frames[name].schema
            rows = self._spark.createDataFrame([], schema)
            for node in seed.nodes:
                given = self._state(seed, node, frames)
                rows = rows.union(given.select(*_columns(seed.step, node, schema)))
            rows.write.parquet(f"{self._beside}/{name}")

    def _state(self, seed: Seed, node: Kept, frames: Mapping[str, Any]) -> DataFrame:
        """Return what a node has given out, as ``Held.java`` says it: in the column ``h``."""
        from pyspark.sql import functions as F

        number = node.call.node
        mine = f"substring(k, 9, 2) = unhex('{number:04X}')"
        state = self._part(seed.was, "head", k="key", head="value").where(mine)
        if node.call.kind != "latest" and (node.call.kind != "aggregate" or _PAGED.search(node.call.args[2])):
            pages = self._part(seed.was, "map0", k="key", n="user_map_key", v="user_map_value").where(mine)
            entries = F.collect_list(F.struct("n", "v")).alias("pages")
            state = state.join(pages.groupBy("k").agg(entries), "k", "left")
        else:
            state = state.selectExpr("*", "CAST(NULL AS ARRAY<STRUCT<k: BINARY, v: BINARY>>) AS pages")
        call = f"flinkddl.held_{node.call.kind}(k, head, pages, types) AS h"
        return state.withColumn("types", _types(seed.step, node, frames)).selectExpr(call).where("h IS NOT NULL")

    def _part(self, operator: int, part: str, **columns: str) -> DataFrame:
        """Return columns of a part of an operator's state, each of which Spark gives as a STRUCT of one BINARY."""
        from pyspark.sql import functions as F

        options: dict[str, Any] = {"operatorId": operator, "batchId": self._batch, "stateVarName": part}
        state = self._spark.read.format("statestore").options(**options).load(self._place)
        types: Any = state.schema
        return state.select(*(F.col(c)[types[c].dataType.names[0]].alias(name) for name, c in columns.items()))

    def _open(self, spark: SparkSession, step: J.Read) -> DataFrame:
        """Return the rows of an operator that goes on; of a source its columns, and no row."""
        if step.format == SEED:
            folder = f"{self._beside}/{step.name}"
            return spark.readStream.schema(spark.read.parquet(folder).schema).parquet(folder)
        schema = step.schema
        if step.format in (J.KAFKA, J.KAFKA_SOURCE):
            schema = _RECORD + (_HEADERS if step.options.get("includeHeaders") == "true" else "")
        if schema is None:
            message = f"'{self._write.name}' has new operators beside the table '{step.table}', of which that cannot be"
            raise FlinkDdlError.of("FD679", message, help="start anew with --fresh")
        reader: Any = spark.readStream if step.streaming else spark.read
        frame: DataFrame = reader.schema(schema).parquet(f"{self._beside}/none")
        return frame


def _types(step: J.GroupBy, node: Kept, frames: Mapping[str, Any]) -> Any:
    """Return a STRUCT of the types of a node's key and arguments, with the values of those that are no column's."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import StructType

    told = node_types(step, node, frames)
    key = StructType.fromJson(_struct(dict(_numbered([type for _, type in told["keys"]]))))
    given = StructType.fromJson(_struct(dict(_numbered(told["arguments"]))))
    values = [F.expr(sql) if _CONSTANT.fullmatch(sql) else F.lit(None) for sql in node.call.args]
    arguments = [value.cast(f.dataType).alias(f.name) for value, f in zip(values, given.fields, strict=False)]
    return F.struct(F.lit(None).cast(key).alias("key"), F.struct(*arguments).alias("args"))


def _numbered(types: list[Any]) -> Iterator[tuple[str, Any]]:
    return ((f"c{i}", type) for i, type in enumerate(types))


def _struct(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the type of a struct as Spark writes it in JSON."""
    listed = [{"name": name, "type": type, "nullable": True, "metadata": {}} for name, type in fields.items()]
    return {"type": "struct", "fields": listed}


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
