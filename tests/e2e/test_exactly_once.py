"""A small run of the kill harness; the large one is ``python -m tests.exactly_once``."""

from __future__ import annotations

import pytest

from tests import exactly_once, executor_kills


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.parametrize("query", exactly_once.QUERIES)
def test_three_kills_lose_and_double_nothing(query: str) -> None:
    done = exactly_once.run(kills=3, records=3000, query=query)
    assert done.kills == 3
    assert (done.lost, done.doubled) == (0, 0)


@pytest.mark.kafka
@pytest.mark.slow
def test_three_executors_of_a_cluster_killed_lose_and_double_nothing() -> None:
    done = executor_kills.run(kills=3, records=3000)
    assert done.kills == 3
    assert (done.lost, done.doubled) == (0, 0)
