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
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.e2e import support

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from kafka import KafkaProducer

KAFKA = "'topic' = '{topic}', 'properties.bootstrap.servers' = '{servers}'"
UPSERT = f"('connector' = 'upsert-kafka', {KAFKA}, 'key.format' = 'json', 'value.format' = 'json')"
CDC = f"('connector' = 'kafka', {KAFKA}, 'format' = 'debezium-json', 'scan.startup.mode' = 'earliest-offset')"
APPEND = f"('connector' = 'kafka', {KAFKA}, 'format' = 'json', 'scan.startup.mode' = 'earliest-offset')"
SOURCES = {
    "a": ("id INT, g INT, v INT, PRIMARY KEY (id) NOT ENFORCED", UPSERT),
    "b": ("id INT, w INT, PRIMARY KEY (id) NOT ENFORCED", UPSERT),
    "c": ("g INT, x INT", APPEND),
    "d": ("id INT, g INT, v INT, PRIMARY KEY (id) NOT ENFORCED", CDC),
}
IDS, GROUPS = 30, 8
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
    return {r["id"]: w.get(r["g"], -1) for r in t["a"]}


def _inner(t: Tables) -> dict[Any, Any]:
    return {k: w for k, w in _left(t).items() if w >= 0}


def _meeting(t: Tables) -> dict[Any, Any]:
    """What a row of a has met in b under the condition of WHEN."""
    v = {r["id"]: r["v"] for r in t["a"]}
    return {k: w for k, w in _inner(t).items() if w < v[k]}


def _alone(t: Tables, met: dict[Any, Any]) -> dict[Any, Any]:
    """Rows of b that no row of a has met, with keys of their own."""
    groups = {r["g"] for r in t["a"] if r["id"] in met}
    return {100 + r["id"]: r["w"] for r in t["b"] if r["id"] not in groups}


def _values(t: Tables, met: bool, of: Callable[[Tables], dict[Any, Any]]) -> dict[Any, Any]:
    """Rows of a that have met one, or those that have not."""
    keys = of(t)
    return {r["id"]: r["v"] for r in t["a"] if (r["id"] in keys) == met}


def _arrived(at: int) -> Callable[[Tables], dict[Any, Any]]:
    return lambda t: {g: rows[at]["x"] for g, rows in _grouped(t["c"], "g").items()}


def _total(name: str) -> Callable[[Tables], dict[Any, Any]]:
    return lambda t: {g: sum(r["v"] for r in rows) for g, rows in _grouped(t[name], "g").items()}


