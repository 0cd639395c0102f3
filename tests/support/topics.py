"""Topics as tests fill and read them."""

from __future__ import annotations

import json
from itertools import cycle
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable


def send(servers: str, topic: str, rows: Iterable[dict[str, Any]], partition: int | None = None) -> None:
    """Write rows as JSON without a key, to one partition or to each in turn.

    Spread by chance, a partition may be left behind, and its watermark hold back windows that a test awaits.
    """
    from kafka import KafkaProducer

    producer = KafkaProducer(bootstrap_servers=servers, linger_ms=50, batch_size=1 << 18)
    partitions = [partition] if partition is not None else sorted(producer.partitions_for(topic))
    for row, to in zip(rows, cycle(partitions), strict=False):
        producer.send(topic, json.dumps(row).encode(), partition=to)
    producer.flush()
    producer.close()


def committed(servers: str, topic: str) -> list[Any]:
    """Return what a ``read_committed`` reader of the whole topic sees, partition by partition."""
    return read(servers, topic, "read_committed")


def read(servers: str, topic: str, isolation: str = "read_uncommitted") -> list[Any]:
    """Return what a reader of the whole topic sees, partition by partition."""
    from kafka import KafkaConsumer, TopicPartition

    consumer = KafkaConsumer(
        bootstrap_servers=servers, isolation_level=isolation, enable_auto_commit=False,
        fetch_max_bytes=1 << 26, max_partition_fetch_bytes=1 << 23, max_poll_records=50_000,
    )  # fmt: skip
    partitions = [TopicPartition(topic, p) for p in sorted(consumer.partitions_for_topic(topic) or ())]
    consumer.assign(partitions)
    consumer.seek_to_beginning()
    ends, records = consumer.end_offsets(partitions), []
    while any(consumer.position(p) < ends[p] for p in partitions):
        for batch in consumer.poll(timeout_ms=500).values():
            records += batch
    consumer.close()
    return sorted(records, key=lambda r: (r.partition, r.offset))


def ends(servers: str, topics: Iterable[str]) -> int:
    """Return how many places of topics are taken, marks of transactions among them."""
    from kafka import KafkaConsumer, TopicPartition

    consumer = KafkaConsumer(bootstrap_servers=servers, enable_auto_commit=False)
    partitions = [TopicPartition(topic, p) for topic in topics for p in consumer.partitions_for_topic(topic) or ()]
    found = sum(consumer.end_offsets(partitions).values())
    consumer.close()
    return found
