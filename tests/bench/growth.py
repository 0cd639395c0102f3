"""CPU seconds of a batch of 2,000 changes over small and over large state: ``python -m tests.bench growth``.

Four shapes in which a group grows without bound, each over ``SMALL`` rows and over ``--records`` (10,000,000). A job
of each size reads what is there, then both stay up and get rounds of changes, a block of ``BLOCK`` one, a block the
other, so that Java is equally warm; the first ``WARM`` blocks do not count. Then each size is up alone, the large one
first, so that its background work is its own. The cost must follow the changes, not the state: a last line has the
ratios of the medians. Exit code 1 where one is above ``BOUND``, or Spark's process had more than ``MOST_GB`` resident:
each shape has one of its own, as a heap that has grown stays so. ``python -m tests.bench.growth join top`` runs some.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tests.bench.processes import spark_cpu, spark_pid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import SparkSession

BOUND, MOST_GB = 1.5, 3.0
SMALL, CHANGES, BLOCK, WARM, BLOCKS, GROUPS, PARTITIONS = 100_000, 2_000, 8, 2, 3, 5, 4
SETTINGS = {
    "execution.runtime-mode": "streaming",
    "flinkddl.execution.max-offsets-per-trigger": "500000",
    "table.exec.mini-batch.enabled": "true",  # so that the changes of a round are one batch
    "table.exec.mini-batch.allow-latency": "2 s",
    "table.exec.mini-batch.size": "1000000",
}
FEW = """CREATE TABLE few (g BIGINT, x BIGINT, n BIGINT) WITH ('connector' = 'kafka', 'topic' = 'few',
  'format' = 'json', 'scan.startup.mode' = 'earliest-offset', 'properties.bootstrap.servers' = '{servers}')"""
ROWS = """CREATE TABLE r (id BIGINT, g BIGINT, v BIGINT{key}) WITH ('connector' = '{connector}', 'topic' = '{topic}',
  {format}, 'properties.bootstrap.servers' = '{servers}')"""
APPENDED = {"connector": "kafka", "key": "", "format": "'format' = 'json', 'scan.startup.mode' = 'earliest-offset'"}
KEYED = {
    "connector": "upsert-kafka",
    "key": ", PRIMARY KEY (id) NOT ENFORCED",
    "format": "'key.format' = 'json', 'value.format' = 'json'",
}
Row = dict[str, Any]


@dataclass(frozen=True)
class Query:
    """What is measured."""

    query: str


@dataclass(frozen=True)
class Shape(Query):
    """A query over ``r``, what ``v`` is at the start (Spark SQL), and a row of the n-th change over so many rows."""

    table: dict[str, str]
    value: str
    change: Callable[[int, int], Row]


Q = TypeVar("Q", bound=Query)


def _another(n: int, rows: int) -> Row:
    return {"id": rows + n, "g": n % GROUPS, "v": rows + n}


def _largest_goes(n: int, rows: int) -> Row:
    return {"id": rows - 1 - n, "g": (rows - 1 - n) % GROUPS, "v": -1 - n}


SHAPES = {
    "distinct": Shape("SELECT g, COUNT(DISTINCT v) FROM r GROUP BY g", APPENDED, "id", _another),
    "max": Shape("SELECT g, MAX(v) FROM r GROUP BY g", KEYED, "id", _largest_goes),
    "join": Shape("SELECT few.n, r.id FROM few JOIN r ON few.g = r.g AND r.v >= few.x", KEYED, "0", _another),
    "top": Shape(
        "SELECT id, v FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY v DESC) AS n FROM r) WHERE n <= 10",
        KEYED, "id", _largest_goes,
    ),
}  # fmt: skip
"""Distinct values in few groups; a maximum that is taken back; ten matches a change in keys of many rows; a Top-10."""


class Jobs(ABC, Generic[Q]):
    """Jobs of all sizes over one Spark and one broker."""

    def __init__(self, spark: SparkSession, servers: str, queries: Mapping[str, Q]) -> None:
        from kafka import KafkaProducer

        self.spark, self.servers, self.queries = spark, servers, queries
        self.producer = KafkaProducer(bootstrap_servers=servers, linger_ms=20)
        self.settings = SETTINGS

    @abstractmethod
    def tables(self, query: Q, topic: str, rows: int) -> tuple[list[str], int]:
        """Fill the topics of a job; return its tables, and how many rows it has to read."""

    @abstractmethod
    def row(self, job: Grown[Q], n: int) -> tuple[str, Row]:
        """Return the topic and the row of the n-th change."""

    def change(self, job: Grown[Q]) -> None:
        """Send a round of changes."""
        for n in range(job.changed, job.changed + CHANGES):
            topic, row = self.row(job, n)
            self.send(topic, row, row["id"] % PARTITIONS)
        self.producer.flush()
        job.changed += CHANGES

    def send(self, topic: str, row: Row, partition: int) -> None:
        """Send a row, whose key is its id."""
        key = json.dumps({"id": row["id"]}).encode()
        self.producer.send(topic, json.dumps(row).encode(), key=key, partition=partition)

    def fill(self, topic: str, row: str, rows: int) -> None:
        """Write the rows that are there at the start, a struct in Spark SQL; a key stays in its partition."""
        texts = [("to_json(named_struct('id', id))", "key"), (f"to_json({row})", "value")]
        columns = [f"CAST({text} AS BINARY) AS {name}" for text, name in texts]
        frame = self.spark.range(0, rows, 1, PARTITIONS).selectExpr(
            *columns, f"CAST(id % {PARTITIONS} AS INT) AS partition"
        )
        write = frame.write.format("kafka").option("kafka.bootstrap.servers", self.servers)
        write.option("topic", topic).option("kafka.linger.ms", "50").option("kafka.batch.size", "262144").save()

    def create(self, topic: str, partitions: int = PARTITIONS) -> str:
        """Make a topic; return its name."""
        from flinkddl.runtime.kafka.admin import KafkaAdmin

        with KafkaAdmin({"bootstrap.servers": self.servers}) as admin:
            admin.create_topic(topic, partitions, {"retention.ms": "-1"})
        return topic

    def started(self, name: str, rows: int) -> Grown[Q]:
        """Return a job that has read so many rows; print how long that took."""
        from flinkddl.api import Catalog

        query, topic = self.queries[name], f"{name}-{rows}"
        ddl, to_read = self.tables(query, topic, rows)
        sets = "".join(f"SET '{key}' = '{value}';" for key, value in self.settings.items())
        catalog = Catalog(self.spark.newSession())
        catalog.execute(sets + ";".join(ddl))
        begin = time.perf_counter()
        job = catalog.execute(f"CREATE TABLE hole WITH ('connector' = 'blackhole') AS {query.query}").job
        read = Read(job)
        read.until(to_read)
        print(f"{name:<9}{rows:>11,} rows read in {time.perf_counter() - begin:>6.1f} s", flush=True)
        return Grown(query, topic, rows, read)

    def block(self, job: Grown[Q]) -> list[float]:
        """Send a block of rounds of changes; return the CPU seconds of each."""
        used = []
        for _ in range(BLOCK):
            before = spark_cpu()
            self.change(job)
            job.read.until(job.read.rows + CHANGES)
            used.append(spark_cpu() - before)
        return used

    def keep_bounds(self, name: str, records: int, least: int = SMALL) -> None:
        """Compare. Raises SystemExit where a bound is not kept."""
        if self.compare(name, records, least) > BOUND or _resident() > MOST_GB:
            raise SystemExit(1)

    def compare(self, name: str, records: int, least: int) -> float:
        """Return how many times as much a round of changes costs over so many rows as over the least number.

        Of two ratios the larger: of blocks in turn, and of each job alone, which has to itself what runs in the
        background.
        """
        jobs = [self.started(name, rows) for rows in (least, records)]
        turns = [[self.block(job) for job in jobs] for _ in range(WARM + BLOCKS)][WARM:]
        small, large = ([*chain.from_iterable(used)] for used in zip(*turns, strict=True))
        self.stop(jobs[0])
        large_alone = self.alone(jobs[1])
        self.stop(jobs[1])
        small_alone = self.alone(again := self.started(name, least + 1))  # a topic is named by its size
        self.stop(again)
        for rows, in_turn, alone in ((least, small, small_alone), (records, large, large_alone)):
            print(f"{name:<9}{rows:>11,} rows: a round {_told(in_turn)}, alone {_told(alone)}", flush=True)
        ratios = [statistics.median(a) / statistics.median(b) for a, b in ((large, small), (large_alone, small_alone))]
        print(
            f"{name:<9}ratio {ratios[0]:.2f} in turn, {ratios[1]:.2f} alone, at most {_resident():.2f} GB resident",
            flush=True,
        )
        return max(ratios)

    def alone(self, job: Grown[Q]) -> list[float]:
        return [*chain.from_iterable([self.block(job) for _ in range(1 + BLOCKS)][1:])]

    def stop(self, job: Grown[Q]) -> None:
        """End a job."""
        job.read.job.stop()


@dataclass
class Grown(Generic[Q]):
    """A job that has read its first rows, and the number of the next change."""

    query: Q
    topic: str
    rows: int
    read: Read
    changed: int = 0


class Read:
    """How much a job has read, and its last batch."""

    def __init__(self, job: Any) -> None:
        self.job, self.rows = job, 0
        self.last: Any = None

    def until(self, rows: int) -> None:
        """Wait for the batch after which so many rows are read. Raises what the job failed with."""
        while self.rows < rows:
            if self.job.await_termination(timeout=0.05):
                raise RuntimeError("the job has ended")
            for progress in self.job.progress:
                if progress.rows_in and (self.last is None or progress.batch > self.last.batch):
                    self.rows, self.last = self.rows + progress.rows_in, progress


class Growth(Jobs[Shape]):
    """Groups that grow without bound."""

    def few(self) -> None:
        """Write ten rows of each group, which only the rows of changes match."""
        self.create("few", 1)
        for n in range(10 * GROUPS):
            self.producer.send("few", json.dumps({"g": n % GROUPS, "x": 1, "n": n}).encode())
        self.producer.flush()

    def tables(self, query: Shape, topic: str, rows: int) -> tuple[list[str], int]:
        value = f"named_struct('id', id, 'g', id % {GROUPS}, 'v', {query.value})"
        self.fill(self.create(topic), value, rows)
        ddl = [FEW.format(servers=self.servers), ROWS.format(topic=topic, servers=self.servers, **query.table)]
        return ddl, rows + (10 * GROUPS if " few " in query.query else 0)

    def row(self, job: Grown[Shape], n: int) -> tuple[str, Row]:
        return job.topic, job.query.change(n, job.rows)


def _told(used: list[float]) -> str:
    return f"{statistics.median(used):.2f} CPU s ({min(used):.2f} to {max(used):.2f})"


def _resident() -> float:
    """Return the most memory that Spark's process has had so far, in GB."""
    text = Path(f"/proc/{spark_pid()}/status").read_text()
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("VmHWM")) * 1024 / 1e9


