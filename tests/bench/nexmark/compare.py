"""Whether two topics hold the same result: Spark reads them, however large they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.bench.nexmark.queries import Query


@dataclass(frozen=True)
class Result:
    """The result in a topic: its number of rows (of an upsert topic: of keys) and a sum over what is in them."""

    topic: str
    rows: int
    mark: str


@dataclass(frozen=True)
class Reader:
    """Reads results; ``ordered``: events with equal order keys have one order, so that every column counts."""

    spark: SparkSession
    servers: str
    ordered: bool

    def result(self, query: Query, topic: str) -> Result:
        frame = self._rows(query, topic)
        mark = "CAST(sum(CAST(xxhash64(text) AS DECIMAL(38, 0))) AS STRING)"
        rows, text = frame.selectExpr("count(*) AS n", f"{mark} AS mark").collect()[0]
        return Result(topic, rows, text or "")

    def equal(self, query: Query, one: Result, other: Result) -> bool:
        return query.clocked or (one.mark == other.mark and one.rows == other.rows)

    def difference(self, query: Query, one: Result, other: Result, most: int = 3) -> tuple[list[str], list[str]]:
        """Return some rows that only the one has, and some that only the other has."""
        a, b = self._rows(query, one.topic), self._rows(query, other.topic)
        only_one, only_other = ([r[0] for r in x.exceptAll(y).limit(most).collect()] for x, y in ((a, b), (b, a)))
        return only_one, only_other

    def _rows(self, query: Query, topic: str) -> DataFrame:
        from pyspark.sql import functions as F

        read = self.spark.read.format("kafka").option("kafka.bootstrap.servers", self.servers)
        frame = read.option("subscribe", topic).option("startingOffsets", "earliest").load()
        frame = frame.selectExpr("CAST(key AS STRING) AS key", "CAST(value AS STRING) AS value", "offset")
        if query.updates:
            last = F.max_by("value", "offset").alias("value")
            frame = frame.groupBy("key").agg(last).where("value IS NOT NULL")
        columns = () if self.ordered else query.steady
        if not columns:
            return frame.selectExpr("value AS text")
        return frame.selectExpr(f"concat_ws(' | ', {', '.join(_field(c) for c in columns)}) AS text")


def _field(column: str) -> str:
    return f"get_json_object(value, '$.{column}')"
