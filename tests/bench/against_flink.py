"""Our jobs against a real Flink's over the same topics, in one run: ``python -m tests.bench.against_flink``.

Each case is one INSERT from bounded Kafka topics into a Kafka topic. Both engines run in a JVM that is already up, with
two cores; the first round warms both up on the same input, the rest count. A ratio above 1 means that ours is faster.
The last values per key (for append sinks: the number of records) must be equal.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flinkddl.runtime.broker import watchdog
from tests.bench.processes import cpu_seconds
from tests.e2e import support

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from pyspark.sql import SparkSession

ORACLE = Path(os.environ.get("FLINKDDL_ORACLE", Path(__file__).parents[3] / "shared" / "oracle" / "flink"))
PARTITIONS = 4
UPSERTS = ("latest", "newest")
SETTINGS = {"parallelism.default": "2", "table.exec.sink.require-on-conflict": "false"}
_BOUNDED = "'properties.bootstrap.servers' = '{servers}', 'scan.bounded.mode' = 'latest-offset'"
VIEWS = (
    "CREATE TABLE {name} (id BIGINT, k BIGINT, user_id BIGINT, region STRING, amount BIGINT, note STRING) WITH ("
    "'connector' = 'kafka', 'format' = 'json', 'topic' = '{name}', 'scan.startup.mode' = 'earliest-offset', "
    f"{_BOUNDED})"
)
LATEST = (
    "CREATE TABLE latest (k BIGINT, region STRING, amount BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ("
    f"'connector' = 'upsert-kafka', 'key.format' = 'json', 'value.format' = 'json', 'topic' = 'latest', {_BOUNDED})"
)


@dataclass(frozen=True)
class Case:
    """A query and its sink: columns, and the PRIMARY KEY of an upsert sink."""

    query: str
    columns: str
    key: str = ""

    def sink(self, topic: str, servers: str) -> str:
        keyed = f", PRIMARY KEY ({self.key}) NOT ENFORCED" if self.key else ""
        upsert = "'connector' = 'upsert-kafka', 'key.format' = 'json', 'value.format' = 'json'"
        kind = upsert if self.key else "'connector' = 'kafka', 'format' = 'json'"
        return (
            f"CREATE TABLE `{topic}` ({self.columns}{keyed}) WITH ({kind}, 'topic' = '{topic}', "
            f"'properties.bootstrap.servers' = '{servers}')"
        )


_RANKED = "SELECT {columns} FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY {by} ORDER BY {order}) AS rn FROM {table})"
CASES = {
    "json": Case("SELECT id, k, region, amount, note FROM visits WHERE amount >= 10",
                 "id BIGINT, k BIGINT, region STRING, amount BIGINT, note STRING"),
    "count": Case("SELECT k, COUNT(*) FROM visits GROUP BY k", "k BIGINT, n BIGINT", "k"),
    "distinct": Case("SELECT region, COUNT(DISTINCT user_id) FROM visits GROUP BY region", "region STRING, n BIGINT",
                     "region"),
    "sum-upsert": Case("SELECT region, SUM(amount) FROM latest GROUP BY region", "region STRING, n BIGINT", "region"),
    "join": Case("SELECT v.id, v.k, c.note FROM visits v JOIN clicks c ON v.id = c.id",
                 "id BIGINT, k BIGINT, note STRING"),
    "last": Case(_RANKED.format(columns="k, id, note", by="k", order="id DESC", table="visits") + " WHERE rn = 1",
                 "k BIGINT, id BIGINT, note STRING", "k"),
    "top10": Case(_RANKED.format(columns="region, id, amount", by="region", order="amount DESC, id", table="visits")
                  + " WHERE rn <= 10", "region STRING, id BIGINT, amount BIGINT", "region, id"),
    "max-upsert": Case("SELECT region, MAX(amount) FROM latest GROUP BY region", "region STRING, n BIGINT", "region"),
}  # fmt: skip
RECORD = (
    "named_struct('id', id, 'k', id * 7919 % {keys}, 'user_id', id * 104729 % {users}, 'region',"
    " concat('region ', id % 50), 'amount', id * 31 % 100, 'note', concat('note of ', id % 1000))"
)


class Flink:
    """The oracle as a pipe: one statement in, one answer out. ``heap``: of its JVM, as ``-Xmx`` takes it."""

    def __init__(self, heap: str = os.environ.get("FLINK_ORACLE_HEAP", "2g")) -> None:
        self._heap = heap

    def __enter__(self) -> Flink:
        self._process = subprocess.Popen(
            [str(ORACLE), "pipe"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "FLINK_ORACLE_HEAP": self._heap},
            preexec_fn=watchdog.die_with_parent,  # in the middle of a job it does not see that its input ended
        )
        self.reset({})
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()

    def reset(self, settings: Mapping[str, str]) -> None:
        """Begin a session without tables, with the settings that all benchmarks have and these."""
        for n, (key, value) in enumerate((SETTINGS | dict(settings)).items()):
            self.sql(f"SET '{key}' = '{value}'", reset=n == 0)

    def cpu(self) -> float:
        """Return the CPU seconds of its JVM so far."""
        return cpu_seconds(self._process.pid)

    def sql(self, statement: str, timeout_ms: int = 900_000, stops: bool = False, reset: bool = False) -> None:
        """Run a statement. ``stops``: it is one that only the timeout ends. ``reset``: the first of a new session."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        asked = {"id": 1, "sql": statement, "timeout_ms": timeout_ms, "reset": reset}
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        if "error" in answer or (answer.get("timeout") and not stops):
            raise RuntimeError(f"Flink: {answer}")


