"""State of a group in one piece against state by key, in one JVM and in turn: ``python -m tests.bench state-forms``.

Each case is one INSERT from bounded Kafka topics into an upsert-kafka topic, with ``flinkddl.execution.state`` as
'aggregate' and as 'keyed'. A warm-up of each, then ``ROUNDS``; the last values per key must be equal. CPU seconds are
those of Spark's process.
"""

from __future__ import annotations

import os
import statistics
import time
import uuid
from pathlib import Path
from typing import Any

from tests.bench.against_flink import CASES as FLINK_CASES
from tests.bench.against_flink import LATEST, PARTITIONS, Bench, Case
from tests.e2e import support

FORMS = ("aggregate", "keyed")
ROUNDS = 2
CASES = {name: FLINK_CASES[name] for name in ("sum-upsert", "max-upsert", "distinct", "top10")} | {
    "join-upserts": Case(
        "SELECT l.k, l.amount, n.region FROM latest l JOIN newest n ON l.k = n.k",
        "k BIGINT, amount BIGINT, region STRING",
        "k",
    )
}


class Forms(Bench):
    """A bench without Flink."""

    def sources(self) -> list[str]:
        newest = LATEST.replace("TABLE latest", "TABLE newest").replace("'topic' = 'latest'", "'topic' = 'newest'")
        return [*super().sources(), newest.format(servers=self.servers)]

    def run(self, case: Case, topic: str, form: str) -> tuple[float, float]:
        """Return wall and CPU seconds of a run."""
        from flinkddl.api import Catalog

        catalog = Catalog(self.spark)
        sets = f"SET 'execution.runtime-mode' = 'streaming'; SET 'flinkddl.execution.state' = '{form}'"
        script = ";\n".join([sets, *self.sources(), case.sink(topic, self.servers)])
        catalog.execute(f"{script};")
        wall, cpu = time.perf_counter(), spark_cpu()
        catalog.execute(f"INSERT INTO `{topic}` {case.query}").await_termination()
        return time.perf_counter() - wall, spark_cpu() - cpu


def spark_cpu() -> float:
    """Return the CPU seconds of the Java process with a Spark in it that this one has started."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if b"SparkSubmit" in (entry / "cmdline").read_bytes() and int(fields[1]) == os.getpid():
                return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        except OSError:
            continue
    raise RuntimeError("no Spark was started by this process")


def compare(bench: Forms, name: str) -> None:
    """Run a case in both forms, in turn, and print a line."""
    from flinkddl.runtime.kafka.admin import KafkaAdmin

    case = CASES[name]
    found: dict[str, list[tuple[float, float]]] = {form: [] for form in FORMS}
    results: list[Any] = []
    for n in range(ROUNDS + 1):
        for form in FORMS:
            topic = f"{name}-{form}-{n}-{uuid.uuid4().hex[:6]}"
            with KafkaAdmin({"bootstrap.servers": bench.servers}) as admin:
                admin.create_topic(topic, PARTITIONS)
            found[form].append(bench.run(case, topic, form))
            if n == 0:
                results.append(support.upserted(support.read_topic(bench.servers, topic)))
    assert results[0] == results[1], f"{name}: the two forms disagree"
    parts = []
    for form in FORMS:
        wall, cpu = (statistics.median(r[i] for r in found[form][1:]) for i in (0, 1))
        parts.append(f"{form} {wall:.1f} s, CPU {cpu:.1f} s")
    print(f"{name}: {bench.records:,} records a topic, {'; '.join(parts)}", flush=True)


def main(records: int = 500_000) -> None:
    """Print one line a case."""
    from flinkddl.runtime.broker.server import Broker, BrokerOptions
    from flinkddl.runtime.kafka.admin import KafkaAdmin
    from flinkddl.runtime.session.sessions import SparkOptions, build_session

    conf = {"spark.driver.memory": "2g", "spark.sql.shuffle.partitions": "2"}
    with Broker(BrokerOptions(heap="700m")) as broker:
        spark = build_session(SparkOptions(master="local[2]", conf=conf))
        bench = Forms(spark, None, broker.bootstrap, records)  # type: ignore[arg-type]
        topics = {"visits", "latest", "newest"}
        with KafkaAdmin({"bootstrap.servers": broker.bootstrap}) as admin:
            for topic in topics:
                admin.create_topic(topic, PARTITIONS, {"retention.ms": "-1"})
        bench.fill(topics)
        for name in CASES:
            compare(bench, name)
        spark.stop()
