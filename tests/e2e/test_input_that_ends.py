"""Windows of a chain over input that ends, which is told with all its rows: killed, failed, limited, drained.

Whatever a run was ended by, the next one leaves the tables of what the topics held when the first batch was planned.
"""

from __future__ import annotations

import shutil
import signal
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.api import Catalog
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.job.supervising import supervisor
from flinkddl.runtime.job.supervising.supervisor import Supervisor
from flinkddl.runtime.job.topics.sources import Sources
from tests.e2e.window_jobs import Events, Windows
from tests.support.nightly import nightly

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from flinkddl.api import Job
    from flinkddl.runtime.broker.server import Broker

pytestmark = [pytest.mark.kafka, pytest.mark.spark]
NAMES = ("hops", "hot", "begun")
"""A query each: slices, a join of windows, and sessions of another topic."""
STREAMING = "SET 'execution.runtime-mode' = 'streaming'; SET 'flinkddl.execution.state' = 'chain';"
FLAKY = "CREATE TEMPORARY FUNCTION flaky AS 'tests.support.flaky.flaky' LANGUAGE PYTHON;"
BATCHES = "SET 'flinkddl.execution.max-offsets-per-trigger' = '25';"
WAITS = "SET 'restart-strategy.type' = 'fixed-delay'; SET 'restart-strategy.fixed-delay.delay' = '10 min';"


class All(Events):
    """What must be there once the input has ended: every window is over."""

    def mark(self, *_: str) -> float:
        """Return a time behind all windows."""
        return float("inf")


@dataclass
class Ending(Windows):
    """The job, whose topics end where they end when it starts."""

    events: Events = field(default_factory=All)
    flaky: str = ""
    told: list[str] = field(default_factory=list)

    def tables(self) -> Iterable[tuple[str, str, str, str]]:
        """Yield tables: those that are read end."""
        ends = ", 'scan.bounded.mode' = 'latest-offset')"
        for name, columns, options, topic in super().tables():
            yield name, columns, options.removesuffix(")") + ends if name in self.topics else options, topic

    def queries(self) -> Iterable[tuple[str, str]]:
        """Yield the queries, of which one fails as long as a file is there."""
        for name, query in super().queries():
            text = f"FIRST_VALUE(flaky(n, '{self.flaky}'))"
            yield name, query.replace("FIRST_VALUE(n)", text) if self.flaky else query

    def starts(self, spark: SparkSession, sets: str = "", **run: Any) -> Job:
        """Start it in this process."""
        text = self.script(f"{STREAMING}{FLAKY if self.flaky else ''}{sets}")
        catalog = Catalog(spark, views=False, allow_python=["tests"])
        run = {"checkpoint": str(self.root / "state"), "notice": self.told.append, **run}
        job = catalog.execute_all(text, run=run)[-1].job
        assert job is not None
        return job

    def ends(self, spark: SparkSession, sets: str = "", **run: Any) -> None:
        """Start it, and see that it comes to its end with the tables that must be there, and not further."""
        job = self.starts(spark, sets, **run)
        assert job.await_termination(120)
        assert job.status == "finished"
        assert self.wrong() == {}
        with pytest.raises(FlinkDdlError, match="FD821"):
            self.starts(spark, sets, **run)

    def more(self) -> None:
        """Send what lies behind the stops, and is not counted; where no batch was planned, there are none yet."""
        rows = {name: list(found) for name, found in self.events.rows.items()}
        self.send(20)
        if self.files("*/offsets/0"):
            self.events.rows = rows

    def files(self, pattern: str) -> list[Path]:
        """Return what there is below the checkpoint."""
        return sorted((self.root / "state").glob(f"*/*/{pattern}"))

    def kill_at(self, pattern: str, count: int = 1) -> None:
        """Start a process, and kill it once there are such files."""
        self.start(STREAMING)
        assert self.process is not None
        end = time.monotonic() + 60
        while len(self.files(pattern)) < count:
            assert self.process.poll() is None, self.log
            assert time.monotonic() < end, self.log
            time.sleep(0.005)
        self.end(signal.SIGKILL)


