"""What a table lacks and gets: a group of its own, and a prefix of its transactions. On the broker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.api import Catalog
from samples.topics import read_topic

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from flinkddl.api import Job
    from flinkddl.runtime.kafka.admin import KafkaAdmin

pytestmark = pytest.mark.kafka
SECONDS = 120.0
GROUP = "KafkaSource-default_catalog.default_database.orders_without_group"


class Orders:
    """A job that copies a topic whose table has no group."""

    def __init__(self, spark: SparkSession, admin: KafkaAdmin, new_topic: Callable[..., str]) -> None:
        self.spark, self.admin = spark, admin
        self.source, self.sink = new_topic("orders"), new_topic("copies")
        self.told: list[str] = []

    def send(self, *numbers: int) -> None:
        from kafka import KafkaProducer

        producer = KafkaProducer(bootstrap_servers=self.admin.servers)
        for n in numbers:
            producer.send(self.source, f'{{"id":{n}}}'.encode())
        producer.flush()
        producer.close()

    def run(self, checkpoint: Path | None = None) -> list[int]:
        """Run the job until it has read all, in a session of its own; return the ids that it wrote."""
        before = len(read_topic(self.admin.servers, self.sink))
        where = f"'connector' = 'kafka', 'format' = 'json', 'properties.bootstrap.servers' = '{self.admin.servers}'"
        script = f"""
            CREATE TABLE orders_without_group (id INT) WITH ({where}, 'topic' = '{self.source}');
            CREATE TABLE copies (id INT) WITH ({where}, 'topic' = '{self.sink}');
            INSERT INTO copies SELECT id FROM orders_without_group"""
        run: dict[str, Any] = {"checkpoint": str(checkpoint)} if checkpoint else {}
        catalog = Catalog(self.spark, views=False, notice=self.told.append)
        job = catalog.execute_all(script, run=run)[-1].job
        assert job is not None
        ended(job)
        return [int(r.value[6:-1]) for r in read_topic(self.admin.servers, self.sink)[before:]]


def ended(job: Job) -> None:
    assert job.await_input(SECONDS)
    job.stop()
    job.await_termination()


def test_a_generated_group_starts_at_the_earliest_offset_and_then_where_it_stands(
    spark: SparkSession, admin: KafkaAdmin, new_topic: Callable[..., str], tmp_path: Path
) -> None:
    orders = Orders(spark, admin, new_topic)
    orders.send(1, 2)
    assert orders.run() == [1, 2]
    assert "FD227" in orders.told[0]
    assert f"'{GROUP}', whose first start is at the earliest offset" in orders.told[0]
    assert admin.committed(GROUP, {orders.source: [0]}) == {orders.source: {0: 2}}
    orders.send(3)
    assert orders.run() == [3]
    kept = tmp_path / "checkpoint"
    orders.send(4)
    assert orders.run(kept) == [4]
    admin.commit(GROUP, {orders.source: {0: 0}})  # the checkpoint counts, not the group
    orders.send(5)
    assert orders.run(kept) == [5]


@pytest.mark.parametrize("option", ["sink.semantic", "sink.delivery-guarantee"])
def test_exactly_once_without_a_prefix(
    spark: SparkSession, admin: KafkaAdmin, new_topic: Callable[..., str], option: str
) -> None:
    topic = new_topic("totals")
    told: list[str] = []
    catalog = Catalog(spark, views=False, notice=told.append)
    catalog.execute(
        f"CREATE TABLE totals (id INT) WITH ('connector' = 'kafka', 'format' = 'json', 'topic' = '{topic}', "
        f"'properties.bootstrap.servers' = '{admin.servers}', '{option}' = 'exactly-once')"
    )
    for n in (1, 2):  # the second run takes over the id of the first
        job = catalog.execute(f"INSERT INTO totals VALUES ({n})").job
        assert job is not None
        assert job.await_termination(SECONDS)
    assert f"'flinkddl-{topic}'" in told[-1]
    assert [r.value for r in read_topic(admin.servers, topic)] == [b'{"id":1}', b'{"id":2}']
    assert admin.end_offsets({topic: [0]})[topic][0] > 2  # marks of committed transactions stand between the records
