"""A temporal join in a chain over real Kafka: in real time and in micro-batches, killed and gone on with."""

from __future__ import annotations

import json
import random
import signal
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.realtime_jobs import APPEND, UPSERT, Work

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from flinkddl.runtime.broker.server import Broker

pytestmark = pytest.mark.kafka

REALTIME = "SET 'flinkddl.execution.mode' = 'realtime';"
CHAIN = "SET 'flinkddl.execution.state' = 'chain';"
EVERY = "SET 'execution.checkpointing.interval' = '10 s';"
BEGIN = 1_709_287_200.0  # 2024-03-01 10:00
TIMED = "ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND"
INTO = "k INT, v INT, PRIMARY KEY (k) NOT ENFORCED"
JOINS = {
    "left": "SELECT o.id, COALESCE(r.v, -1) FROM o LEFT JOIN r FOR SYSTEM_TIME AS OF o.ts ON o.k = r.k",
    "sums": "SELECT o.k, SUM(r.v) FROM o JOIN r FOR SYSTEM_TIME AS OF o.ts ON o.k = r.k AND r.v > 10 GROUP BY o.k",
}


@dataclass
class Priced(Work):
    """Orders and rates, both in order of time in each of their partitions, and what must come out of them."""

    now: float = BEGIN
    latest: dict[tuple[str, int], float] = field(default_factory=dict)
    orders: list[tuple[int, int, float]] = field(default_factory=list)
    rates: list[tuple[int, int, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.topics = {name: self.new_topic(name, self.partitions) for name in "or"}
        self.sinks = {name: self.new_topic(f"out-{name}") for name in JOINS}
        self.runs = 0

    def script(self, sets: str) -> str:
        tables = {"o": (f"id INT, k INT, {TIMED}", APPEND, self.topics["o"])}
        tables["r"] = (f"k INT, v INT, {TIMED}, PRIMARY KEY (k) NOT ENFORCED", UPSERT, self.topics["r"])
        tables |= {f"out_{name}": (INTO, UPSERT, topic) for name, topic in self.sinks.items()}
        made = [
            f"CREATE TABLE {name} ({columns}) WITH {options.format(topic=topic, servers=self.servers)};"
            for name, (columns, options, topic) in tables.items()
        ]
        inserts = [f"INSERT INTO out_{name} {query};" for name, query in JOINS.items()]
        named = "SET 'pipeline.name' = 'priced'; SET 'parallelism.default' = '2';"
        return "\n".join([sets, named, *made, "EXECUTE STATEMENT SET BEGIN", *inserts, "END;"])

    def send(self, count: int) -> None:
        """Let event time go on, past an order or a rate each step."""
        from kafka import KafkaProducer

        rng = random.Random(len(self.orders) + len(self.rates))
        producer = KafkaProducer(bootstrap_servers=self.servers, linger_ms=5)
        first = [(topic, partition) for topic in "or" for partition in range(self.partitions)]
        for n in range(count):
            self.now = round(self.now + rng.randrange(1, 10) / 10, 1)
            topic, partition = first[n] if n < len(first) else (rng.choice("or"), rng.randrange(self.partitions))
            at = datetime.fromtimestamp(self.now, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
            # a key's rates are in one partition
            k = rng.randrange(6) if topic == "o" else rng.randrange(3) * self.partitions + partition
            self.latest[topic, partition] = self.now
            row: dict[str, Any] = {"k": k, "ts": at}
            if topic == "o":
                self.orders.append((len(self.orders), k, self.now))
                row["id"] = len(self.orders) - 1
            else:
                self.rates.append((k, rng.randrange(100), self.now))
                row["v"] = self.rates[-1][1]
            key = None if topic == "o" else json.dumps({"k": k}).encode()
            producer.send(self.topics[topic], json.dumps(row).encode(), key=key, partition=partition)
        producer.flush()
        producer.close()

    @property
    def wanted(self) -> dict[str, dict[int, int]]:
        """What the orders whose time has come give."""
        mark = min(self.latest.values()) - 1
        left, sums = {}, dict[int, int]()
        for id, k, t in self.orders:
            if t > mark + 1e-6:
                continue
            older = [(u, v) for rk, v, u in self.rates if rk == k and u <= t + 1e-6]
            left[id] = v = max(older)[1] if older else -1
            if v > 10:
                sums[k] = sums.get(k, 0) + v
        return {"left": left, "sums": sums}

    def await_tables(self, seconds: float = 120) -> None:
        assert self.process is not None
        end, wanted = time.monotonic() + seconds, self.wanted
        assert all(wanted.values())
        while (found := {name: self.table(name) for name in JOINS}) != wanted:
            assert self.process.poll() is None, self.log
            assert time.monotonic() < end, (found, wanted, self.log)
            time.sleep(0.5)


@pytest.fixture
def work(broker: Broker, new_topic: Callable[..., str], tmp_path: Path) -> Iterator[Priced]:
    made = Priced(tmp_path, broker.bootstrap, (), new_topic, 2)
    yield made
    made.end(signal.SIGKILL)


@pytest.mark.timeout(900)
def test_orders_come_out_while_a_batch_lasts(work: Priced) -> None:
    work.send(100)
    work.start(REALTIME)
    work.await_tables(400)
    for _ in range(2):
        work.send(30)
        work.await_tables()


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_both_modes_in_turn_and_killed(work: Priced) -> None:
    """What was read since the last batch's end is read again, and gives the same."""
    for n, sets in enumerate((CHAIN, REALTIME, CHAIN, REALTIME)):
        work.send(60)
        work.start(EVERY + sets)
        work.await_tables(600)
        work.send(40)
        work.await_tables(200)
        work.end(signal.SIGKILL if n % 2 else signal.SIGTERM)
