"""What lies in a Kafka topic now: for the samples and for the tests that run them."""

from __future__ import annotations

from typing import Any


def read_topic(servers: str, topic: str) -> list[Any]:
    """Return every record that the topic holds now, partition by partition, in offset order."""
    from kafka import KafkaConsumer, TopicPartition

    consumer = KafkaConsumer(bootstrap_servers=servers, enable_auto_commit=False)
    partitions = [TopicPartition(topic, p) for p in sorted(consumer.partitions_for_topic(topic) or ())]
    consumer.assign(partitions)
    consumer.seek_to_beginning()
    ends, records = consumer.end_offsets(partitions), []
    while any(consumer.position(p) < ends[p] for p in partitions):
        for batch in consumer.poll(timeout_ms=500).values():
            records += batch
    consumer.close()
    return records
