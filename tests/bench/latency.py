"""Time from a record to the result that holds it: ``python -m tests.bench latency``, ours and Flink's in one run.

A producer writes records with a key and a growing number at an even pace. Each query's result carries the greatest
number that went into it: a record is seen with the first result of its key that carries its number or a greater one.
Its latency is that result's timestamp less its own, both set by the producers' clocks on this machine; for a window it
is the timestamp of the record that took the watermark past the end. The first seconds, which warm up, do not count.

``--boundary 20``: with a checkpoint every 20 s, which is where a real-time batch ends and where Flink's barriers run;
micro-batches, each of which is a checkpoint, are left out. Neither engine tells when a boundary was: what it held up is
taken from the latencies themselves (``held_up``).
"""

from __future__ import annotations

import argparse
import json
import statistics
import threading
import time
import uuid
from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tests.bench.against_flink import Flink
from tests.e2e.support import read_topic

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import SparkSession

KEYS = 100
USERS = 1000
WARM_SECONDS = 15
BOUNDARIES = 12
"""With ``--boundary`` the producer writes for so many of them."""
MODES = ("flink", "micro-batch", "realtime")
PERCENTILES = (50, 90, 99, 99.9, 100)
_AT = "'properties.bootstrap.servers' = '{servers}', 'topic' = '{topic}'"
_COLUMNS = "k BIGINT, id BIGINT, g BIGINT, u BIGINT, ts TIMESTAMP(3)"
SOURCES = {
    "events": f"({_COLUMNS}, WATERMARK FOR ts AS ts) WITH ('connector' = 'kafka', 'format' = 'json', "
    f"'scan.startup.mode' = 'earliest-offset', {_AT})",
    "others": f"({_COLUMNS}) WITH ('connector' = 'kafka', 'format' = 'json', 'scan.startup.mode' = 'earliest-offset', "
    f"{_AT})",
    "states": f"({_COLUMNS}, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'upsert-kafka', 'key.format' = 'json', "
    f"'value.format' = 'json', {_AT})",
}


@dataclass(frozen=True)
class Shape:
    """A query whose result has the columns ``k`` and ``last``; ``key``: that of an upsert sink.

    ``alone``: a result is of one record, and records without one are not looked for. ``window``: ``last`` is its end.
    """

    query: str
    columns: str
    key: str = ""
    alone: bool = False
    window: bool = False

    @property
    def sources(self) -> list[str]:
        return [name for name in SOURCES if f" {name}" in self.query]

    def sink(self, topic: str, servers: str) -> str:
        keyed = f", PRIMARY KEY ({self.key}) NOT ENFORCED" if self.key else ""
        upsert = "'connector' = 'upsert-kafka', 'key.format' = 'json', 'value.format' = 'json'"
        kind = upsert if self.key else "'connector' = 'kafka', 'format' = 'json'"
        at = _AT.format(servers=servers, topic=topic)
        return f"CREATE TABLE `{topic}` ({self.columns}{keyed}) WITH ({kind}, {at})"


SHAPES = {
    "filter": Shape("SELECT k, id FROM events WHERE u >= 100", "k BIGINT, `last` BIGINT", alone=True),
    "count": Shape(
        "SELECT k, COUNT(*), MAX(id) FROM events GROUP BY k", "k BIGINT, n BIGINT, `last` BIGINT", "k"
    ),
    "distinct": Shape(
        "SELECT k, COUNT(DISTINCT u), MAX(id) FROM events GROUP BY k", "k BIGINT, n BIGINT, `last` BIGINT", "k"
    ),
    "sum-upsert": Shape(
        "SELECT g, SUM(u), MAX(id) FROM states GROUP BY g", "k BIGINT, n BIGINT, `last` BIGINT", "k"
    ),
    "join": Shape(
        "SELECT e.k, e.id FROM events e JOIN others o ON e.id = o.id", "k BIGINT, `last` BIGINT", alone=True
    ),
    "top10": Shape(
        "SELECT k, id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY id DESC) AS rn FROM events) "
        "WHERE rn <= 10", "k BIGINT, `last` BIGINT", "k, `last`",
    ),
    "window": Shape(
        "SELECT k, window_end, COUNT(*) FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '1' SECOND)) "
        "GROUP BY k, window_start, window_end", "k BIGINT, `last` TIMESTAMP(3), n BIGINT", window=True,
    ),
}  # fmt: skip
"""By name; each key of ``sum-upsert`` is that of ten keys of its source."""


@dataclass(frozen=True)
class Pace:
    """``rate``: records a second. ``seconds``: how long the producer writes, the warm-up included."""

    servers: str
    rate: int
    seconds: int

    def produce(self, topics: Mapping[str, str]) -> list[int]:
        """Write each record into every topic; return by its number when it was written, in milliseconds since 1970."""
        from kafka import KafkaProducer

        producer = KafkaProducer(bootstrap_servers=self.servers, linger_ms=0)
        sent: list[int] = []
        begin = time.perf_counter()
        for i in range(self.rate * self.seconds):
            time.sleep(max(0.0, begin + i / self.rate - time.perf_counter()))
            now = time.time_ns() // 1_000_000
            sent.append(now)
            value = json.dumps(record(i, now)).encode()
            for name, topic in topics.items():
                key = json.dumps({"k": i % KEYS}).encode() if name == "states" else None
                producer.send(topic, value, key=key, timestamp_ms=now)
        producer.flush()
        producer.close()
        return sent


