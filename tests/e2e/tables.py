"""A Flink session against the test broker, for cases told in SQL."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any

from flinkddl.api import Catalog

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import SparkSession

    from flinkddl.runtime.kafka.admin import KafkaAdmin

SECONDS = 120.0
BOUNDED = {"scan.startup.mode": "earliest-offset", "scan.bounded.mode": "latest-offset"}


class Tables:
    """Declares tables over new topics and runs statements to their end."""

    def __init__(self, spark: SparkSession, admin: KafkaAdmin) -> None:
        self.catalog, self.admin = Catalog(spark), admin

    def topic(self, partitions: int = 1, name: str = "") -> str:
        """Create a topic and return its name; ``name`` is what it begins with."""
        full = f"{name or 'ref'}-{uuid.uuid4().hex[:8]}"
        self.admin.create_topic(full, partitions, {"retention.ms": "-1"})
        return full

    def create(self, name: str, columns: str, topic: str, connector: str = "kafka", /, **options: str | None) -> str:
        """Declare a table; ``_`` of an option's name stands for ``.``, ``__`` for ``-``. Returns the topic."""
        chosen = {"connector": connector, "properties.bootstrap.servers": self.admin.servers}
        chosen |= {"topic": topic} if topic else {}
        chosen |= BOUNDED if connector == "kafka" else {"scan.bounded.mode": "latest-offset"}
        given = {k.replace("__", "-").replace("_", "."): v for k, v in options.items()}
        self.declare(name, columns, chosen | given)
        return topic

    def declare(self, name: str, columns: str, options: Mapping[str, str | None]) -> None:
        """Execute CREATE TABLE."""
        listed = ", ".join(f"'{k}' = '{v}'" for k, v in options.items() if v is not None)
        self.run(f"CREATE TABLE {name} ({columns}) WITH ({listed})")

    def run(self, sql: str) -> None:
        """Execute a statement and wait for its job."""
        assert self.catalog.execute(sql).await_termination(SECONDS)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query in order of their texts."""
        return sorted((tuple(r) for r in self.catalog.execute(sql).collect()), key=repr)

    def changes(self, sql: str) -> list[str]:
        """Return the changes of a streaming query that ends, as Flink prints them."""
        self.run("SET 'execution.runtime-mode' = 'streaming'")
        lines: list[str] = []
        job = self.catalog.execute(sql).changes(lambda rows: lines.extend(rows.lines()))
        assert job.await_termination(SECONDS)
        return lines

    def records(self, topic: str) -> list[Any]:
        """Return all records of a topic."""
        from samples.topics import read_topic

        return read_topic(self.admin.servers, topic)

    def send(self, topic: str, values: Sequence[Any], partition: int = 0, **more: Any) -> None:
        """Write values (bytes, or what becomes JSON) to one partition."""
        from kafka import KafkaProducer

        producer = KafkaProducer(bootstrap_servers=self.admin.servers)
        for value in values:
            data = value if isinstance(value, bytes) else json.dumps(value).encode()
            producer.send(topic, value=data, partition=partition, **more)
        producer.flush()
        producer.close()
