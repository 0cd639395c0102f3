"""The events lie in a topic in their order, and results are compared by what is in a topic at its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from samples.topics import read_topic
from tests.bench.nexmark.compare import Reader
from tests.bench.nexmark.fill import fill
from tests.bench.nexmark.generator import Events
from tests.bench.nexmark.queries import QUERIES

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from flinkddl.runtime.broker.server import Broker

pytestmark = pytest.mark.kafka
PARTITIONS = 3


def send(servers: str, topic: str, records: list[tuple[str | None, str | None]]) -> str:
    from kafka import KafkaProducer

    producer = KafkaProducer(bootstrap_servers=servers)
    for key, value in records:
        producer.send(topic, value and value.encode(), key=key and key.encode(), partition=0)
    producer.close()
    return topic


def test_events_keep_their_order(spark: SparkSession, broker: Broker, new_topic: Callable[..., str]) -> None:
    topic, events = new_topic("nexmark", PARTITIONS), Events(2000)
    fill(spark, broker.bootstrap, topic, events, PARTITIONS)
    found: dict[int, list[str]] = {p: [] for p in range(PARTITIONS)}
    for record in read_topic(broker.bootstrap, topic):
        found[record.partition].append(record.value.decode())
    lines = [line for part in events.lines() for line in part]
    assert found == {p: lines[p::PARTITIONS] for p in range(PARTITIONS)}


def test_results_are_compared_as_tables_or_as_records(
    spark: SparkSession, broker: Broker, new_topic: Callable[..., str]
) -> None:
    servers, reader = broker.bootstrap, Reader(spark, broker.bootstrap, ordered=True)
    table, append = QUERIES["q17"], QUERIES["q0"]
    one = send(servers, new_topic("one"), [("a", "1"), ("b", "2"), ("a", "3"), ("c", "4"), ("c", None)])
    other = send(servers, new_topic("other"), [("b", "2"), ("a", "3")])
    third = send(servers, new_topic("third"), [(None, "2"), (None, "3"), (None, "3")])
    results = {t: (reader.result(table, t), reader.result(append, t)) for t in (one, other, third)}
    assert [results[t][0].rows for t in (one, other)] == [2, 2]
    assert reader.equal(table, results[one][0], results[other][0])
    assert not reader.equal(append, results[other][1], results[third][1])
    assert reader.difference(append, results[other][1], results[third][1]) == ([], ["3"])


def test_columns_that_depend_on_the_order_are_left_out(
    spark: SparkSession, broker: Broker, new_topic: Callable[..., str]
) -> None:
    query, row = QUERIES["q19"], '{{"auction":1,"bidder":{},"price":5,"rank_number":1}}'
    topics = [send(broker.bootstrap, new_topic("t"), [("k", row.format(bidder))]) for bidder in (7, 8)]
    for ordered in (False, True):
        reader = Reader(spark, broker.bootstrap, ordered)
        one, other = (reader.result(query, topic) for topic in topics)
        assert reader.equal(query, one, other) is not ordered
