"""Hand-built SparkJobs and small Kafka helpers for the tests of the runtime."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from flinkddl.spark import job as J

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

SCHEMA = "k STRING, x BIGINT"


def read(topic: str, servers: str, *, streaming: bool = True, **positions: Mapping[str, str]) -> J.Read:
    return J.Read(
        name="src",
        format="kafka",
        options={"kafka.bootstrap.servers": servers, "subscribe": topic},
        streaming=streaming,
        table="orders",
        **positions,  # type: ignore[arg-type]
    )


def decode(schema: str = SCHEMA) -> J.Select:
    return J.Select(name="rows", input="src", columns=(("v", f"from_json(CAST(value AS STRING), '{schema}')"),))


def counts(read_step: J.Read) -> tuple[J.Step, ...]:
    """COUNT(*) and SUM(x) per k, as key and value of an upsert-kafka topic; a count of zero is a tombstone."""
    return (
        read_step,
        decode(),
        J.GroupBy(name="grouped", input="rows", keys=(("k", "v.k"),), aggs=(("n", "count(1)"), ("total", "sum(v.x)"))),
        J.Select(
            name="out",
            input="grouped",
            columns=(
                ("key", "CAST(to_json(named_struct('k', k)) AS BINARY)"),
                ("value", "IF(total < 0, NULL, CAST(to_json(named_struct('k', k, 'n', n)) AS BINARY))"),
            ),
        ),
    )


def kafka_write(topic: str, servers: str, source: str = "out") -> J.Write:
    options = {"kafka.bootstrap.servers": servers, "topic": topic}
    return J.Write(name="sink", input=source, format="kafka", options=options, mode="update", table="regions")


def job(steps: Sequence[J.Step], *writes: J.Write, **changes: Any) -> J.SparkJob:
    values: dict[str, Any] = {"name": "job", "settings": {}, "streaming": True, "trigger": ("availableNow", "true")}
    return J.SparkJob(steps=tuple(steps), writes=writes, **(values | changes))


def produce(servers: str, topic: str, rows: Iterable[Any], partition: int | None = 0, **more: Any) -> None:
    from kafka import KafkaProducer

    producer = KafkaProducer(bootstrap_servers=servers)
    for row in rows:
        value = row if isinstance(row, bytes) else json.dumps(row).encode()
        producer.send(topic, value=value, partition=partition, **more)
    producer.flush()
    producer.close()


def consume(servers: str, topic: str) -> list[tuple[Any, Any]]:
    """Return (key, value) of all records of a topic, decoded from JSON; a tombstone's value is None."""
    from kafka import KafkaConsumer, TopicPartition

    consumer = KafkaConsumer(bootstrap_servers=servers)
    places = [TopicPartition(topic, p) for p in consumer.partitions_for_topic(topic) or []]
    consumer.assign(places)
    consumer.seek_to_beginning()
    ends = consumer.end_offsets(places)
    out = []
    while any(consumer.position(p) < end for p, end in ends.items()):
        for records in consumer.poll(timeout_ms=500).values():
            out += [(r.key and json.loads(r.key), None if r.value is None else json.loads(r.value)) for r in records]
    consumer.close()
    return out


def table(records: Iterable[tuple[Any, Any]]) -> dict[str, int]:
    """Return the last value per key of an upsert topic: k -> n."""
    last = {key["k"]: value for key, value in records}
    return {k: value["n"] for k, value in last.items() if value is not None}
