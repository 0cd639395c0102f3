"""Windows, sessions and interval joins from Kafka to Kafka in a chain: queries, their inputs, what must come out."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tests.e2e import support
from tests.e2e.realtime_jobs import APPEND, UPSERT, Work, producing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

BEGIN = 1_709_287_200  # 2024-03-01 10:00
SIZE, HOP, GAP, WITHIN = 10, 5, 4, 2
KEYS = 6
Found = dict[Any, int]


def _counts(table: str) -> str:
    return f"""(SELECT k, window_start, window_end, COUNT(*) AS n
FROM TABLE(TUMBLE(TABLE {table}, DESCRIPTOR(ts), INTERVAL '{SIZE}' SECOND)) GROUP BY k, window_start, window_end)"""


def _visits(table: str, value: str) -> str:
    return f"""SELECT k, window_start, {value} FROM TABLE(SESSION(TABLE {table} PARTITION BY k, DESCRIPTOR(ts),
INTERVAL '{GAP}' SECOND)) GROUP BY k, window_start, window_end"""


def _joined(kind: str, more: str = "") -> str:
    """Return a join of the windows' counts; those that only u has are there by keys of their own."""
    return f"""SELECT COALESCE(l.k, 100 + r.k), COALESCE(l.window_start, r.window_start),
COALESCE(l.n, 0) * 1000 + COALESCE(r.n, 0) FROM {_counts("w")} AS l {kind} JOIN {_counts("u")} AS r
ON l.window_start = r.window_start AND l.window_end = r.window_end AND l.k = r.k {more}"""


def _chosen(exists: str, more: str = "") -> str:
    return f"""SELECT l.k, l.window_start, l.n FROM {_counts("w")} AS l
WHERE {exists} (SELECT 1 FROM {_counts("u")} AS r
WHERE l.window_start = r.window_start AND l.window_end = r.window_end AND l.k = r.k {more})"""


NEAR = f"u.ts BETWEEN w.ts - INTERVAL '{WITHIN}' SECOND AND w.ts + INTERVAL '{WITHIN}' SECOND"


def _near(kind: str, when: str = NEAR) -> str:
    return f"SELECT COALESCE(w.n, -1), COALESCE(u.n, -1), 1 FROM w {kind} JOIN u ON w.k = u.k AND {when}"