WHEN = "a.g = b.id AND b.w < a.v"
OUTER = "SELECT COALESCE(a.id, 100 + b.id), COALESCE(b.w, -1) FROM a"
ARRIVED = """SELECT g, x FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY g ORDER BY p{}) AS n
FROM (SELECT *, PROCTIME() AS p FROM c)) WHERE n = 1"""
QUERIES: dict[str, tuple[str, Callable[[Tables], dict[Any, Any]]]] = {
    "latest": ("SELECT id, v FROM a WHERE v > 20", lambda t: {r["id"]: r["v"] for r in t["a"] if r["v"] > 20}),
    "last": ("SELECT g, v FROM a", lambda t: {r["g"]: r["v"] for r in t["a"]}),
    "first": (ARRIVED.format(""), _arrived(0)),
    "newest": (ARRIVED.format(" DESC"), _arrived(-1)),
    "sum": ("SELECT g, SUM(v) FROM a GROUP BY g", _total("a")),
    "cdc": ("SELECT g, SUM(v) FROM d GROUP BY g", _total("d")),
    "distinct": (
        "SELECT g, CAST(COUNT(DISTINCT x) AS INT) FROM c GROUP BY g",
        lambda t: {g: len({r["x"] for r in rs}) for g, rs in _grouped(t["c"], "g").items()},
    ),
    "max": (
        "SELECT g, MAX(v) FROM a GROUP BY g",
        lambda t: {g: max(r["v"] for r in rs) for g, rs in _grouped(t["a"], "g").items()},
    ),
    "inner": ("SELECT a.id, b.w FROM a JOIN b ON a.g = b.id", _inner),
    "left": ("SELECT a.id, COALESCE(b.w, -1) FROM a LEFT JOIN b ON a.g = b.id", _left),
    "right": (f"{OUTER} RIGHT JOIN b ON a.g = b.id", lambda t: _inner(t) | _alone(t, _inner(t))),
    "full": (f"{OUTER} FULL JOIN b ON a.g = b.id", lambda t: _left(t) | _alone(t, _inner(t))),
    "semi": ("SELECT id, v FROM a WHERE g IN (SELECT id FROM b)", lambda t: _values(t, True, _inner)),
    "anti": (
        "SELECT id, v FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.id = a.g)",
        lambda t: _values(t, False, _inner),
    ),
    "leftif": (
        f"SELECT a.id, COALESCE(b.w, -1) FROM a LEFT JOIN b ON {WHEN}",
        lambda t: dict.fromkeys(_left(t), -1) | _meeting(t),
    ),
    "rightif": (f"{OUTER} RIGHT JOIN b ON {WHEN}", lambda t: _meeting(t) | _alone(t, _meeting(t))),
    "fullif": (
        f"{OUTER} FULL JOIN b ON {WHEN}",
        lambda t: dict.fromkeys(_left(t), -1) | _meeting(t) | _alone(t, _meeting(t)),
    ),
    "semiif": (
        f"SELECT id, v FROM a WHERE EXISTS (SELECT 1 FROM b WHERE {WHEN})",
        lambda t: _values(t, True, _meeting),
    ),
    "antiif": (
        f"SELECT id, v FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE {WHEN})",
        lambda t: _values(t, False, _meeting),
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


IN_ORDER = ("last", "first", "newest")
"""Those that say which row came first or last: of rows of one group from several partitions there is none."""


@contextmanager
def producing(servers: str) -> Iterator[KafkaProducer]:
    """Lend a producer; in the end all that it was given is sent."""
    from kafka import KafkaProducer

    producer = KafkaProducer(bootstrap_servers=servers, linger_ms=5)
    yield producer
    producer.flush()
    producer.close()


@dataclass
class Feed:
    """Changes of the source tables, and what the tables are after them."""

    servers: str
    topics: dict[str, str]
    partitions: int
    seed: int = 1
    keyed: dict[str, dict[int, Row]] = field(default_factory=lambda: {"a": {}, "b": {}, "d": {}})
    rows: list[Row] = field(default_factory=list)

    def send(self, changes: int) -> None:
        """Change tables: a row in four is taken back, others change their group."""
        rng = random.Random(self.seed)
        self.seed += 1
        with producing(self.servers) as producer:
            for _ in range(changes):
                name = rng.choice("aaabcd")
                row: Row = {"id": rng.randrange(IDS), "g": rng.randrange(GROUPS), "v": rng.randrange(100)}
                if name == "b":
                    row = {"id": rng.randrange(GROUPS), "w": rng.randrange(100)}
                if name == "c":
                    row = {"g": row["g"], "x": row["id"]}
                    self.rows.append(row)
                    producer.send(self.topics["c"], json.dumps(row).encode(), partition=rng.randrange(self.partitions))
                else:
                    self._change(producer, name, row, gone=rng.random() < 0.25)

    def touch(self) -> None:
        """Change whatever may be in a sink: all rows go through all groups, in each as the first of their partition.

        What a job had given out when it was killed, and what it reads again and meets in another order so that nothing
        comes of it, stays in a sink until its key changes.
        """
        with producing(self.servers) as producer:
            for n in range(GROUPS):
                self._change(producer, "b", {"id": n, "w": n}, gone=False)
            for g in range(GROUPS + 2):  # of the last ones there is no row in b
                for n in range(IDS):
                    row = {"id": n, "g": g, "v": 1000 + 100 * ((n + g) % self.partitions) + n}
                    self._change(producer, "a", row, gone=False)
                    self._change(producer, "d", row, gone=False)

    def _change(self, producer: KafkaProducer, name: str, row: Row, *, gone: bool) -> None:
        table, key = self.keyed[name], row["id"]
        before, after = table.get(key), None if gone else row
        if gone or before != row:  # in the order of their last change
            table.pop(key, None)
        if not gone:
            table[key] = row
        topic, partition = self.topics[name], key % self.partitions
        if name == "d":
            if before or after:
                change = {"before": before, "after": after, "op": "d" if gone else "u" if before else "c"}
                producer.send(topic, json.dumps(change).encode(), partition=partition)
            return
        value = json.dumps(after).encode() if after else None
        producer.send(topic, value, key=json.dumps({"id": key}).encode(), partition=partition)

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

    def tables(self) -> Iterable[tuple[str, str, str, str]]:
        """Yield tables: names, columns, options, topics."""
        yield from ((name, *SOURCES[name], topic) for name, topic in self.topics.items())
        into = "k INT, v INT, PRIMARY KEY (k) NOT ENFORCED"
        yield from ((f"out_{name}", into, UPSERT, topic) for name, topic in self.sinks.items())

    def queries(self) -> Iterable[tuple[str, str]]:
        """Yield the queries into the tables."""
        yield from ((name, QUERIES[name][0]) for name in self.names)

    def script(self, sets: str) -> str:
        """Return the job: an INSERT a query."""
        made = [
            f"CREATE TABLE {name} ({columns}) WITH {options.format(topic=topic, servers=self.servers)};"
            for name, columns, options, topic in self.tables()
        ]
        inserts = [f"INSERT INTO out_{name} {query};" for name, query in self.queries()]
        named = f"SET 'pipeline.name' = 'kinds'; SET 'parallelism.default' = '{self.partitions}';"
        return "\n".join([sets, named, *made, "EXECUTE STATEMENT SET BEGIN", *inserts, "END;"])

    def send(self, changes: int) -> None:
        """Change the source tables."""
        self.feed.send(changes)

    def touch(self) -> None:
        """Change whatever may be in a sink."""
        self.feed.touch()

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

    def await_tables(self, seconds: float = 120, *, more: bool = False) -> None:
        """Wait until each sink's topic holds the table that it must; ``more``: it may hold other keys beside them."""
        assert self.process is not None
        end = time.monotonic() + seconds
        there = 0
        while there < 2:  # and they stay so
            wrong = self.wrong(more=more)
            there = 0 if wrong else there + 1
            assert self.process.poll() is None, self.log
            assert there or time.monotonic() < end, (wrong, self.log)
            time.sleep(0.5)

    def wrong(self, *, more: bool = False) -> dict[str, tuple[Any, Any]]:
        """Return what is there of the tables that are not what they must be, and what must be."""
        out = {}
        for name in self.names:
            found, wanted = self.table(name), self.wanted(name)
            if more:
                found = {k: v for k, v in found.items() if k in wanted}
            if found != wanted:
                out[name] = (found, wanted)
        return out

    def table(self, name: str) -> dict[int, int]:
        """Return the table that a sink's topic holds."""
        rows = support.upserted(support.read_topic(self.servers, self.sinks[name]))
        return {json.loads(k)["k"]: json.loads(v)["v"] for k, v in rows.items()}

    def wanted(self, name: str) -> dict[Any, Any]:
        """Return the table that must be there."""
        return QUERIES[name][1](self.feed.tables)

    def send_some(self, changes: int, seconds: float = 60) -> None:
        """Change the source tables and wait until the first sink has more records: what was sent is half done."""
        topic = self.sinks[self.names[0]]
        before, end = len(support.read_topic(self.servers, topic)), time.monotonic() + seconds
        self.send(changes)
        while len(support.read_topic(self.servers, topic)) == before:
            assert time.monotonic() < end, self.log

    def await_batch(self, seconds: float = 120) -> None:
        """Wait until the batch of each query that runs in real time has ended."""
        begun = self.batches("commits")
        self._await_batches(lambda: all(n > begun[query] for query, n in self.batches("commits").items()), seconds)

    def await_idle(self, seconds: float = 120) -> None:
        """Wait until no query has a micro-batch that it has begun and not ended."""
        self._await_batches(lambda: self.batches("offsets") == self.batches("commits"), seconds)

    def _await_batches(self, ended: Callable[[], bool], seconds: float) -> None:
        end = time.monotonic() + seconds
        while not ended():
            assert time.monotonic() < end, (self.batches("offsets"), self.batches("commits"), self.log)
            time.sleep(0.2)

    def batches(self, log: str) -> dict[Path, int]:
        """Return the last batch of each query in one of Spark's two logs of them."""
        found = (self.root / "state").glob(f"**/{log}")
        return {of.parent: max((int(p.name) for p in of.iterdir() if p.name.isdigit()), default=-1) for of in found}

    def end(self, number: int = signal.SIGTERM) -> None:
        """End the process, and wait for it."""
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, number)
            self.process.wait(120)


REALTIME = "SET 'flinkddl.execution.mode' = 'realtime';"


def in_turn(job: Work, every: str) -> None:
    """One checkpoint: killed in a batch, ended at a batch's end, gone on with in micro-batches, and in real time again.

    What a micro-batch run finds of a run that was ended within a batch may cancel out (README, "Real-time mode").
    """
    job.send(200)
    job.start(every + REALTIME)
    job.await_tables(400)
    job.await_batch()
    job.send_some(300)
    job.end(signal.SIGKILL)

    job.send(100)
    job.start(every + REALTIME)
    job.await_tables(400, more=True)
    job.touch()
    job.send(100)
    job.await_tables()
    job.await_batch()
    job.end()

    for sets, ended in (("", job.await_idle), (REALTIME, job.await_batch)):
        job.send(100)
        job.start(every + sets)
        job.await_tables(400)
        job.send(100)
        job.await_tables()
        ended()
        job.end()
