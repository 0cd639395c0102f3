"""Kafka topics of the conformance cases: filled once per content, kept however old their records are."""

from __future__ import annotations

import json
import re
import threading
import uuid
from typing import TYPE_CHECKING, Any

from flinkddl.runtime.kafka.admin import KafkaAdmin

if TYPE_CHECKING:
    from types import TracebackType

_NULL = object()


class _Header(tuple):  # type: ignore[type-arg]
    """A header without a value: kafka-python's check, which asks by index, wants bytes; its writer takes None."""

    def __getitem__(self, index: Any) -> Any:
        return b"" if index == 1 else super().__getitem__(index)


def _length(value: Any) -> int:
    """``len`` for the two places of kafka-python that count the bytes of headers and forget those without a value."""
    return 0 if value is None else len(value)


class Topics:
    """Creates, fills and reads topics of one broker."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self._admin = KafkaAdmin({"bootstrap.servers": bootstrap})
        self._known: dict[str, str] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> Topics:
        import kafka.producer.kafka
        import kafka.producer.producer_batch
        from kafka import KafkaProducer
        from kafka.serializer import Serializer

        for module in (kafka.producer.kafka, kafka.producer.producer_batch):
            module.len = _length

        class Nulls(Serializer):
            """Writes a record without key and value, which Kafka has and kafka-python refuses."""

            def serialize(self, topic: str, headers: Any, data: Any) -> Any:
                return None if data is _NULL else data

        self._producer = KafkaProducer(bootstrap_servers=self.bootstrap, linger_ms=0, value_serializer=Nulls())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._producer.close()
        self._admin.close()

    def create(self, name: str, partitions: int) -> None:
        """Create a topic that keeps records with old timestamps."""
        self._admin.create_topic(name, partitions, {"retention.ms": "-1"})

    def holding(self, records: list[dict[str, Any]]) -> str:
        """Return a topic that holds exactly these records; the same records share one."""
        content = json.dumps(records)
        if content not in self._known:
            name = f"in-{uuid.uuid4().hex[:10]}"
            self.create(name, max((r.get("partition", 0) for r in records), default=0) + 1)
            for r in records:
                self._send(name, r)
            self._producer.flush()
            self._known[content] = name
        return self._known[content]

    def _send(self, topic: str, record: dict[str, Any]) -> None:
        key, value = (None if record[k] is None else record[k].encode() for k in ("key", "value"))
        headers = [(k, v.encode()) for k, v in (record.get("headers") or {}).items()]
        self._producer.send(
            topic,
            key=key,
            value=value,
            partition=record.get("partition", 0),
            timestamp_ms=record.get("timestamp"),
            headers=headers,
        )

    def records(self, topic: str) -> list[tuple[str | None, str | None]]:
        """Return all records of a topic with one partition, in order, as text."""
        from kafka import KafkaConsumer, TopicPartition

        consumer = KafkaConsumer(bootstrap_servers=self.bootstrap, enable_auto_commit=False)
        place = TopicPartition(topic, 0)
        consumer.assign([place])
        consumer.seek_to_beginning(place)
        end = consumer.end_offsets([place])[place]
        out: list[tuple[str | None, str | None]] = []
        while consumer.position(place) < end:
            for found in consumer.poll(1000).values():
                out += [(_decoded(r.key), _decoded(r.value)) for r in found]
        consumer.close()
        return out

    # cases that name their topics themselves, records in hex

    def fill(self, ddl: str, records: list[dict[str, Any]], partitions: int = 1) -> list[str]:
        """Create the topics that a table names and write the records; return their names."""
        found = re.search(r"'topic(-pattern)?'\s*=\s*'([^']*)'", ddl)
        names = re.split(r"\s*;\s*", found[2].strip()) if found else []
        if found and found[1]:  # a pattern over a topic's name: the cases know two such topics
            names = [n + end for n in re.findall(r"f-[0-9a-f]{10}", found[2])[:1] for end in ("", "b")]
        names = [n for n in names if re.fullmatch(r"f-[0-9a-f]{10}(b|-src)?", n)]
        with self._lock:
            for name in dict.fromkeys(names):
                self.create(name, partitions)
        for r in records:
            key, value = (None if r[k] is None else bytes.fromhex(r[k]) for k in ("key", "value"))
            headers = [_Header((k, None)) if v is None else (k, bytes.fromhex(v)) for k, v in r.get("headers") or ()]
            self._producer.send(
                r.get("topic") or names[0],
                key=key,
                value=_NULL if value is None else value,
                partition=r.get("partition", 0),
                timestamp_ms=r.get("timestamp"),
                headers=headers,
            )
        self._producer.flush()
        return list(dict.fromkeys(names))

    def commit(self, group: str, offsets: dict[str, dict[int, int]]) -> None:
        """Commit offsets for a consumer group."""
        with self._lock:
            self._admin.commit(group, offsets)

    def forget(self, group: str) -> None:
        """Delete a consumer group with what it has committed."""
        with self._lock:
            self._admin._ask(lambda: self._admin._client.delete_groups([group]))

    def read(self, topic: str) -> list[dict[str, Any]]:
        """Return all records of a topic, partition by partition, in hex, with all that they carry."""
        from kafka import KafkaConsumer, TopicPartition

        consumer = KafkaConsumer(bootstrap_servers=self.bootstrap, enable_auto_commit=False)
        places = [TopicPartition(topic, p) for p in sorted(consumer.partitions_for_topic(topic) or ())]
        consumer.assign(places)
        consumer.seek_to_beginning(*places)
        ends = consumer.end_offsets(places)
        found: dict[Any, list[dict[str, Any]]] = {place: [] for place in places}
        while any(consumer.position(place) < ends[place] for place in places):
            for place, records in consumer.poll(500).items():
                found[place] += [_shown(r) for r in records]
        consumer.close()
        return [r for place in places for r in found[place]]


def _shown(record: Any) -> dict[str, Any]:
    return {
        "key": _hex(record.key),
        "value": _hex(record.value),
        "headers": [[name, _hex(value)] for name, value in record.headers],
        "timestamp": record.timestamp,
        "partition": record.partition,
        "topic": record.topic,
    }


def _hex(data: bytes | None) -> str | None:
    return None if data is None else bytes(data).hex()


def _decoded(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "replace")