@dataclass
class Events:
    """What is in the two tables, each of whose partitions is in order of time: number, key, time."""

    rows: dict[str, list[tuple[int, int, float]]] = field(default_factory=lambda: {"w": [], "u": []})
    latest: dict[str, dict[int, float]] = field(default_factory=lambda: {"w": {}, "u": {}})

    def mark(self, *tables: str) -> float:
        """Return the watermark of tables together."""
        return min(at for table in tables for at in self.latest[table].values()) - 1 + 1e-6

    def counts(self, table: str, *others: str) -> dict[tuple[int, int], int]:
        """Return how many rows of a key there are in each window that is over."""
        found = Counter((k, int(at) // SIZE * SIZE) for _, k, at in self.rows[table])
        mark = self.mark(table, *others)
        return {key: n for key, n in found.items() if key[1] + SIZE - 0.001 <= mark}

    def hops(self) -> dict[tuple[int, int], int]:
        """Return how many rows of a key of w there are in each of its windows, two a row, that is over."""
        last = ((k, int(at) // HOP * HOP) for _, k, at in self.rows["w"])
        found = Counter((k, start - back) for k, start in last for back in range(0, SIZE, HOP))
        return {key: n for key, n in found.items() if key[1] + SIZE - 0.001 <= self.mark("w")}

    def visits(self, table: str, value: Callable[[list[int]], int]) -> Found:
        """Return a value of the numbers of each session's rows, by its key and the second in which it begins."""
        out: Found = {}
        for key in range(KEYS):
            spans: list[list[tuple[float, int]]] = []
            for at, n in sorted((at, n) for n, k, at in self.rows[table] if k == key):
                if spans and at <= spans[-1][-1][0] + GAP:
                    spans[-1].append((at, n))
                else:
                    spans.append([(at, n)])
            over = (s for s in spans if s[-1][0] + GAP - 0.001 <= self.mark(table))
            out |= {(key, int(s[0][0])): value([n for _, n in s]) for s in over}
        return out


def _most(e: Events) -> dict[int, int]:
    most: dict[int, int] = {}
    for (_, start), n in e.counts("w").items():
        most[start] = max(most.get(start, 0), n)
    return most


def _hot(e: Events) -> Found:
    most = _most(e)
    return {key: n for key, n in e.counts("w").items() if n == most[key[1]]}


def _best(e: Events) -> Found:
    done = e.counts("w")
    first = {s: sorted((-n, k) for (k, start), n in done.items() if start == s)[:2] for _, s in done}
    return {(k, s): -n for s, rows in first.items() for n, k in rows}


def _pairs(e: Events, *outer: str, above: bool = False) -> Found:
    """Return what the windows of w and u have of each other, ``outer``: those of which all come out."""
    left, right = e.counts("w", "u"), e.counts("u", "w")
    met = {key for key in left.keys() & right.keys() if not above or left[key] > right[key]}
    out = {key: left[key] * 1000 + right[key] for key in met}
    out |= {key: n * 1000 for key, n in left.items() if "w" in outer and key not in met}
    return out | {(100 + k, s): n for (k, s), n in right.items() if "u" in outer and (k, s) not in met}


def _lefts(e: Events, met: bool, above: bool = False) -> Found:
    pairs = _pairs(e, above=above)
    return {key: n for key, n in e.counts("w", "u").items() if (key in pairs) == met}


def _meetings(e: Events, *outer: str, within: float = WITHIN) -> Found:
    """Return the rows of w and u that are near each other, and of ``outer`` those that have met none for good."""
    near = within + 1e-6
    rows = ((n, o) for n, k, at in e.rows["w"] for o, key, to in e.rows["u"] if k == key and abs(at - to) <= near)
    met, mark = dict.fromkeys(rows, 1), e.mark("w", "u")
    out = met.copy()
    for table in outer:
        there = {pair["wu".index(table)] for pair in met}
        alone = [n for n, _, at in e.rows[table] if n not in there and at + within <= mark]
        out |= dict.fromkeys(((n, -1) if table == "w" else (-1, n) for n in alone), 1)
    return out


MOST = f"(SELECT window_start, window_end, MAX(n) AS m FROM {_counts('w')} GROUP BY window_start, window_end)"
BEST = f"""(SELECT k, window_start, n, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY n DESC, k) AS r
FROM {_counts("w")})"""
HOPS = _counts("w").replace("TUMBLE(", "HOP(").replace("INTERVAL", f"INTERVAL '{HOP}' SECOND, INTERVAL")
BY_KEY = "k INT, s TIMESTAMP(3), n BIGINT, PRIMARY KEY (k, s) NOT ENFORCED"
BY_PAIR = "l INT, r INT, n INT, PRIMARY KEY (l, r) NOT ENFORCED"
ABOVE = "AND l.n > r.n"
TABLES: dict[str, tuple[str, str, Callable[[Events], Found]]] = {
    "counts": (BY_KEY, f"SELECT k, window_start, n FROM {_counts('w')}", lambda e: e.counts("w")),
    "most": ("s TIMESTAMP(3), n BIGINT, PRIMARY KEY (s) NOT ENFORCED", f"SELECT window_start, m FROM {MOST}", _most),
    "hot": (
        BY_KEY,
        f"SELECT c.k, c.window_start, c.n FROM {_counts('w')} AS c JOIN {MOST} AS x "
        "ON c.window_start = x.window_start AND c.window_end = x.window_end AND c.n >= x.m",
        _hot,
    ),
    "hops": (BY_KEY, f"SELECT k, window_start, n FROM {HOPS}", Events.hops),
    "best": (BY_KEY, f"SELECT k, window_start, n FROM {BEST} WHERE r <= 2", _best),
    "visits": (BY_KEY, _visits("w", "COUNT(*)"), lambda e: e.visits("w", len)),
    "begun": (BY_KEY, _visits("u", "FIRST_VALUE(n)"), lambda e: e.visits("u", lambda rows: rows[0])),
    "inner": (BY_KEY, _joined("INNER"), _pairs),
    "left": (BY_KEY, _joined("LEFT"), lambda e: _pairs(e, "w")),
    "full": (BY_KEY, _joined("FULL"), lambda e: _pairs(e, "w", "u")),
    "semi": (BY_KEY, _chosen("EXISTS"), lambda e: _lefts(e, True)),
    "anti": (BY_KEY, _chosen("NOT EXISTS"), lambda e: _lefts(e, False)),
    "leftif": (BY_KEY, _joined("LEFT", ABOVE), lambda e: _pairs(e, "w", above=True)),
    "rightif": (BY_KEY, _joined("RIGHT", ABOVE), lambda e: _pairs(e, "u", above=True)),
    "fullif": (BY_KEY, _joined("FULL", ABOVE), lambda e: _pairs(e, "w", "u", above=True)),
    "semiif": (BY_KEY, _chosen("EXISTS", ABOVE), lambda e: _lefts(e, True, above=True)),
    "antiif": (BY_KEY, _chosen("NOT EXISTS", ABOVE), lambda e: _lefts(e, False, above=True)),
    "near": (BY_PAIR, _near("INNER"), _meetings),
    "nearleft": (BY_PAIR, _near("LEFT"), lambda e: _meetings(e, "w")),
    "nearright": (BY_PAIR, _near("RIGHT"), lambda e: _meetings(e, "u")),
    "nearfull": (BY_PAIR, _near("FULL"), lambda e: _meetings(e, "w", "u")),
    "atonce": (BY_PAIR, _near("LEFT", "w.ts = u.ts"), lambda e: _meetings(e, "w", within=0)),
    "allatonce": (BY_PAIR, _near("FULL", "w.ts = u.ts"), lambda e: _meetings(e, "w", "u", within=0)),
}
"""Sinks: their columns, the query into each, and what is in it."""
SOURCES = dict.fromkeys("wu", "n INT, k INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND")


@dataclass
class Windows(Work):
    """A job of windows over two topics, and what must come out of it."""

    now: float = BEGIN
    events: Events = field(default_factory=Events)

    def __post_init__(self) -> None:
        self.topics = {name: self.new_topic(name, self.partitions) for name in SOURCES}
        self.sinks = {name: self.new_topic(f"out-{name}") for name in self.names}
        self.runs = 0

    def tables(self) -> Iterable[tuple[str, str, str, str]]:
        """Yield tables: names, columns, options, topics."""
        yield from ((name, columns, APPEND, self.topics[name]) for name, columns in SOURCES.items())
        yield from ((f"out_{name}", TABLES[name][0], UPSERT, topic) for name, topic in self.sinks.items())

    def queries(self) -> Iterable[tuple[str, str]]:
        """Yield the queries into the tables."""
        yield from ((name, TABLES[name][1]) for name in self.names)

    def send(self, count: int) -> None:
        """Let event time go on by some windows."""
        rng = random.Random(len(self.events.rows["w"]))
        with producing(self.servers) as producer:
            for n in range(count):
                self.now = round(self.now + rng.randrange(20) / 10, 1)  # so often event time is told for sessions
                name, key = "wu"[n % 2], rng.randrange(KEYS)
                partition = n // 2 if n < 2 * self.partitions else rng.randrange(self.partitions)
                if name == "u":  # the rows of a key are in the order of their time
                    key = key // self.partitions * self.partitions + partition
                at = datetime.fromtimestamp(self.now, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
                exact = datetime.fromisoformat(f"{at}+00:00").timestamp()
                rows = self.events.rows[name]
                self.events.latest[name][partition] = exact
                producer.send(
                    self.topics[name], json.dumps({"n": len(rows), "k": key, "ts": at}).encode(), partition=partition
                )
                rows.append((len(rows), key, exact))

    def touch(self) -> None:
        """What has come out of a window stands: whatever is read again, no other rows come of it."""

    def table(self, name: str) -> Found:
        """Return the table that a sink's topic holds."""
        out: Found = {}
        for k, v in support.upserted(support.read_topic(self.servers, self.sinks[name])).items():
            key: Any = json.loads(k)
            if "s" in key:
                key["s"] = int(datetime.fromisoformat(f"{key['s']}+00:00").timestamp())
            places: Sequence[Any] = list(key.values())
            out[tuple(places) if len(places) > 1 else places[0]] = json.loads(v)["n"]
        return out

    def wanted(self, name: str) -> Found:
        """Return the table that must be there."""
        found = TABLES[name][2](self.events)
        assert found
        return found
