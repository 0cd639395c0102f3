"""Windows in a chain over real Kafka: in real time and in micro-batches, killed and gone on with."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from tests.e2e.realtime_jobs import REALTIME, in_turn
from tests.e2e.window_jobs import Windows
from tests.support.nightly import nightly

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from flinkddl.runtime.broker.server import Broker

pytestmark = pytest.mark.kafka
EVERY = "SET 'execution.checkpointing.interval' = '10 s'; SET 'flinkddl.execution.state' = 'chain';"
KINDS = {
    "windows": ("counts", "most", "hot", "hops", "best", "visits", "begun"),
    "joins": ("inner", "left", "full", "semi", "anti"),
    "joins with a condition": ("leftif", "rightif", "fullif", "semiif", "antiif"),
    "intervals": ("near", "nearleft", "nearright", "nearfull", "atonce", "allatonce"),
}
"""Jobs with every kind of operator that event time moves, each once."""


@pytest.fixture
def work(broker: Broker, new_topic: Callable[..., str], tmp_path: Path) -> Iterator[Callable[..., Windows]]:
    """Return a function that makes a job of queries; what still runs in the end is ended."""
    made: list[Windows] = []

    def make(kinds: str) -> Windows:
        made.append(Windows(tmp_path, broker.bootstrap, KINDS[kinds], new_topic, 2))
        return made[-1]

    yield make
    for one in made:
        one.end(signal.SIGKILL)


def test_windows_come_out_while_a_batch_lasts(work: Callable[..., Windows]) -> None:
    job = work("windows")
    job.send(200)
    job.start(REALTIME)
    job.await_tables(400)
    for _ in range(2):
        job.send(60)
        job.await_tables()


@pytest.mark.timeout(1500)
@pytest.mark.parametrize("kinds", [*map(nightly, KINDS)])
def test_killed_and_in_both_modes_in_turn(work: Callable[..., Windows], kinds: str) -> None:
    """What was read since the last batch's end is read again: its windows have the same rows."""
    in_turn(work(kinds), EVERY)
