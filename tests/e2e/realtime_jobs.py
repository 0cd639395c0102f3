"""Every updating kind from Kafka to Kafka in either mode: queries, their inputs, the tables that must come out.

A job runs as ``flinkddl run`` in a process of its own: real-time mode wants more task slots than the tests' session
has, and a process can be killed.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.e2e import support

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

KAFKA = "'topic' = '{topic}', 'properties.bootstrap.servers' = '{servers}'"
UPSERT = f"('connector' = 'upsert-kafka', {KAFKA}, 'key.format' = 'json', 'value.format' = 'json')"
APPEND = f"('connector' = 'kafka', {KAFKA}, 'format' = 'json', 'scan.startup.mode' = 'earliest-offset')"
SOURCES = {
    "a": ("id INT, g INT, v INT, PRIMARY KEY (id) NOT ENFORCED", UPSERT),
    "b": ("id INT, w INT, PRIMARY KEY (id) NOT ENFORCED", UPSERT),
    "c": ("g INT, x INT", APPEND),
}
LOCAL = ("--master", "local[120]", "--conf", "spark.ui.enabled=false")
Row = dict[str, Any]
Tables = dict[str, list[Row]]
"""The rows of each source table as they are in the end."""


def _grouped(rows: Sequence[Row], key: str) -> dict[Any, list[Row]]:
    out: dict[Any, list[Row]] = {}
    for row in rows:
        out.setdefault(row[key], []).append(row)
    return out


def _top(t: Tables) -> dict[Any, Any]:
    best = (sorted(rows, key=lambda r: (-r["v"], r["id"]))[:2] for rows in _grouped(t["a"], "g").values())
    return {r["id"]: r["v"] for rows in best for r in rows}


def _counts(t: Tables) -> dict[Any, Any]:
    return dict(Counter(len(rows) for rows in _grouped(t["a"], "g").values()))


def _most(t: Tables) -> dict[Any, Any]:
    n = {g: len(rows) for g, rows in _grouped(t["a"], "g").items()}
    return {g: max(n[o] for o in n if o % 2 == g % 2) - count for g, count in n.items()}


def _pairs(t: Tables) -> dict[Any, Any]:
    v = {r["id"]: r["v"] for r in t["a"]}
    return {r["id"]: v[r["g"]] for r in t["a"] if r["g"] in v and v[r["g"]] > 9}


def _left(t: Tables) -> dict[Any, Any]:
    w = {r["id"]: r["w"] for r in t["b"]}
    return {r["id"]: w[r["g"]] if w.get(r["g"], r["v"]) < r["v"] else -1 for r in t["a"]}


QUERIES: dict[str, tuple[str, Callable[[Tables], dict[Any, Any]]]] = {
    "latest": ("SELECT id, v FROM a WHERE v > 20", lambda t: {r["id"]: r["v"] for r in t["a"] if r["v"] > 20}),
    "last": ("SELECT g, v FROM a", lambda t: {r["g"]: r["v"] for r in t["a"]}),
    "sum": (
        "SELECT g, SUM(v) FROM a GROUP BY g",
        lambda t: {g: sum(r["v"] for r in rs) for g, rs in _grouped(t["a"], "g").items()},
    ),
    "distinct": (
        "SELECT g, CAST(COUNT(DISTINCT x) AS INT) FROM c GROUP BY g",
        lambda t: {g: len({r["x"] for r in rs}) for g, rs in _grouped(t["c"], "g").items()},
    ),
    "max": (
        "SELECT g, MAX(v) FROM a GROUP BY g",
        lambda t: {g: max(r["v"] for r in rs) for g, rs in _grouped(t["a"], "g").items()},
    ),
    "inner": (
        "SELECT a.id, b.w FROM a JOIN b ON a.g = b.id",
        lambda t: {
            r["id"]: w
            for w_ in [{r["id"]: r["w"] for r in t["b"]}]
            for r in t["a"]
            if (w := w_.get(r["g"])) is not None
        },
    ),
    "left": ("SELECT a.id, COALESCE(b.w, -1) FROM a LEFT JOIN b ON a.g = b.id AND b.w < a.v", _left),
    "semi": (
        "SELECT id, v FROM a WHERE g IN (SELECT id FROM b)",
        lambda t: {r["id"]: r["v"] for r in t["a"] if r["g"] in {o["id"] for o in t["b"]}},
    ),
    "anti": (
        "SELECT id, v FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.id = a.g)",
        lambda t: {r["id"]: r["v"] for r in t["a"] if r["g"] not in {o["id"] for o in t["b"]}},
    ),
    "top": (
        "SELECT id, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY g ORDER BY v DESC, id) AS n FROM a) WHERE n <= 2",
        _top,
    ),
    "over": (
        "SELECT g * 1000 + CAST(n AS INT), g FROM (SELECT g, COUNT(*) OVER (PARTITION BY g ORDER BY p) AS n "
        "FROM (SELECT *, PROCTIME() AS p FROM c))",
        lambda t: {g * 1000 + n: g for g, rs in _grouped(t["c"], "g").items() for n in range(1, len(rs) + 1)},
    ),
    "counts": (
        "SELECT CAST(n AS INT), CAST(COUNT(*) AS INT) FROM (SELECT g, COUNT(*) AS n FROM a GROUP BY g) GROUP BY n",
        _counts,
    ),
    "chain": (
        "WITH n AS (SELECT g, COUNT(*) AS n FROM a GROUP BY g) SELECT n.g, CAST(m.n - n.n AS INT) FROM n JOIN "
        "(SELECT MOD(g, 2) AS h, MAX(n) AS n FROM n GROUP BY MOD(g, 2)) AS m ON MOD(n.g, 2) = m.h",
        _most,
    ),
    "pairs": ("SELECT x.id, y.v FROM a AS x JOIN a AS y ON x.g = y.id WHERE y.v > 9", _pairs),
}
"""Queries into a table (k, v), and the table that they leave."""


@dataclass
class Feed:
    """Changes of the source tables, and what the tables are after them."""

    servers: str
    topics: dict[str, str]
    partitions: int
    seed: int = 1
    keyed: dict[str, dict[int, Row]] = field(default_factory=lambda: {"a": {}, "b": {}})
    rows: list[Row] = field(default_factory=list)

    def send(self, changes: int) -> None:
        """Change tables: a row in three is taken back or changes its group."""
        from kafka import KafkaProducer

        rng = random.Random(self.seed)
        self.seed += 1
        producer = KafkaProducer(bootstrap_servers=self.servers, linger_ms=5)
        for _ in range(changes):
            name = rng.choice("aaabc")
            row: Row = {"id": rng.randrange(30), "g": rng.randrange(8), "v": rng.randrange(100)}
            if name == "b":
                row = {"id": rng.randrange(8), "w": rng.randrange(100)}
            if name == "c":
                row = {"g": row["g"], "x": row["id"]}
                self.rows.append(row)
                producer.send(self.topics[name], json.dumps(row).encode(), partition=rng.randrange(self.partitions))
                continue
            gone = rng.random() < 0.25
            table = self.keyed[name]
            if gone or table.get(row["id"]) != row:  # in the order of their last change
                table.pop(row["id"], None)
            if not gone:
                table[row["id"]] = row
            value = None if gone else json.dumps(row).encode()
            key = json.dumps({"id": row["id"]}).encode()
            producer.send(self.topics[name], value, key=key, partition=row["id"] % self.partitions)
        producer.flush()
        producer.close()

    @property
    def tables(self) -> Tables:
        """The source tables now."""
        return {**{name: list(table.values()) for name, table in self.keyed.items()}, "c": self.rows}


@dataclass
class Work:
    """A job of some of the queries in a process: how it is started, watched and ended."""

    root: Path
    servers: str
    names: tuple[str, ...]
    new_topic: Callable[..., str]
    partitions: int = 1
    spark: tuple[str, ...] = LOCAL
    process: subprocess.Popen[bytes] | None = None

    def __post_init__(self) -> None:
        self.topics = {name: self.new_topic(name, self.partitions) for name in SOURCES}
        self.sinks = {name: self.new_topic(f"out-{name}") for name in self.names}
        self.feed = Feed(self.servers, self.topics, self.partitions)
        self.runs = 0

    def script(self, sets: str) -> str:
        """Return the job: an INSERT a query."""
        into = "k INT, v INT, PRIMARY KEY (k) NOT ENFORCED"
        tables = {name: (columns, options, self.topics[name]) for name, (columns, options) in SOURCES.items()}
        tables |= {f"out_{name}": (into, UPSERT, topic) for name, topic in self.sinks.items()}
        made = [
            f"CREATE TABLE {name} ({columns}) WITH {options.format(topic=topic, servers=self.servers)};"
            for name, (columns, options, topic) in tables.items()
        ]
        inserts = [f"INSERT INTO out_{name} {QUERIES[name][0]};" for name in self.names]
        named = f"SET 'pipeline.name' = 'kinds'; SET 'parallelism.default' = '{self.partitions}';"
        return "\n".join([sets, named, *made, "EXECUTE STATEMENT SET BEGIN", *inserts, "END;"])

    def start(self, sets: str = "SET 'flinkddl.execution.mode' = 'realtime';") -> None:
        """Run the job over its checkpoint, in a process group of its own."""
        path = self.root / "job.sql"
        path.write_text(self.script(sets))
        self.runs += 1
        conf = ["--checkpoint", str(self.root / "state"), *self.spark]
        command = [sys.executable, "-m", "flinkddl", "run", str(path), *conf]
        with (self.root / f"log-{self.runs}").open("wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)

    @property
    def log(self) -> str:
        """What the process at hand has said."""
        return (self.root / f"log-{self.runs}").read_text()[-3000:]

    def await_tables(self, seconds: float = 120) -> None:
        """Wait until each sink's topic holds the table that it must."""
        assert self.process is not None
        end = time.monotonic() + seconds
        wanted = {name: QUERIES[name][1](self.feed.tables) for name in self.names}
        there = 0
        while there < 2:  # and they stay so
            found = {name: self.table(name) for name in self.names}
            there = there + 1 if found == wanted else 0
            wrong = {name: (found[name], wanted[name]) for name in self.names if found[name] != wanted[name]}
            assert self.process.poll() is None, self.log
            assert there or time.monotonic() < end, (wrong, self.log)
            time.sleep(0.5)

    def table(self, name: str) -> dict[int, int]:
        """Return the table that a sink's topic holds."""
        rows = support.upserted(support.read_topic(self.servers, self.sinks[name]))
        return {json.loads(k)["k"]: json.loads(v)["v"] for k, v in rows.items()}

    def await_some(self, seconds: float = 60) -> None:
        """Wait until the first sink has more records than now: what was sent is half done."""
        topic = self.sinks[self.names[0]]
        before, end = len(support.read_topic(self.servers, topic)), time.monotonic() + seconds
        while len(support.read_topic(self.servers, topic)) == before:
            assert time.monotonic() < end, self.log

    def end(self, number: int = signal.SIGTERM) -> None:
        """End the process, and wait for it."""
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, number)
            self.process.wait(120)
