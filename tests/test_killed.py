"""The judge of jobs that are killed sees what a kill could do: changes that are missing, others, and come again."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.support import killed

if TYPE_CHECKING:
    from tests.support.killed import Record, Table, Tables

RECORDS, BATCH = 600, 40


class Read(NamedTuple):
    """A record as a reader gives it."""

    partition: int
    key: bytes | None
    value: bytes | None


@pytest.fixture(params=killed.INSERTS)
def insert(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_changes_as_they_must_be(monkeypatch: pytest.MonkeyPatch, insert: str) -> None:
    assert judged(monkeypatch, insert, written(insert)) == killed.Judged(0, 0, 0)


def test_a_batch_that_is_missing(monkeypatch: pytest.MonkeyPatch, insert: str) -> None:
    found = judged(monkeypatch, insert, written(insert)[:-1])
    assert found.lost + found.wrong > 0
    assert found.repeated == 0


def test_a_batch_that_comes_again(monkeypatch: pytest.MonkeyPatch, insert: str) -> None:
    batches = written(insert)
    found = judged(monkeypatch, insert, [*batches, batches[-1]])
    assert found == killed.Judged(0, 0, len(batches[-1]))


@pytest.mark.parametrize("insert", [name for name in killed.INSERTS if name != "stack"], indirect=True)
def test_an_older_batch_that_comes_again(monkeypatch: pytest.MonkeyPatch, insert: str) -> None:
    """It is seen by the rows that the keys go through: they go back and forth, none is like the one before it."""
    batches = written(insert)
    assert judged(monkeypatch, insert, [*batches[:-1], *batches[-4:]]).repeated > 0


def test_a_row_that_is_another(monkeypatch: pytest.MonkeyPatch, insert: str) -> None:
    batches = written(insert)
    at, last = next((i, r) for i, r in enumerate(batches[-1]) if r.value)
    row = json.loads(last.value or b"")
    batches[-1][at] = last._replace(value=json.dumps({name: number + 100_000 for name, number in row.items()}).encode())
    found = judged(monkeypatch, insert, batches)
    assert found.wrong == 1
    assert found.lost == (insert == "rows")


def test_rows_that_were_deleted_and_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    batches = [[r for r in batch if r.value] for batch in written("join")]
    found = judged(monkeypatch, "join", batches)
    assert found.lost == 0
    assert found.wrong > 0


def judged(monkeypatch: pytest.MonkeyPatch, insert: str, batches: list[list[Read]]) -> killed.Judged:
    topics = {name: [] for name in killed.TOPICS} | {killed.sink(insert): [r for batch in batches for r in batch]}
    for record in made(insert):
        topics[record.topic].append(Read(record.partition, coded(record.key), coded(record.value)))
    monkeypatch.setattr(killed, "read", lambda _, topic, *__: topics[topic])
    judge = killed.Judge("", insert)
    found = judge.judged("read_committed")[insert]
    assert judge.exact("read_committed") == (found.lost + found.wrong == 0)
    return found


def made(insert: str) -> list[Record]:
    return list(killed.records(killed.sources(insert), RECORDS, random.Random(7)))


def coded(value: dict[str, int] | None) -> bytes | None:
    return None if value is None else json.dumps(value).encode()


def written(insert: str) -> list[list[Read]]:
    """Return what a sink gets of each batch: of each key the difference, as Python counts it."""
    asked, tables, before = (
        killed.INSERTS[insert],
        defaultdict[str, "Table"](dict),
        dict[tuple[int, ...], tuple[int, ...]](),
    )
    batches, records = [], made(insert)
    given: Tables = {name: tables[name] for name in asked.sources}
    for start in range(0, RECORDS, BATCH):
        for record in records[start : start + BATCH]:
            killed.fold(record.topic, given[record.topic], Read(0, coded(record.key), coded(record.value)))
        after = asked.table(given)
        changed = [k for k in sorted(before.keys() | after.keys()) if before.get(k) != after.get(k)]
        batches.append([change(insert, key, after.get(key)) for key in changed])
        before = after
    return batches


def change(insert: str, key: tuple[int, ...], row: tuple[int, ...] | None) -> Read:
    asked = killed.INSERTS[insert]
    value = None if row is None else dict(zip(asked.columns, (*key, *row), strict=True))
    return Read(0, coded(dict(zip(asked.columns, key, strict=False))) if asked.keys else None, coded(value))