@dataclass
class Bench:
    """Both engines over one broker."""

    spark: SparkSession
    flink: Flink
    servers: str
    records: int

    def fill(self, topics: set[str]) -> None:
        """Write the sources with Spark, which is fast at it."""
        keys, users = max(1, self.records // 40), max(1, self.records // 10)
        value = f"to_json({RECORD.format(keys=keys, users=users)})"
        for topic in topics:
            columns = [f"CAST({value} AS BINARY) AS value", f"CAST(id % {PARTITIONS} AS INT) AS partition"]
            if topic in UPSERTS:
                # every key comes four times on average; its partition is that of its key
                k = f"id * 7919 % {max(1, self.records // 4)}"
                row = f"named_struct('k', {k}, 'region', concat('region ', {k} % 50), 'amount', id * 31 % 100)"
                columns = [
                    f"CAST(to_json(named_struct('k', {k})) AS BINARY) AS key",
                    f"CAST(to_json({row}) AS BINARY) AS value",
                    f"CAST({k} % {PARTITIONS} AS INT) AS partition",
                ]
            self.put(topic, columns)

    def put(self, topic: str, columns: list[str]) -> None:
        """Write a record for each ``id`` below ``records``; ``columns`` are Spark SQL."""
        frame = self.spark.range(0, self.records, 1, PARTITIONS).selectExpr(*columns)
        write = frame.write.format("kafka").option("kafka.bootstrap.servers", self.servers)
        write.option("topic", topic).option("kafka.linger.ms", "50").option("kafka.batch.size", "262144").save()

    def sources(self) -> list[str]:
        visits = [VIEWS.format(name=name, servers=self.servers) for name in ("visits", "clicks")]
        return [*visits, LATEST.format(servers=self.servers)]

    def ours(self, case: Case, topic: str) -> float:
        from flinkddl.api import Catalog

        script = ";\n".join([*self.sources(), case.sink(topic, self.servers)])
        catalog = Catalog(self.spark)
        catalog.execute(f"SET 'execution.runtime-mode' = 'streaming';\n{script};")
        begin = time.perf_counter()
        catalog.execute(f"INSERT INTO `{topic}` {case.query}").await_termination()
        return time.perf_counter() - begin

    def theirs(self, case: Case, topic: str) -> float:
        self.flink.sql(case.sink(topic, self.servers))
        begin = time.perf_counter()
        self.flink.sql(f"INSERT INTO `{topic}` {case.query}")
        return time.perf_counter() - begin

    def compare(self, name: str, rounds: int, check: bool) -> float:
        """Run one case in turn, print each round and return the ratio of the medians."""
        from flinkddl.runtime.kafka.admin import KafkaAdmin

        case = CASES[name]
        times: dict[str, list[float]] = {"ours": [], "flink": []}
        for i in range(rounds + 1):
            results: list[Any] = []
            for who, run in (("ours", self.ours), ("flink", self.theirs)):
                topic = f"{name}-{who}-{i}-{uuid.uuid4().hex[:6]}"
                with KafkaAdmin({"bootstrap.servers": self.servers}) as admin:
                    admin.create_topic(topic, PARTITIONS)
                times[who].append(run(case, topic))
                print(f"{name} round {i} {who}: {times[who][-1]:.1f} s", flush=True)
                if check and i == 0:
                    found = support.read_topic(self.servers, topic)
                    results.append(support.upserted(found) if case.key else len(found))
            assert not check or i or results[0] == results[1], f"{name}: the two engines disagree"
        median = {who: statistics.median(values[1:]) for who, values in times.items()}
        ratio = median["flink"] / median["ours"]
        print(
            f"{name}: {self.records:,} records, ours {median['ours']:.1f} s, flink {median['flink']:.1f} s, "
            f"ratio flink / ours = {ratio:.2f}",
            flush=True,
        )
        return ratio


def main(records: int = 4_000_000, cases: list[str] | None = None, rounds: int = 1, check: bool = True) -> None:
    """Print one line a case."""
    from flinkddl.runtime.broker.server import Broker, BrokerOptions
    from flinkddl.runtime.kafka.admin import KafkaAdmin
    from flinkddl.runtime.session.sessions import SparkOptions, build_session

    chosen = cases or list(CASES)
    topics = {t for t in ("visits", "clicks", "latest") if any(f" {t}" in CASES[c].query for c in chosen)}
    conf = {"spark.driver.memory": "2g", "spark.sql.shuffle.partitions": "2"}
    with Broker(BrokerOptions(heap="1g")) as broker, Flink() as flink:
        spark = build_session(SparkOptions(master="local[2]", conf=conf))
        bench = Bench(spark, flink, broker.bootstrap, records)
        with KafkaAdmin({"bootstrap.servers": broker.bootstrap}) as admin:
            for topic in topics:
                admin.create_topic(topic, PARTITIONS, {"retention.ms": "-1"})
        print(f"writing {records:,} records into each of {sorted(topics)} ...", flush=True)
        bench.fill(topics)
        for statement in bench.sources():
            flink.sql(statement)
        for name in chosen:
            bench.compare(name, rounds, check)
        spark.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="tests.bench.against_flink", description=__doc__)
    parser.add_argument("cases", nargs="*", choices=[*CASES, []])
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--no-check", action="store_true", help="do not compare the results")
    given = parser.parse_args()
    main(given.records, given.cases, given.rounds, not given.no_check)
