"""Rows in and out of each node by edge, and what each keeps, while a job runs: in micro-batches and in real time."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

import pytest

from tests.e2e import support
from tests.support.nightly import nightly
from tests.support.spark import SHORT_LIVED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from flinkddl.runtime.broker.server import Broker

pytestmark = pytest.mark.kafka
KAFKA = "'properties.bootstrap.servers' = '{servers}'"
SCRIPT = (
    """
SET 'pipeline.name' = 'figures';
SET 'parallelism.default' = '2';
CREATE TABLE o (id INT, k STRING) WITH ('connector' = 'kafka', 'topic' = '{o}', 'format' = 'json', KAFKA,
  'scan.startup.mode' = 'earliest-offset');
CREATE TABLE c (k STRING, n INT) WITH ('connector' = 'kafka', 'topic' = '{c}', 'format' = 'json', KAFKA,
  'scan.startup.mode' = 'earliest-offset');
CREATE TABLE s (k STRING, n BIGINT, m BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'upsert-kafka',
  'topic' = '{s}', 'key.format' = 'json', 'value.format' = 'json', KAFKA);
INSERT INTO s SELECT x.k, x.n, y.n FROM (SELECT k, COUNT(DISTINCT id) AS n FROM o GROUP BY k) AS x
  JOIN (SELECT k, SUM(n) AS n FROM c GROUP BY k) AS y ON x.k = y.k;
"""
).replace("KAFKA", KAFKA)
REALTIME = "SET 'flinkddl.execution.mode' = 'realtime'; SET 'execution.checkpointing.interval' = '5 s';"
CHAIN = "SET 'flinkddl.execution.state' = 'chain';"
ROWS, KEYS = 100, 10
Figures = dict[tuple[str, ...], float]


class World:
    """The job in a process of its own, and what it tells."""

    def __init__(self, folder: Path, broker: Broker, new_topic: Callable[..., str]) -> None:
        self.folder, self.servers = folder, broker.bootstrap
        self.topics = {name: new_topic(name, 2) for name in ("o", "c", "s")}
        self.environment = os.environ | {"FLINKDDL_JOBS": str(folder / "jobs")}
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, sets: str) -> None:
        path = self.folder / "figures.sql"
        path.write_text(sets + SCRIPT.format(servers=self.servers, **self.topics))
        command = [sys.executable, "-m", "flinkddl", "run", str(path), "--checkpoint", str(self.folder / "state")]
        command += ["--master", "local[16]", "--metrics-port", "0"]
        idle = {"spark.sql.streaming.noDataProgressEventInterval": "500"}  # Spark reports between batches too
        for key, value in (SHORT_LIVED | idle | {"spark.driver.memory": "700m"}).items():
            command += ["--conf", f"{key}={value}"]
        with (self.folder / "log").open("wb") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, env=self.environment, start_new_session=True
            )

    def send(self, topic: str, rows: list[dict[str, Any]]) -> None:
        support.send(self.servers, self.topics[topic], rows, 2)

    def metrics(self) -> Figures:
        """Return the figures of nodes by name, node, and the node that rows come from."""
        found = re.search(r"figures at (http://[\d.:]+/metrics)", (self.folder / "log").read_text())
        if found is None:
            return {}
        with urlopen(found[1], timeout=30) as answer:
            text = answer.read().decode()
        out: Figures = {}
        for name, labels, value in re.findall(r"^flinkddl_node_(\w+)\{(.*)\} (\S+)$", text, re.MULTILINE):
            told = dict(re.findall(r'(\w+)="([^"]*)"', labels))
            assert (told["job"], told["sink"]) == ("figures", "s")
            out[name, told["name"], *filter(None, [told["node"], told.get("from")])] = float(value)
        return out

    def await_figures(self, wanted: Figures, seconds: float = 180) -> None:
        assert self.process is not None
        end = time.monotonic() + seconds
        while wanted.items() - (found := self.metrics()).items():
            log = (self.folder / "log").read_text()[-3000:]
            assert self.process.poll() is None, log
            assert time.monotonic() < end, (found, log)
            time.sleep(0.3)

    def await_plan(self, *words: str) -> None:
        """Wait until the plan says all of this: a job notes its figures for others a little later than it has them."""
        end = time.monotonic() + 30
        while not all(w in self.plan() for w in words):
            assert time.monotonic() < end, self.plan()
            time.sleep(0.5)

    def plan(self) -> str:
        argv = [sys.executable, "-m", "flinkddl", "jobs", "status", "figures", "--plan"]
        return subprocess.run(argv, env=self.environment, capture_output=True, text=True, timeout=60, check=True).stdout

    def end(self, number: int = signal.SIGTERM) -> None:
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, number)
            self.process.wait(120)


@pytest.fixture
def world(tmp_path: Path, broker: Broker, new_topic: Callable[..., str]) -> Iterator[World]:
    world = World(tmp_path, broker, new_topic)
    yield world
    world.end(signal.SIGKILL)


def orders(first: int, count: int, keys: int) -> list[dict[str, Any]]:
    return [{"id": i, "k": f"k{i % keys}"} for i in range(first, first + count)]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("sets", "updates"), [nightly(CHAIN, 0), (REALTIME, 2 * (ROWS - KEYS))], ids=["micro-batch", "real time"]
)
def test_rows_and_state_by_node(world: World, sets: str, updates: int) -> None:
    """A micro-batch gives a group's change once, real time each: an update is two rows, the old one and the new one."""
    world.send("o", orders(0, ROWS, KEYS))
    world.start(sets)
    counts, joined = ("Aggregate", "n3"), ("Join", "n8")
    world.await_figures(
        {
            ("rows_in_total", *counts, "n2"): ROWS,
            ("rows_out_total", *counts): KEYS + updates,
            ("rows_in_total", *joined, "n4"): KEYS + updates,
            ("rows_in_total", *joined, "n7"): 0,
            ("rows_out_total", *joined): 0,
            ("state_groups", *counts): KEYS,
            ("state_groups", *joined): KEYS,
        }
    )
    world.send("c", [{"k": f"k{i}", "n": i} for i in range(KEYS // 2)])
    sums = ("Aggregate", "n6")
    world.await_figures(
        {
            ("rows_in_total", *sums, "n5"): KEYS // 2,
            ("rows_out_total", *sums): KEYS // 2,
            ("rows_in_total", *joined, "n7"): KEYS // 2,
            ("rows_out_total", *joined): KEYS // 2,
            ("state_groups", *sums): KEYS // 2,
            ("state_groups", *joined): KEYS,
        }
    )
    found = world.metrics()
    assert found["state_bytes", *counts] > found["state_bytes", *sums] > 0
    world.await_plan(
        f"[{ROWS} rows in · {KEYS + updates} rows out · state {KEYS} rows, ",
        f"[{KEYS + updates} rows in from n4, {KEYS // 2} rows in from n7 · {KEYS // 2} rows out · state",
    )
    # the next run begins to count rows anew, and goes on with what the nodes keep
    world.end()
    world.start(sets)
    world.send("o", [{"id": ROWS, "k": "new"}])
    world.await_figures(
        {
            ("rows_in_total", *counts, "n2"): 1,
            ("rows_out_total", *joined): 0,
            ("state_groups", *counts): KEYS + 1,
            ("state_groups", *sums): KEYS // 2,
            ("state_groups", *joined): KEYS + 1,
        }
    )
