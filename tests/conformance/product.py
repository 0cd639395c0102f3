"""The product as the query cases see it: catalogs on one Spark session, results as Flink prints them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.conformance.values import show
from tests.support.spark import SHORT_LIVED

if TYPE_CHECKING:
    from types import TracebackType


TIMEOUT = 120.0
# hundreds of small queries: compiling each costs more than running it. Generated code has its own areas and tests.
QUICK = {
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@dataclass(frozen=True)
class Answer:
    """A query's answer: [name, type] pairs, rows of text, and ``append`` or ``updating``."""

    columns: list[list[str]]
    rows: list[list[Any]]
    changelog: str


class Product:
    """One Spark session for all cases; every case has a catalog of its own."""

    def __enter__(self) -> Product:
        from flinkddl.runtime.session.sessions import SparkOptions, build_session

        self.spark = build_session(SparkOptions(master="local[2]", conf=SHORT_LIVED | QUICK))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.spark.stop()

    def catalog(self) -> Any:
        """Return a fresh catalog."""
        from flinkddl.api import Catalog

        return Catalog(spark=self.spark, views=False)  # cases name their tables alike, and several run at once

    def execute(self, catalog: Any, sql: str) -> Any:
        """Execute a statement; an INSERT is awaited."""
        result = catalog.execute(sql)
        result.await_termination(TIMEOUT)
        return result

    def query(self, catalog: Any, sql: str) -> Answer:
        """Run a SELECT to its end."""
        result = catalog.execute(sql)
        fields = result.fields
        rows = [[show(v, f.type) for v, f in zip(row, fields, strict=True)] for row in result.collect()]
        return Answer([[f.name, flink_type(f.type)] for f in fields], rows, result.changelog)


def flink_type(t: Any) -> str:
    """Return a type as the recorder printed it: with NOT NULL and the time attribute."""
    return f"{t} *{t.time_attribute}*" if t.time_attribute else str(t)
