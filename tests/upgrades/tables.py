"""Records as they are sent, tables as they are recounted: plain Python that knows nothing of flinkddl."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Row = dict[str, Any]
Key = tuple[Any, ...]
Table = dict[Key, Row]


@dataclass(frozen=True)
class Record:
    """One record of a topic: rows are sent as JSON, ``raw`` as it is, neither of them is a tombstone."""

    topic: str
    row: Row | None = None
    key: Row | None = None
    partition: int = 0
    raw: bytes | None = None

    @property
    def value(self) -> bytes | None:
        return json.dumps(self.row).encode() if self.row is not None else self.raw

    @property
    def key_bytes(self) -> bytes | None:
        return json.dumps(self.key).encode() if self.key is not None else None


Records = tuple[Record, ...]


def rows(records: Iterable[Record], topic: str) -> list[Row]:
    """Return the rows that were sent to a topic."""
    return [r.row for r in records if r.topic == topic and r.row is not None]


def newest(records: Iterable[Record], topic: str) -> list[Row]:
    """Return what an upsert topic holds: the last row of each key, without those that were deleted."""
    table: dict[Key, Row] = {}
    for r in records:
        if r.topic != topic or r.key is None:
            continue
        key = tuple(r.key.values())
        if r.row is None:
            table.pop(key, None)
        else:
            table[key] = r.row
    return list(table.values())


def grouped(rows: Iterable[Row], by: str) -> dict[Any, list[Row]]:
    """Return the rows by the value of a column."""
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(row[by], []).append(row)
    return groups


def keyed(rows: Iterable[Row], *key: str) -> Table:
    """Return rows as a table by the columns of its key."""
    return {tuple(row[k] for k in key): row for row in rows}


def read(records: Iterable[tuple[bytes | None, bytes | None]]) -> Table:
    """Return what the records of an upsert sink leave: the last value of each key, tombstones delete."""
    table: Table = {}
    for key, value in records:
        at = tuple(json.loads(key or b"{}").values())
        if value is None:
            table.pop(at, None)
        else:
            table[at] = json.loads(value)
    return table


@dataclass(frozen=True)
class Span:
    """Results of an operator when the first script ended, and when the second one did."""

    was: Table
    now: Table


def gone_on(written: Table, span: Span, shows: Callable[[Row], Row | None]) -> Table:
    """Return the sink after the second script: of what changed, that which its filter and projection let through.

    A row that changed is taken back as it was and given as it is: each half passes the new filter or does not, so that
    a row which the new script would not have written stays, as it does in Flink.
    """
    table = dict(written)
    for key in sorted(span.was.keys() | span.now.keys()):
        before, after = span.was.get(key), span.now.get(key)
        if before == after:
            continue
        given = shows(after) if after is not None else None
        taken = shows(before) if before is not None else None
        if given is not None:
            table[key] = given
        elif taken is not None:
            table.pop(key, None)
    return table
