"""Spark Connect: connect_cases.py and bridge_cases.py in a process of their own, on one server; and jobs by key.

PySpark has one kind of session in a process.
"""

from __future__ import annotations

import signal
from shutil import which
from typing import TYPE_CHECKING

import pytest

from tests.e2e.realtime_jobs import Work
from tests.e2e.support import passed_cases
from tests.support.connect import connect_server
from tests.support.nightly import nightly

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from flinkddl.runtime.broker.server import Broker

pytest.importorskip("grpc", reason="pyspark[connect] is not installed")
BRIDGE = (
    "ddl_makes_temp_views", "a_batch_view_reads_anew", "do_not_depend", "with_tombstones", "stop_takes_ours",
)  # fmt: skip
"""One of each kind; the nightly run takes all."""


OWN = 12 + (which("javac") is not None)
"""How many cases connect_cases.py has; one needs a JDK."""


@pytest.mark.kafka
@pytest.mark.parametrize("bridge", [BRIDGE, nightly(())])
def test_jobs_over_spark_connect(broker, bridge):
    cases = ["tests/e2e/connect_cases.py", "tests/e2e/bridge_cases.py"]
    chosen = ("connect_cases", *bridge) if bridge else ()
    passed = passed_cases(broker, "remote", cases, chosen)
    assert passed == OWN + len(bridge) if bridge else passed > OWN + len(BRIDGE)


REALTIME = "SET 'flinkddl.execution.mode' = 'realtime'; SET 'execution.checkpointing.interval' = '5 s';"
KEYED = "SET 'flinkddl.execution.state' = '{}';"
SETS = (
    "latest", "sum", "distinct", "max", "inner", "leftif", "semi", "anti", "top", "over", "counts", "chain", "pairs",
)  # fmt: skip
KINDS = {
    # OVER, a condition in the join, a chain, a table of changes read once; INSERTs that are one query
    "micro-batches": (("over", "leftif", "chain", "pairs"), "", True),
    "all kinds": (SETS, KEYED.format("keyed"), True),
    "whole chains": (SETS, KEYED.format("chain"), False),
    "real time": (("leftif", "chain"), REALTIME, False),
    "real time, all kinds": (SETS, REALTIME, False),
}
"""Queries, settings, and whether some of them are one query."""


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("kind", KINDS)
def test_state_by_key_over_spark_connect(
    broker: Broker, new_topic: Callable[..., str], tmp_path: Path, kind: str
) -> None:
    """The tables are those of a local session (tests/e2e/realtime_jobs.py), also after a restart on the checkpoint."""
    names, sets, together = KINDS[kind]
    with connect_server("1500m", 200) as address:
        job = Work(tmp_path, broker.bootstrap, names, new_topic, 2, ("--remote", address))
        try:
            for _ in range(2):
                job.feed.send(300)
                job.start(sets)
                job.await_tables(500)
                job.feed.send(200)
                job.await_tables()
                if "realtime" in sets:  # changes that are read again may cancel each other: a batch is to end first
                    job.await_batch()
                job.end()
            assert together == any("read-once" in p.name for p in (tmp_path / "state").glob("*/*/*"))
        finally:
            job.end(signal.SIGKILL)
