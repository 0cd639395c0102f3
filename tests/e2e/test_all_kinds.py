"""A query with all updating operators at once: the stream leaves the table that a batch job computes, in each form."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.api import Catalog
from tests.e2e import support
from tests.support.nightly import nightly

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from flinkddl.runtime.broker.server import Broker

JOB = Path(__file__).parents[1] / "cases" / "jobs" / "67_all_kinds.sql"
PRODUCTS = ("tea", "milk", "bread", "salt")
BOUNDED = "'scan.bounded.mode' = 'latest-offset'"
PEOPLE = re.compile(r"CREATE TABLE people .*?;", re.DOTALL)
THERE = """CREATE TABLE people (id INT, city STRING, budget INT) WITH ('connector' = 'kafka', 'topic' = 'there',
  'properties.bootstrap.servers' = '${BROKERS}', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');"""
"""People as they are in the end: a batch job reads no table of changes, as in Flink."""


@pytest.mark.kafka
@pytest.mark.timeout(900)
@pytest.mark.parametrize("form", ["auto", *map(nightly, ("keyed", "chain", "aggregate"))])
def test_a_stream_of_all_kinds_leaves_the_table_of_a_batch(
    spark: SparkSession, broker: Broker, new_topic: Callable[..., str], form: str
) -> None:
    topics = {name: new_topic(name) for name in ("kinds_orders", "kinds_people", "there", "stream", "batch")}
    filled(broker.bootstrap, topics)
    streamed = "SET 'execution.runtime-mode' = 'streaming'; SET 'flinkddl.execution.max-offsets-per-trigger' = '150';"
    found = {
        sink: result(spark, broker.bootstrap, topics, sink, sets)
        for sink, sets in (
            ("batch", "SET 'execution.runtime-mode' = 'batch';"),
            ("stream", f"{streamed} SET 'flinkddl.execution.state' = '{form}';"),
        )
    }
    assert len({kind for kind, _ in found["batch"]}) == 13
    assert found["stream"] == found["batch"]


def filled(servers: str, topics: dict[str, str]) -> None:
    """Write orders, and people who change their city, go and come again."""
    from kafka import KafkaProducer

    chance = random.Random(5)
    there: dict[int, bytes | None] = {}
    producer = KafkaProducer(bootstrap_servers=servers, linger_ms=20)
    for n in range(400):
        person = {"id": chance.randrange(30), "city": chance.choice(("Rome", "Oslo")), "budget": chance.randrange(90)}
        order = {"id": n, "person": chance.randrange(40), "product": chance.choice(PRODUCTS) * chance.randrange(1, 4)}
        gone = chance.random() < 0.3
        key, value = json.dumps({"id": person["id"]}).encode(), None if gone else json.dumps(person).encode()
        there[person["id"]] = value
        producer.send(topics["kinds_people"], value, key=key)
        producer.send(topics["kinds_orders"], json.dumps(order | {"price": chance.randrange(100)}).encode())
    for value in filter(None, there.values()):
        producer.send(topics["there"], value)
    producer.flush()
    producer.close()


def result(
    spark: SparkSession, servers: str, topics: dict[str, str], sink: str, sets: str
) -> dict[tuple[str, int], Any]:
    """Run the job over what the topics hold; return the table that its sink holds in the end."""
    tables, _, insert = JOB.read_text().partition("INSERT INTO")
    if sink == "batch":  # which has one moment for all rows; numbers of orders grow as they come
        tables = PEOPLE.sub(THERE, tables).replace("PROCTIME() AS arrived", "id AS arrived")
    for name, topic in (*topics.items(), ("kinds_found", topics[sink])):
        bounded = "" if name == "kinds_found" else f", {BOUNDED}"
        tables = tables.replace(f"'topic' = '{name}'", f"'topic' = '{topic}'{bounded}")
    text = f"SET 'parallelism.default' = '2'; {sets} {tables} INSERT INTO {insert}".replace("${BROKERS}", servers)
    catalog = Catalog(spark)
    try:
        job = catalog.execute_all(text)[-1].job
        if job is not None:
            assert job.await_termination(600)
    finally:
        catalog.stop()
    rows = support.upserted(support.read_topic(servers, topics[sink]))
    values = [json.loads(value) for value in rows.values()]
    return {(v["kind"], v["id"]): v["n"] for v in values}
