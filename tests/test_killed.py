"""The judge of jobs that are killed sees what a kill could do: changes that are missing, others, and come again."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests import exactly_once, executor_kills
from tests.exactly_once import H, Harness, Work
from tests.executor_kills import FAILED, OnCluster
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


def done(kind: type[H], kills: int, **moments: int) -> H:
    """Return a harness that has found no mistake."""
    made = kind("", Work(), 1, Path(), random.Random(1), "local[1]", kills=kills)
    made.moments.update(moments)
    made.judged = {reader: {"rows": killed.Judged(0, 0, 0)} for reader in exactly_once.READERS}
    return made


@pytest.mark.parametrize(
    ("kills", "more", "seconds", "code", "said"),
    [
        (3, [], 60, 0, ""),
        (2, [], 60, 1, "2 of 3 kills"),
        (0, [], 60, 1, "0 of 3 kills"),
        (2, ["--minutes", "1"], 61, 0, ""),  # as it was asked for
        (2, ["--minutes", "1"], 59, 1, "2 of 3 kills"),
    ],
)
def test_fewer_kills_than_asked_for_are_no_success(
    kills: int, more: list[str], seconds: float, code: int, said: str,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    clock = iter([0.0, seconds])
    monkeypatch.setattr(exactly_once.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(exactly_once, "run", lambda *_: done(Harness, kills))
    monkeypatch.setattr("sys.argv", ["exactly_once", "--kills", "3", *more])
    assert exactly_once.main() == code
    printed = capsys.readouterr().out
    assert ("falls short" in printed) == bool(code)
    assert said in printed


@pytest.mark.parametrize(
    ("kills", "failed", "failing", "code", "said"),
    [
        (3, 0, False, 0, ""),
        (3, 2, True, 0, ""),
        (3, 0, True, 1, "no task failed by itself"),
        (1, 2, True, 1, "1 of 3 kills"),
    ],
)
def test_executors_that_lived_and_tasks_that_did_not_fail_are_no_success(
    kills: int, failed: int, failing: bool, code: int, said: str,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr(executor_kills, "run", lambda *_: done(OnCluster, kills, **{FAILED: failed}))
    monkeypatch.setattr(executor_kills, "udf_jar", lambda _: Path("fails.jar"))
    monkeypatch.setattr("sys.argv", ["executor_kills", "--kills", "3", *(["--failing"] if failing else [])])
    assert executor_kills.main() == code
    printed = capsys.readouterr().out
    assert ("falls short" in printed) == bool(code)
    assert said in printed
