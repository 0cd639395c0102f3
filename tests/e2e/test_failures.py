"""What a failed job says: which topic is gone, and of a long value its beginning."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from flinkddl.api import Catalog
from flinkddl.diagnostics import FlinkDdlError
from tests.support.topics import send

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from flinkddl.runtime.broker.server import Broker
    from flinkddl.runtime.kafka.admin import KafkaAdmin

pytestmark = pytest.mark.kafka

TABLES = """
CREATE TABLE src (id INT, k STRING) WITH ('connector' = 'kafka', 'topic' = '{src}', 'format' = 'json',
  'properties.bootstrap.servers' = '{servers}', 'scan.startup.mode' = 'earliest-offset');
CREATE TABLE dst (id INT, k STRING) WITH ('connector' = 'kafka', 'topic' = '{dst}', 'format' = 'json',
  'properties.bootstrap.servers' = '{servers}');
"""


def test_a_topic_that_is_deleted_is_named(
    spark: SparkSession, broker: Broker, admin: KafkaAdmin, new_topic: Callable[..., str]
) -> None:
    src, dst = new_topic("src"), new_topic("dst")
    catalog = Catalog(spark, views=False)
    catalog.execute(TABLES.format(src=src, dst=dst, servers=broker.bootstrap))
    send(broker.bootstrap, src, ({"id": i, "k": "a"} for i in range(3)))
    job = catalog.execute("INSERT INTO dst SELECT id, k FROM src").job
    assert job is not None
    try:
        assert job.await_input(60)
        admin.delete_topic(src)
        with pytest.raises(FlinkDdlError, match=rf"FD830: .*the topic '{src}' is not there"):
            job.await_termination(90)
    finally:
        job.stop()


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELECT id, k FROM src", "column 'id': Failed to deserialize"),  # the decoder refuses it
        ("SELECT CAST(k AS INT), k FROM src", "query into 'dst' failed"),  # a function of ours does
    ],
)
def test_a_long_value_is_quoted_with_its_beginning(
    spark: SparkSession, broker: Broker, new_topic: Callable[..., str], query: str, words: str
) -> None:
    src, dst = new_topic("src"), new_topic("dst")
    catalog = Catalog(spark, views=False)
    catalog.execute(TABLES.format(src=src, dst=dst, servers=broker.bootstrap))
    column = "id" if query.startswith("SELECT id") else "k"
    send(broker.bootstrap, src, [{"id": 1, "k": "1"} | {column: "q" * 900_000}])
    job = catalog.execute(f"INSERT INTO dst {query}").job
    assert job is not None
    with pytest.raises(FlinkDdlError, match=f"FD830: .*{words}") as raised:
        job.await_termination(90)
    message = raised.value.diagnostics[0].message
    assert "q" * 200 + "..." in message
    assert "q" * 201 not in message
    assert len(message) < 1000