@pytest.fixture
def job(broker: Broker, new_topic: Callable[..., str], tmp_path: Path) -> Iterator[Ending]:
    made = Ending(tmp_path, broker.bootstrap, NAMES, new_topic, 2, ("--master", "local[2]"))
    made.send(120)
    yield made
    made.end(signal.SIGKILL)


@pytest.mark.parametrize(
    ("there", "count"),
    [
        ("control/*/all.json", 1),
        nightly("*/offsets/0", 1),
        nightly("*/commits/0", 1),
        nightly("*/commits/0", len(NAMES)),
    ],
)
def test_killed_before_the_batch_in_it_and_behind_it(job: Ending, spark: SparkSession, there: str, count: int) -> None:
    job.kill_at(there, count)
    job.more()
    job.ends(spark)


@pytest.mark.parametrize("planned", [nightly(True), False])
def test_one_query_is_through_and_another_is_not(job: Ending, spark: SparkSession, planned: bool) -> None:
    """The other one fails in its batch, or has not planned it."""
    down = job.root / "down"
    down.touch()
    job.flaky = str(down)
    first = job.starts(spark, WAITS)
    end = time.monotonic() + 60
    while not first.waiting or len(job.files("*/commits/0")) < len(NAMES) - 1:
        assert time.monotonic() < end, job.told
        time.sleep(0.1)
    first.stop()
    through = {p.parents[1] for p in job.files("*/commits/0")}
    (other,) = {p.parents[1] for p in job.files("*/offsets/0")} - through
    if not planned:
        shutil.rmtree(other)
        with pytest.raises(FlinkDdlError, match=r"FD820.*max-offsets-per-trigger"):
            job.starts(spark, BATCHES)
    down.unlink()
    job.more()
    job.ends(spark)


@pytest.mark.parametrize("how", [nightly("sql"), "run"])
def test_a_limit_makes_many_batches_and_the_end_comes_after_them(job: Ending, spark: SparkSession, how: str) -> None:
    if how == "sql":
        job.ends(spark, BATCHES)
    else:
        job.ends(spark, max_offsets_per_trigger=25)
    assert job.files("control/*/all.json") == []
    assert len(job.files("*/commits/[1-9]")) > len(NAMES)


def test_begun_without_the_end_in_its_first_batch(
    job: Ending, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the version before did, which was killed before the end."""

    def killed(*_: Any, **__: Any) -> None:
        raise RuntimeError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(Sources, "end_with_all", lambda _: False)
        patch.setattr(Supervisor, "_end_input", killed)
        with pytest.raises(FlinkDdlError, match="killed"):
            job.starts(spark).await_termination(120)
    job.more()
    job.ends(spark)
    assert job.files("control/*/all.json") == []


@pytest.mark.parametrize("late", [nightly(False), True])
def test_drained_before_its_batch_is_over(
    job: Ending, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    """Its batch has not begun, or is cut off as one that lasts for too long."""
    monkeypatch.setattr(supervisor, "end_between_batches", lambda *_: None)
    running = job.starts(spark)
    end = time.monotonic() + 60
    while late and not job.files("*/offsets/0"):
        assert time.monotonic() < end
        time.sleep(0.005)
    running.stop(drain=True)
    assert running.status == "stopped"
    assert job.wrong() == {}
    with pytest.raises(FlinkDdlError, match="FD821"):
        job.starts(spark)


def test_topics_without_a_record(broker: Broker, new_topic: Callable[..., str], tmp_path: Path, spark: Any) -> None:
    """One of two, and then both."""
    for full in (True, False):
        (tmp_path / str(full)).mkdir()
        made = Ending(tmp_path / str(full), broker.bootstrap, ("hops", "begun"), new_topic)
        if full:
            made.send(60)
            made.topics["u"] = new_topic("none")
        assert made.starts(spark).await_termination(120)
        assert [made.table(name) for name in ("hops", "begun")] == [made.events.hops(), {}]
        assert bool(made.table("hops")) == full
        with pytest.raises(FlinkDdlError, match="FD821"):
            made.starts(spark)
