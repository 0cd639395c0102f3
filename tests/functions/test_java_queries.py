"""Java functions in batch and in a stream, over rows that come, change and go: each query gives what Flink gives.

Flink's rows were recorded with the same jars (``tests/oracle/record_java_queries.py``).
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.api import Catalog
from flinkddl.diagnostics import FlinkDdlError
from tests.functions.java_queries import ALL, DECLARED, JARS, LINES, OWN, QUERIES, RECORDED, named
from tests.support.java_udf import needs_javac, udf_jar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from flinkddl.runtime.broker.server import Broker

pytestmark = [pytest.mark.spark, needs_javac]
FOUND: dict[str, dict[str, list[list[str | None]]]] = json.loads(RECORDED.read_text(encoding="utf-8"))
IN_ORDER = ("c_collect of events", "c_everything of events", "j_trace of events")
KAFKA = (
    "'connector' = 'kafka', 'properties.bootstrap.servers' = '{servers}', 'topic' = '{topic}', 'format' = 'json',"
    " 'scan.startup.mode' = 'earliest-offset'"
)
TOTALS = """
CREATE TABLE totals (g STRING, average BIGINT, kinds BIGINT, PRIMARY KEY (g) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'properties.bootstrap.servers' = '{servers}', 'topic' = '{topic}',
  'key.format' = 'json', 'value.format' = 'json');
INSERT INTO totals SELECT u, c_weightedavg(COALESCE(b, 5), COALESCE(w, 1)), c_countdistinct(s)
FROM (SELECT j_upper(g) AS u, b, w, s FROM latest) GROUP BY u;
"""


def declared(spark: SparkSession, mode: str, options: str) -> Catalog:
    catalog = Catalog(spark, views=False, jars=[str(udf_jar(jar)) for jar in JARS], udfs=OWN, notice=lambda _: None)
    created = (f"CREATE FUNCTION {name} AS '{cls}'" for name, cls in ALL.items() if name not in OWN)
    tables = (s.format(options=options) for s in DECLARED)
    catalog.execute(";".join([f"SET 'execution.runtime-mode' = '{mode}'", *created, *tables]))
    return catalog


def by_query(rows: Iterable[tuple[Any, ...]]) -> dict[str, list[list[str | None]]]:
    found: dict[str, list[list[str | None]]] = {name: [] for name in QUERIES}
    for name, *row in sorted(rows, key=repr):
        found[name].append(row)
    return found


def test_in_batch(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "events.json").write_text("\n".join(LINES), encoding="utf-8")
    catalog = declared(spark, "batch", f"'connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = 'json'")
    found = by_query(tuple(row) for row in catalog.execute(named(list(QUERIES))).collect())
    # what Flink's batch does not run (async functions, DISTINCT in OVER, a frame of time) has the rows of its stream,
    # and so has what tells in which order rows came, which Flink's batch leaves open
    expected = FOUND["streaming"] | {n: rows for n, rows in FOUND["batch"].items() if n not in IN_ORDER}
    assert found == {name: expected[name] for name in QUERIES}


def sent(broker: Broker, topic: str, lines: list[str]) -> None:
    from kafka import KafkaProducer

    producer = KafkaProducer(bootstrap_servers=broker.bootstrap)
    for line in lines:
        producer.send(topic, line.encode())
    producer.close()


@pytest.mark.kafka
@pytest.mark.slow
def test_in_a_stream(spark: SparkSession, broker: Broker, new_topic: Callable[..., str]) -> None:
    """In three batches, so that rows that a batch takes back were accumulated by one before."""
    topic = new_topic("events")
    sent(broker, topic, LINES)
    options = KAFKA.format(servers=broker.bootstrap, topic=topic) + ", 'scan.bounded.mode' = 'latest-offset'"
    catalog = declared(spark, "streaming", options)
    catalog.execute("SET 'flinkddl.execution.max-offsets-per-trigger' = '9'")
    rows: Counter[tuple[Any, ...]] = Counter()

    def take(batch: Any) -> None:
        for change in batch.changes:
            rows[tuple(change.row)] += 1 if change.kind.startswith("+") else -1

    job = catalog.execute(named(list(QUERIES))).changes(take)
    assert job.await_termination(600)
    assert min(rows.values()) >= 0
    assert by_query(rows.elements()) == FOUND["streaming"]
    failing = catalog.execute("SELECT j_throwing(n) FROM events").changes(lambda _: None)
    with pytest.raises(FlinkDdlError, match=f"topic '{topic}', partition 0, offset 2: .*two is too much"):
        failing.await_termination(120)


@pytest.mark.kafka
def test_from_kafka_into_an_upsert_topic_with_a_restart(
    spark: SparkSession, broker: Broker, new_topic: Callable[..., str], tmp_path: Path
) -> None:
    from flinkddl.runtime.kafka.reader import TopicReader

    events, totals = new_topic("events"), new_topic("totals")
    for lines in (LINES[:15], LINES[15:]):
        sent(broker, events, lines)
        catalog = declared(spark, "streaming", KAFKA.format(servers=broker.bootstrap, topic=events))
        run = {"checkpoint": str(tmp_path / "state"), "notice": lambda _: None}
        job = catalog.execute_all(TOTALS.format(servers=broker.bootstrap, topic=totals), run=run)[-1].job
        assert job is not None
        assert job.await_input(300)
        job.stop()
    with TopicReader({"bootstrap.servers": broker.bootstrap}, [totals]) as reader:
        last = {json.loads(r.key)["g"]: r.value and json.loads(r.value) for r in reader.new_records()}
    averages, kinds = (dict(FOUND["streaming"][f"c_{name} of latest"]) for name in ("weightedavg", "countdistinct"))
    expected = {g.upper(): {"g": g.upper(), "average": int(averages[g]), "kinds": int(kinds[g])} for g in averages}
    assert last == expected