@contextmanager
def engine() -> Iterator[tuple[SparkSession, str]]:
    """Yield a session and the servers of a broker."""
    from flinkddl.runtime.broker.server import Broker, BrokerOptions
    from flinkddl.runtime.session.sessions import SparkOptions, build_session

    conf = {"spark.driver.memory": "2g", "spark.sql.shuffle.partitions": "2"}
    with Broker(BrokerOptions(heap="700m")) as broker:
        spark = build_session(SparkOptions(master="local[2]", conf=conf))
        try:
            yield spark, broker.bootstrap
        finally:
            spark.stop()


def apart(module: str, cases: Iterable[Sequence[str]]) -> None:
    """Measure each case in a process of its own. Raises SystemExit where a bound is not kept."""
    command = [sys.executable, "-m", module, "--alone"]
    ended = [subprocess.run([*command, *case], check=False).returncode for case in cases]
    if any(ended):
        raise SystemExit(f"more than {BOUND} times as much, or more than {MOST_GB} GB, or failed: see above")


def main(records: int = 10_000_000, names: Sequence[str] = tuple(SHAPES)) -> None:
    """Print what each shape took at each size, and its ratio. Raises SystemExit where a bound is not kept."""
    apart("tests.bench.growth", [("--records", str(records), name) for name in names])


def _measure(name: str, records: int) -> None:
    with engine() as (spark, servers):
        growth = Growth(spark, servers, SHAPES)
        growth.few()
        growth.keep_bounds(name, records)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="tests.bench.growth", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*SHAPES, []])
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--alone", action="store_true", help="one shape, in this process")
    given = parser.parse_args()
    if given.alone:
        _measure(*given.names, given.records)
    else:
        main(given.records, given.names or tuple(SHAPES))
