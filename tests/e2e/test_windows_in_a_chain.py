"""Windows in a chain over real Kafka: in real time and in micro-batches, killed and gone on with."""

from __future__ import annotations

import json
import random
import signal
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e import support
from tests.e2e.realtime_jobs import APPEND, UPSERT, Work

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from flinkddl.runtime.broker.server import Broker

pytestmark = pytest.mark.kafka

REALTIME = "SET 'flinkddl.execution.mode' = 'realtime';"
CHAIN = "SET 'flinkddl.execution.state' = 'chain';"
EVERY = "SET 'execution.checkpointing.interval' = '10 s';"
BEGIN = 1_709_287_200  # 2024-03-01 10:00
SIZE = 10
GAP = 4
COUNTS = f"""(SELECT k, window_start, window_end, COUNT(*) AS n
FROM TABLE(TUMBLE(TABLE w, DESCRIPTOR(ts), INTERVAL '{SIZE}' SECOND)) GROUP BY k, window_start, window_end)"""
MOST = f"(SELECT window_start, window_end, MAX(n) AS m FROM {COUNTS} GROUP BY window_start, window_end)"
BEST = f"""(SELECT k, window_start, n, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY n DESC, k) AS r
FROM {COUNTS})"""
BY_KEY = "k INT, s TIMESTAMP(3), n BIGINT, PRIMARY KEY (k, s) NOT ENFORCED"
TABLES = {
    "counts": (BY_KEY, f"SELECT k, window_start, n FROM {COUNTS}"),
    "most": ("s TIMESTAMP(3), n BIGINT, PRIMARY KEY (s) NOT ENFORCED", f"SELECT window_start, m FROM {MOST}"),
    "hot": (
        BY_KEY,
        f"SELECT c.k, c.window_start, c.n FROM {COUNTS} AS c JOIN {MOST} AS x "
        "ON c.window_start = x.window_start AND c.window_end = x.window_end AND c.n >= x.m",
    ),
    "best": (BY_KEY, f"SELECT k, window_start, n FROM {BEST} WHERE r <= 2"),
    "visits": (
        BY_KEY,
        "SELECT k, window_start, COUNT(*) FROM TABLE(SESSION(TABLE w PARTITION BY k, DESCRIPTOR(ts), "
        f"INTERVAL '{GAP}' SECOND)) GROUP BY k, window_start, window_end",
    ),
}
"""Sinks: their columns, and the query into each."""


@dataclass
class Windows(Work):
    """A job of windows over a topic whose partitions are each in order of time, and what must come out of it."""

    now: float = BEGIN
    latest: dict[int, float] = field(default_factory=dict)
    rows: list[tuple[int, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.source = self.new_topic("w", self.partitions)
        self.sinks = {name: self.new_topic(f"out-{name}") for name in TABLES}
        self.runs = 0

    def script(self, sets: str) -> str:
        tables = {"w": ("k INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND", APPEND, self.source)}
        tables |= {f"out_{name}": (TABLES[name][0], UPSERT, topic) for name, topic in self.sinks.items()}
        made = [
            f"CREATE TABLE {name} ({columns}) WITH {options.format(topic=topic, servers=self.servers)};"
            for name, (columns, options, topic) in tables.items()
        ]
        inserts = [f"INSERT INTO out_{name} {query};" for name, (_, query) in TABLES.items()]
        named = "SET 'pipeline.name' = 'windows'; SET 'parallelism.default' = '2';"
        return "\n".join([sets, named, *made, "EXECUTE STATEMENT SET BEGIN", *inserts, "END;"])

    def send(self, count: int) -> None:
        """Let event time go on by some windows."""
        from kafka import KafkaProducer

        rng = random.Random(len(self.rows))
        producer = KafkaProducer(bootstrap_servers=self.servers, linger_ms=5)
        for n in range(count):
            self.now = round(self.now + rng.randrange(20) / 10, 1)  # so often event time is told for sessions
            k = rng.randrange(5)
            partition = n if n < self.partitions else rng.randrange(self.partitions)
            at = datetime.fromtimestamp(self.now, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
            exact = datetime.fromisoformat(f"{at}+00:00").timestamp()
            self.rows.append((k, exact))
            self.latest[partition] = exact
            producer.send(self.source, json.dumps({"k": k, "ts": at}).encode(), partition=partition)
        producer.flush()
        producer.close()

    @property
    def wanted(self) -> dict[str, dict[Any, int]]:
        """The windows that are over, of each sink by its key."""
        mark = min(self.latest.values()) - 1
        counts = Counter((k, int(t) // SIZE * SIZE) for k, t in self.rows)
        done = {key: n for key, n in counts.items() if key[1] + SIZE - 0.001 <= mark + 1e-6}
        most: dict[Any, int] = {}
        for (_, start), n in done.items():
            most[start] = max(most.get(start, 0), n)
        hot = {key: n for key, n in done.items() if n == most[key[1]]}
        first = {s: sorted((-n, k) for (k, start), n in done.items() if start == s)[:2] for s in most}
        best = {(k, s): -n for s, rows in first.items() for n, k in rows}
        return {"counts": done, "most": most, "hot": hot, "best": best, "visits": self.visits(mark)}

    def visits(self, mark: float) -> dict[Any, int]:
        """The sessions that are over, by their key and the second in which they begin."""
        out: dict[Any, int] = {}
        for k in range(5):
            spans: list[list[float]] = []
            for t in sorted(t for key, t in self.rows if key == k):
                if spans and t <= spans[-1][-1] + GAP:
                    spans[-1].append(t)
                else:
                    spans.append([t])
            out |= {(k, int(s[0])): len(s) for s in spans if s[-1] + GAP - 0.001 <= mark + 1e-6}
        return out

    def found(self, name: str) -> dict[Any, int]:
        out: dict[Any, int] = {}
        for k, v in support.upserted(support.read_topic(self.servers, self.sinks[name])).items():
            key = json.loads(k)
            start = int(datetime.fromisoformat(f"{key['s']}+00:00").timestamp())
            out[(key["k"], start) if "k" in key else start] = json.loads(v)["n"]
        return out

    def await_tables(self, seconds: float = 120) -> None:
        assert self.process is not None
        end, wanted = time.monotonic() + seconds, self.wanted
        assert all(wanted.values())
        while {name: self.found(name) for name in TABLES} != wanted:
            assert self.process.poll() is None, self.log
            assert time.monotonic() < end, ({name: self.found(name) for name in TABLES}, wanted, self.log)
            time.sleep(0.5)


@pytest.fixture
def work(broker: Broker, new_topic: Callable[..., str], tmp_path: Path) -> Iterator[Windows]:
    made = Windows(tmp_path, broker.bootstrap, (), new_topic, 2)
    yield made
    made.end(signal.SIGKILL)


def test_windows_come_out_while_a_batch_lasts(work: Windows) -> None:
    work.send(100)
    work.start(REALTIME)
    work.await_tables(400)
    for _ in range(2):
        work.send(30)
        work.await_tables()


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_both_modes_in_turn_and_killed(work: Windows) -> None:
    """What was read since the last batch's end is read again: its windows have the same rows."""
    for n, sets in enumerate((CHAIN, REALTIME, CHAIN, REALTIME)):
        work.send(60)
        work.start(EVERY + sets)
        work.await_tables(600)
        work.send(40)
        work.await_tables(200)
        work.end(signal.SIGKILL if n % 2 else signal.SIGTERM)
