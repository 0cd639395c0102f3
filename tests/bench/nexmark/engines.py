"""What runs a query: our session and Flink's, each in a JVM that is already up, with two cores and 4 GB of heap."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tests.bench.nexmark.queries import source, statements
from tests.bench.processes import spark_cpu

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import SparkSession

    from tests.bench.against_flink import Flink
    from tests.bench.nexmark.queries import Query

HEAP = "4g"
_FLINK = {
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "2s",
    "table.exec.mini-batch.size": "50000",
    "table.optimizer.distinct-agg.split.enabled": "true",
    "execution.checkpointing.interval": "60s",
    "execution.checkpointing.checkpoints-after-tasks-finish.enabled": "false",
}
"""As Nexmark's own config.yaml has it, and a checkpoint a minute."""
BACKENDS = {
    "heap": {"state.backend.type": "hashmap"},
    "rocksdb": {
        "state.backend.type": "rocksdb",
        "execution.checkpointing.incremental": "true",
        "state.backend.rocksdb.memory.fixed-per-slot": "1gb",  # the oracle's own share is 32 MB a slot
    },
}


@dataclass(frozen=True)
class Took:
    """Seconds from a query's statements to the end of its job, and the CPU seconds of its process meanwhile."""

    seconds: float
    cpu: float


class Engine(Protocol):
    """Runs one query to its end."""

    @property
    def name(self) -> str: ...

    def run(self, query: Query, variables: Mapping[str, str]) -> Took: ...


@dataclass
class Ours:
    """All queries in one Spark session, each in a catalog of its own.

    ``state``: how it is kept, else by default; ``jars``: of Java functions.
    """

    spark: SparkSession
    state: str = ""
    jars: Sequence[str] = ()

    @property
    def name(self) -> str:
        return f"ours-{self.state}" if self.state else "ours"

    def run(self, query: Query, variables: Mapping[str, str]) -> Took:
        from flinkddl.api import Catalog

        catalog = Catalog(self.spark, views=False, jars=self.jars)
        catalog.execute(source(), variables=variables)
        if self.state:
            catalog.execute(f"SET 'flinkddl.execution.state' = '{self.state}'")
        begin, cpu = time.perf_counter(), self._cpu()
        catalog.execute(query.script, variables=variables).await_termination()
        return Took(time.perf_counter() - begin, self._cpu() - cpu)

    @staticmethod
    def _cpu() -> float:
        return spark_cpu() + time.process_time()


@dataclass
class Theirs:
    """All queries in one Flink, each in a session of its own. ``checkpoints``: a folder; ``jars``: of functions."""

    flink: Flink
    backend: str
    checkpoints: str
    jars: Sequence[str] = ()

    @property
    def name(self) -> str:
        return f"flink-{self.backend}"

    def run(self, query: Query, variables: Mapping[str, str]) -> Took:
        self.flink.reset(
            _FLINK | BACKENDS[self.backend] | {"execution.checkpointing.dir": f"file://{self.checkpoints}"}
        )
        for statement in (*(f"ADD JAR '{jar}'" for jar in self.jars), *statements(source(), variables)):
            self.flink.sql(statement)
        begin, cpu = time.perf_counter(), self.flink.cpu()
        for statement in statements(query.script, variables):
            self.flink.sql(statement)
        return Took(time.perf_counter() - begin, self.flink.cpu() - cpu)
