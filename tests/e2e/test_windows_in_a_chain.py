"""Windows in a chain over real Kafka: in real time and in micro-batches, killed and gone on with."""

from __future__ import annotations

import math
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.e2e.realtime_jobs import REALTIME, in_turn
from tests.e2e.window_jobs import Windows
from tests.support.nightly import nightly
from tests.support.spark import QUICK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
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
LITTLE = f"spark.driver.extraJavaOptions={QUICK} -Dflinkddl.state.held=2000"
"""Of the state that is held until its batch ends: what it may take, in bytes."""


@dataclass
class Ending(Windows):
    """A job over topics that end, and all windows with them; little may be held."""

    spark: tuple[str, ...] = ("--master", "local[2]", "--conf", "spark.ui.enabled=false", "--conf", LITTLE)

    def tables(self) -> Iterable[tuple[str, str, str, str]]:
        for name, columns, options, topic in super().tables():
            bounded = options.replace("'scan.startup", "'scan.bounded.mode' = 'latest-offset', 'scan.startup")
            yield name, columns, bounded, topic

    def send(self, count: int) -> None:
        super().send(count)
        self.events.latest = {name: {0: math.inf} for name in self.topics}


@pytest.fixture
def work(broker: Broker, new_topic: Callable[..., str], tmp_path: Path) -> Iterator[Callable[..., Windows]]:
    """Return a function that makes a job of queries; what still runs in the end is ended."""
    made: list[Windows] = []

    def make(names: tuple[str, ...], job: type[Windows] = Windows) -> Windows:
        made.append(job(tmp_path, broker.bootstrap, names, new_topic, 2))
        return made[-1]

    yield make
    for one in made:
        one.end(signal.SIGKILL)


def test_windows_come_out_while_a_batch_lasts(work: Callable[..., Windows]) -> None:
    job = work(KINDS["windows"])
    job.send(200)
    job.start(REALTIME)
    job.await_tables(400)
    for _ in range(2):
        job.send(60)
        job.await_tables()


def test_state_that_is_written_before_its_batch_ends(work: Callable[..., Windows]) -> None:
    """Windows are the same where little may be held: most are written, and read again when they are over."""
    job = work(("hops", "hot", "visits"), Ending)
    job.send(500)
    job.start(f"{EVERY} SET 'execution.runtime-mode' = 'streaming';")
    assert job.process is not None
    assert job.process.wait(120) == 0, job.log
    assert job.wrong() == {}
    assert list(job.root.glob("state/**/commits/0"))  # no batch job, which holds no state


@pytest.mark.timeout(1500)
@pytest.mark.parametrize("kinds", [*map(nightly, KINDS)])
def test_killed_and_in_both_modes_in_turn(work: Callable[..., Windows], kinds: str) -> None:
    """What was read since the last batch's end is read again: its windows have the same rows."""
    in_turn(work(KINDS[kinds]), EVERY)