def record(number: int, at_ms: int) -> dict[str, Any]:
    """Return the record of a number, written at a time."""
    k = number % KEYS
    at = datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    return {"k": k, "id": number, "g": k % 10, "u": number * 7919 % USERS, "ts": at}


def latencies(
    shape: Shape, sent: Sequence[int], results: Sequence[tuple[dict[str, Any], int]]
) -> list[tuple[int, int]]:
    """Return for each record, or window, when it was written, or closed, and the milliseconds until it was seen.

    ``results``: rows with their timestamps.
    """
    start = sent[0] + WARM_SECONDS * 1000
    seen: Iterable[tuple[int | None, int]]
    if shape.window:
        seen = ((_closing(sent, row["last"]), at) for row, at in results)
    elif shape.alone:
        seen = ((sent[row["last"]], at) for row, at in results)
    else:
        seen = _covered(shape, sent, results)
    return [(since, at - since) for since, at in seen if since is not None and since >= start]


def held_up(seen: Sequence[tuple[int, int]], seconds: int) -> list[int]:
    """Return the longest latencies that lie half an interval or more apart, as many as there are boundaries, sorted.

    Where nothing else holds records up as long, these are what the boundaries did. ``seconds``: the interval; in real
    time it lasts longer by what it holds up, so that the least of many may be of no boundary.
    """
    written = sorted(since for since, _ in seen)
    many = round((written[-1] - written[0]) / (seconds * 1000)) if written else 0
    found: list[tuple[int, int]] = []
    for since, ms in sorted(seen, key=lambda one: one[1], reverse=True):
        if len(found) == many:
            break
        if all(abs(since - other) >= seconds * 500 for other, _ in found):
            found.append((since, ms))
    return sorted(ms for _, ms in found)


def _closing(sent: Sequence[int], end: str) -> int | None:
    """Return when the record was written that took the watermark past ``end``; None: there was none."""
    at_ms = round(datetime.fromisoformat(end).replace(tzinfo=UTC).timestamp() * 1000)
    at = bisect_left(sent, at_ms)
    return sent[at] if at < len(sent) else None


def _covered(
    shape: Shape, sent: Sequence[int], results: Sequence[tuple[dict[str, Any], int]]
) -> Iterator[tuple[int, int]]:
    """Give for each record when it was written and when its key's first result came that holds it."""
    column = "g" if "states" in shape.sources else "k"
    found: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for row, at in results:
        if not found[row["k"]] or row["last"] > found[row["k"]][-1][0]:
            found[row["k"]].append((row["last"], at))
    for i, written in enumerate(sent):
        of_key = found[record(i, written)[column]]
        n = bisect_left(of_key, (i, 0))
        if n < len(of_key):
            yield written, of_key[n][1]


@dataclass
class Measured:
    """What ran so far: a broker's address, the two engines, and by query and mode the latencies in milliseconds.

    ``boundary``: seconds between checkpoints, None for what each engine has by itself; ``held``: by these.
    """

    pace: Pace
    spark: SparkSession
    flink: Flink
    boundary: int | None = None
    found: dict[str, dict[str, list[int]]] = field(default_factory=lambda: defaultdict(dict))
    held: dict[str, dict[str, list[int]]] = field(default_factory=lambda: defaultdict(dict))

    def measure(self, name: str, mode: str) -> None:
        """Run a query in a mode and print a line, or why it does not run so."""
        from flinkddl.diagnostics import FlinkDdlError
        from flinkddl.runtime.kafka.admin import KafkaAdmin

        shape, mark = SHAPES[name], uuid.uuid4().hex[:6]
        topics = {source: f"{source}-{name}-{mode}-{mark}" for source in shape.sources}
        sink = f"{name}-{mode}-{mark}"
        with KafkaAdmin({"bootstrap.servers": self.pace.servers}) as admin:
            for topic in (*topics.values(), sink):
                admin.create_topic(topic, 1)
        try:
            sent = self._theirs(shape, topics, sink) if mode == "flink" else self._ours(shape, topics, sink, mode)
        except FlinkDdlError as error:
            print(f"{name} {mode}: refused, {error.diagnostics[0].code}", flush=True)
            return
        read = read_topic(self.pace.servers, sink)
        rows = [(json.loads(r.value), r.timestamp) for r in read if r.value is not None]
        seen = latencies(shape, sent, rows)
        times = self.found[name][mode] = sorted(ms for _, ms in seen)
        if self.boundary:
            self.held[name][mode] = held_up(seen, self.boundary)
        print(f"{name} {mode}: {len(times):,} seen, p50 {at(times, 50)} ms, p99 {at(times, 99)} ms", flush=True)

    def _settings(self) -> dict[str, str]:
        return {"execution.checkpointing.interval": f"{self.boundary} s"} if self.boundary else {}

    def _tables(self, shape: Shape, topics: Mapping[str, str], sink: str) -> list[str]:
        servers = self.pace.servers
        made = [f"CREATE TABLE {n} {SOURCES[n].format(servers=servers, topic=t)}" for n, t in topics.items()]
        return [*made, shape.sink(sink, servers)]

    def _ours(self, shape: Shape, topics: Mapping[str, str], sink: str, mode: str) -> list[int]:
        from flinkddl.api import Catalog

        catalog = Catalog(self.spark, views=False)
        sets = [f"SET '{k}' = '{v}'" for k, v in {"flinkddl.execution.mode": mode, **self._settings()}.items()]
        catalog.execute(";\n".join([*sets, *self._tables(shape, topics, sink)]))
        job = catalog.execute(f"INSERT INTO `{sink}` {shape.query}").job
        assert job is not None
        sent = self.pace.produce(topics)
        time.sleep(3)
        job.stop()
        return sent

    def _theirs(self, shape: Shape, topics: Mapping[str, str], sink: str) -> list[int]:
        """Run a query in Flink, which stops by a timeout."""
        self.flink.reset({"parallelism.default": "1", **self._settings()})
        for statement in self._tables(shape, topics, sink):
            self.flink.sql(statement)
        limit_ms = (self.pace.seconds + 8) * 1000
        runs = threading.Thread(target=self.flink.sql, args=(f"INSERT INTO `{sink}` {shape.query}", limit_ms, True))
        runs.start()
        time.sleep(3)
        sent = self.pace.produce(topics)
        runs.join()
        return sent


