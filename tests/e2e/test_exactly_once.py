"""Small runs of the kill harnesses; the large ones are ``python -m tests.exactly_once`` and ``executor_kills``."""

from __future__ import annotations

import pytest

from tests import exactly_once, executor_kills
from tests.exactly_once import Work
from tests.executor_kills import FAILED, FENCED
from tests.support.java_udf import needs_javac, udf_jar

pytestmark = [pytest.mark.kafka, pytest.mark.slow]


WORKS = (
    Work("rows", 3000),
    Work("counts", 3000),
    Work("changes", 3000, window=7),
    Work("changes", 3000, "at-least-once", window=7),
    Work("counts", 3000, "at-least-once", "realtime", window=8),
    Work("changes", 3000, "at-least-once", "realtime", window=8),
)


@pytest.mark.parametrize("work", WORKS, ids=lambda w: f"{w.query}-{w.delivery}-{w.mode}")
def test_three_kills_lose_and_double_nothing(work: Work) -> None:
    done = exactly_once.run(3, work)
    assert (done.kills, done.mistakes) == (3, 0), done.judged


def test_three_executors_of_a_cluster_killed_lose_and_double_nothing() -> None:
    done = executor_kills.run(3, Work("rows", 3000))
    assert (done.kills, done.mistakes) == (3, 0), done.judged


def test_batches_that_come_to_one_executor_after_the_other_fail_no_task() -> None:
    """Each has a producer of its own, which fences the other's."""
    done = executor_kills.run(0, Work("rows", 1000))
    assert done.mistakes == 0, done.judged
    assert not done.moments


@needs_javac
def test_three_executors_of_a_cluster_killed_and_tasks_failing_under_state_by_key() -> None:
    done = executor_kills.run(3, Work("changes", 6000, fails=str(udf_jar("kills"))))
    assert (done.kills, done.mistakes) == (3, 0), done.judged
    assert done.moments[FAILED] > 0
    assert FENCED not in done.moments
