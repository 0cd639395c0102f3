"""Reading topics to their present end, again and again: for comparing what two engines have written."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.kafka.admin import KafkaAdmin
from flinkddl.runtime.kafka.config import python_client_config
from flinkddl.runtime.kafka.opening import opened
from flinkddl.runtime.kafka.payloads import Payloads, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


class TopicReader:
    """Follows topics from their first record, or one at or after a time (epoch milliseconds; None: their end).

    Committed records only; raises FD811 to FD814 like KafkaAdmin.
    """

    def __init__(self, properties: Mapping[str, str], topics: Sequence[str], start: int | None = 0) -> None:
        from kafka import KafkaConsumer, TopicPartition

        with KafkaAdmin(properties) as admin:
            parts = admin.partitions(topics)
            begin = admin.offsets_at(topics, start) if start else {}
        self.places = [TopicPartition(t, p) for t, numbers in parts.items() for p in numbers]
        config = python_client_config(properties)
        config |= {"enable_auto_commit": False, "isolation_level": "read_committed"}
        self._consumer: Any = opened(KafkaConsumer, config)
        self._consumer.assign(self.places)
        if start is None:
            self._consumer.seek_to_end()
            for place in self.places:  # the client looks the end up when it is asked: now, not after the next record
                self._consumer.position(place)
        elif begin:
            for place in self.places:
                self._consumer.seek(place, begin[place.topic][place.partition])
        else:
            self._consumer.seek_to_beginning()

    def new_records(self) -> Iterator[Any]:
        """Yield the records from where the last call ended up to the end of each partition as it is now."""
        ends = self._consumer.end_offsets(self.places)
        while any(self._consumer.position(p) < ends[p] for p in self.places):
            for records in self._consumer.poll(timeout_ms=200).values():
                yield from records

    def close(self) -> None:
        """Close the connection."""
        self._consumer.close()

    def __enter__(self) -> TopicReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass
class TopicTable:
    """What a topic holds: the last value of each key, or every row where there are no keys."""

    payloads: Payloads
    by_key: bool | None = None
    records: int = 0
    tombstones: int = 0
    rows: dict[str, bytes] = field(default_factory=dict)
    counted: Counter[tuple[str | None, str]] = field(default_factory=Counter)

    def take(self, records: Iterator[Any]) -> None:
        """Take further records. Whether keys count is decided by the first record unless it was said before."""
        for r in records:
            if self.by_key is None:
                self.by_key = r.key is not None
            self.records += 1
            self.tombstones += r.value is None
            if self.by_key:
                self._upsert(text(self.payloads.read_key(r.key)), r.value)
            else:
                key = None if r.key is None else text(self.payloads.read_key(r.key))
                self.counted[key, text(self.payloads.read_value(r.value))] += 1

    def _upsert(self, key: str, value: bytes | None) -> None:
        if value is None:
            self.rows.pop(key, None)
        else:
            self.rows[key] = value

    def by_row(self, *, keys: bool) -> Counter[str]:
        """Return how often each row is there, with its key or without."""
        out: Counter[str] = Counter()
        for (key, value), n in self.counted.items():
            out[value if key is None or not keys else f"{key} {value}"] += n
        return out

    @property
    def has_keys(self) -> bool:
        """Whether any record has a key; an empty topic has none."""
        return bool(self.by_key) or any(key is not None for key, _ in self.counted)

    def value(self, key: str) -> Any:
        """Return the decoded value of a key."""
        return self.payloads.read_value(self.rows.get(key))


@dataclass(frozen=True)
class Difference:
    """One key (or row) that is not the same: its values, None where it is missing; counts for rows without a key."""

    key: str
    a: str | None
    b: str | None


def differences(a: TopicTable, b: TopicTable, ignore: Sequence[str] = ()) -> list[Difference]:
    """Compare two topics: by key where both have keys, otherwise by row and how often it is there.

    ``ignore`` are value fields that are left out, such as a time of processing. Raises FD869 where one is the last
    value of each key and the other has no keys. Rows of a topic with keys and one without are compared by their values.
    """
    if a.records and b.records and bool(a.by_key) != bool(b.by_key):
        raise FlinkDdlError.of(
            "FD869", "one of the two has keys and the other has none", help="--by row compares their values, keys aside"
        )
    if True in (a.by_key, b.by_key) and False not in (a.by_key, b.by_key):
        return [d for key in sorted(a.rows.keys() | b.rows.keys()) if (d := _by_key(key, a, b, ignore)) is not None]
    keys = a.has_keys == b.has_keys
    left, right = a.by_row(keys=keys), b.by_row(keys=keys)
    return [Difference(r, _times(left[r]), _times(right[r])) for r in sorted({*left, *right}) if left[r] != right[r]]


def _by_key(key: str, a: TopicTable, b: TopicTable, ignore: Sequence[str]) -> Difference | None:
    left, right = a.rows.get(key), b.rows.get(key)
    if left == right:
        return None
    values = [_without(t.value(key), ignore) for t in (a, b)]
    if left is not None and right is not None and values[0] == values[1]:
        return None
    shown = [None if raw is None else text(v) for raw, v in zip((left, right), values, strict=True)]
    return Difference(key, *shown)


def _without(value: Any, ignore: Sequence[str]) -> Any:
    return {k: v for k, v in value.items() if k not in ignore} if isinstance(value, dict) and ignore else value


def _times(count: int) -> str | None:
    return f"{count} times" if count else None
