"""What operators by key keep, from batch to batch and from run to run: exact, or not told."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.runtime.job.reporting.kept import EVERY_SECONDS, FILE, Kept
from flinkddl.runtime.job.reporting.progress import KeyedRows, Progress, read_progress
from flinkddl.runtime.storage.checkpoint import Checkpoint
from flinkddl.spark.reported import Foreseen, KeyedNode, NodePlace

if TYPE_CHECKING:
    from pathlib import Path

COUNT = KeyedNode("aggregate_1", NodePlace("n2", "Aggregate"), ("n1",))
JOIN = KeyedNode("inner_3", NodePlace("n5", "Join"), ("n2", "n4"))
MARK = "2023-11-14T22:13:20.500Z"
FORESEEN = Foreseen(keyed={1: COUNT, 3: JOIN})


def batch(number: int, more: tuple[int, int] | None = (0, 0), *, ran: bool = True) -> Progress:
    """Make a batch that makes the first operator's state larger by groups and bytes; one that nobody counted."""
    counts: dict[str, Any] = {"1_in0": 5, "1_out": 2, "3_in0": 2, "3_in1": 1, "3_out": 1, "3_groups": 1, "3_bytes": 10}
    groups, size = more or (0, 0)
    counts["3_time"] = 1_700_000_000_500
    observed = {"flinkddl.stage7": counts | {"1_groups": groups, "1_bytes": size}} if more else {}
    event: dict[str, Any] = {"batchId": number, "timestamp": "2026-11-21T12:00:04.123Z", "observedMetrics": observed}
    event["durationMs"] = {"addBatch": 7, "triggerExecution": 9} if ran else {"triggerExecution": 1}
    return read_progress("w", "t", event, foreseen=FORESEEN)


def kept(p: Progress) -> tuple[int | None, int | None]:
    """Return groups and bytes of the first operator."""
    return (p.keyed[0].groups, p.keyed[0].size)


def checkpoint(folder: Path) -> Checkpoint:
    return Checkpoint(str(folder), temporary=False)


FIRST = ((0, (10, 500)), (1, (-3, -100)))  # batches, and what they add
# batches of a query of the same id, and groups and bytes after the last one
CASES: dict[str, tuple[tuple[tuple[int, tuple[int, int] | None], ...], tuple[int | None, int | None]]] = {
    "from the first batch on": (FIRST, (7, 400)),
    "not from its first batch": (FIRST[1:], (None, None)),
    "one is missing": ((*FIRST, (3, (1, 1))), (None, None)),
    "it stays unknown": ((*FIRST, (3, (1, 1)), (4, (1, 1))), (None, None)),
    "one that nobody counted": ((*FIRST, (2, None), (3, (1, 1))), (None, None)),
    "the same batch again": ((*FIRST, (1, (1, 1))), (None, None)),
    "begun anew": ((*FIRST, (0, (4, 40))), (4, 40)),
}


@pytest.mark.parametrize(("batches", "after"), CASES.values(), ids=CASES)
def test_sums_are_of_batches_that_follow_one_another(
    batches: tuple[tuple[int, tuple[int, int] | None], ...], after: tuple[int | None, int | None]
) -> None:
    sums = Kept()
    told = [sums.add("q", "id", batch(n, more)) for n, more in batches]
    assert kept(told[-1]) == after


def test_a_report_without_a_batch_says_what_is_kept_and_counts_nothing() -> None:
    sums = Kept()
    sums.add("q", "id", batch(0, (10, 500)))
    idle = sums.add("q", "id", batch(1, None, ran=False))
    assert kept(idle) == (10, 500)
    assert [(k.came, k.went) for k in idle.keyed] == [((0,), 0), ((0, 0), 0)]
    assert idle.watermark == MARK
    assert kept(sums.add("q", "id", batch(1, (1, 1)))) == (11, 501)


# what the next run finds: the query's id and its first batch, and what it then knows
NEXT = {
    "where the last one ended": ("id", 2, (8, 401)),
    "a batch of which nothing was left": ("id", 3, (None, None)),
    "another query": ("other", 2, (None, None)),
}


@pytest.mark.parametrize(("id", "number", "after"), NEXT.values(), ids=NEXT)
def test_the_next_run_goes_on(tmp_path: Path, id: str, number: int, after: tuple[int | None, int | None]) -> None:
    sums = Kept()
    sums.open(checkpoint(tmp_path))
    for n, more in FIRST:
        sums.add("q", "id", batch(n, more))
    sums.save(last=True)
    again = Kept()
    again.open(checkpoint(tmp_path))
    assert kept(again.add("q", id, batch(number, (1, 1)))) == after
    assert kept(again.add("another query", "x", batch(0, (2, 2)))) == (2, 2)


def test_an_operator_that_is_new_is_not_known() -> None:
    """It was filled with the rows that were there (``supervising/filling.py``)."""
    sums = Kept()
    sums.add("q", "id", replace(batch(0, (10, 500)), keyed=batch(0, (10, 500)).keyed[:1]))
    one, join = sums.add("q", "id", batch(1, (1, 1))).keyed
    assert (one.groups, join.groups, join.size) == (11, None, None)
    one, join = sums.add("q", "id", batch(2, (1, 1))).keyed
    assert (one.groups, join.groups, join.size) == (12, None, None)


def test_it_is_written_now_and_then_and_at_the_end(tmp_path: Path) -> None:
    now = [0.0]
    sums, file = Kept(lambda: now[0]), tmp_path / FILE
    sums.open(checkpoint(tmp_path))
    sums.add("q", "id", batch(0, (1, 1)))
    sums.save()
    assert not file.exists()
    now[0] = EVERY_SECONDS
    sums.save()
    first = file.read_text()
    assert '"aggregate_1": [1, 1]' in first
    sums.save(last=True)  # nothing is new
    sums.add("q", "id", batch(1, (1, 1)))
    sums.save()
    assert file.read_text() == first
    sums.save(last=True)
    assert '"aggregate_1": [2, 2]' in file.read_text()


@pytest.mark.parametrize("text", ["", "[]", '{"q": 1}', '{"q": {"other": 1}}'])
def test_a_file_that_cannot_be_read_is_nothing_known(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    sums = Kept()
    sums.open(checkpoint(tmp_path))
    assert kept(sums.add("q", "id", batch(3, (1, 1)))) == (None, None)
    assert kept(sums.add("q", "id", batch(4, (1, 1)))) == (None, None)


def test_nothing_is_left_of_a_temporary_checkpoint(tmp_path: Path) -> None:
    sums = Kept()
    sums.open(Checkpoint(str(tmp_path), temporary=True))
    sums.add("q", "id", batch(0, (1, 1)))
    sums.save(last=True)
    assert not list(tmp_path.iterdir())


def test_a_query_without_operators_by_key_has_no_sums() -> None:
    plain = replace(batch(0), keyed=())
    assert Kept().add("q", "id", plain) is plain


def test_rows_by_edge() -> None:
    count, join = batch(0).keyed
    assert (count.edges, join.edges) == ((("n1", 5),), (("n2", 2), ("n4", 1)))
    assert KeyedRows(replace(JOIN, inputs=()), (2, 1), 1).edges == (("", 3),)