def at(times: Sequence[int], percent: float) -> int:
    """Return a percentile of sorted times, -1 of none."""
    return times[min(int(len(times) * percent // 100), len(times) - 1)] if times else -1


def markdown(found: Mapping[str, Mapping[str, Sequence[int]]]) -> str:
    """Return a line a query: p50 and p99 of each mode in milliseconds, '-' where it was refused."""
    lines = [f"| query | {' | '.join(f'{mode} p50, p99' for mode in MODES)} |", f"|{' --- |' * (len(MODES) + 1)}"]
    for name, modes in found.items():
        cells = (f"{at(modes[m], 50)}, {at(modes[m], 99)}" if m in modes else "-" for m in MODES)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def distribution(found: Mapping[str, Mapping[str, Sequence[int]]], held: Mapping[str, Mapping[str, list[int]]]) -> str:
    """Return a line a query and mode: percentiles, and what the boundaries held up, in milliseconds."""
    head = ["query", "mode", *(f"p{p}" for p in PERCENTILES[:-1]), "max", "boundaries", "held up: least, median, most"]
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    for name, modes in found.items():
        for mode, times in modes.items():
            those = held[name][mode]
            spread = f"{those[0]}, {statistics.median(those):.0f}, {those[-1]}" if those else "-"
            cells = [name, mode, *(str(at(times, p)) for p in PERCENTILES), str(len(those)), spread]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main(records: int | None = None, rate: int = 1000, names: Sequence[str] = (), boundary: int | None = None) -> None:
    """Run the queries, all by default, in each mode in turn, and print p50 and p99 in milliseconds.

    ``records``: by default for 75 s at 1,000 a second, for ``BOUNDARIES`` where a ``boundary`` is given.
    """
    from flinkddl.runtime.broker.server import Broker, BrokerOptions
    from flinkddl.runtime.session.sessions import SparkOptions, build_session

    with Broker(BrokerOptions(heap="1g")) as broker, Flink() as flink:
        conf = {"spark.driver.memory": "2g", "spark.sql.shuffle.partitions": "1"}
        # in real-time mode a chain has a task a stage, all at once; most of them wait
        spark = build_session(SparkOptions(master="local[8]", conf=conf))
        records = records or (rate * (WARM_SECONDS + BOUNDARIES * boundary) if boundary else 75_000)
        pace = Pace(broker.bootstrap, rate, max(records // rate, WARM_SECONDS + 5))
        measured = Measured(pace, spark, flink, boundary)
        for name in names or SHAPES:
            for mode in MODES:
                if not boundary or mode != "micro-batch":
                    measured.measure(name, mode)
        spark.stop()
    table = distribution(measured.found, measured.held) if boundary else markdown(measured.found)
    every = f", a checkpoint every {boundary} s" if boundary else ""
    print(f"\n{rate:,} records a second for {pace.seconds - WARM_SECONDS} s{every}\n\n{table}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="tests.bench.latency", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*SHAPES, []], help="which queries")
    parser.add_argument("--records", type=int, help=f"else 75,000; for {BOUNDARIES} boundaries where they are given")
    parser.add_argument("--rate", type=int, default=1000, help="records a second")
    parser.add_argument("--boundary", type=int, help="seconds between checkpoints; prints what they hold up")
    given = parser.parse_args()
    main(given.records, given.rate, given.names, given.boundary)
