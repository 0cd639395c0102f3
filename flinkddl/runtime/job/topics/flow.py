"""What goes through a real-time job while its batch runs, as its topics tell: Spark reports once a batch, in minutes.

Nothing public says how far Spark's consumers have read inside a batch: they commit no offsets, and progress events and
observed metrics come where it ends. So the topics are asked, by a thread of its own, every LOOK_SECONDS:

- in: records put into the source topics; out: records put into the sink's topic, by whomever.
- behind: records in less records out since the places where both are known to match: where the job began, then where
  each batch ended, since what it read is written by then. Known where each record gives one (``not_one_to_one``).
- latency: the n-th record out's timestamp less the n-th record in's, each counted in the order of timestamps from those
  places. The mean over all is the mean of single records; where records overtake each other, p99 is a little less.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from flinkddl.runtime.job.reporting.progress import offsets_in, short
from flinkddl.runtime.job.topics.topic_ids import committed
from flinkddl.runtime.kafka.config import python_client_config
from flinkddl.runtime.kafka.offsets import client_properties
from flinkddl.runtime.kafka.opening import opened
from flinkddl.spark.realtime import not_one_to_one, reads_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from flinkddl.runtime.job.reporting.progress import Progress
    from flinkddl.runtime.job.topics.sources import Sources
    from flinkddl.spark.job import SparkJob, Write

LOOK_SECONDS = 3.0
RATE_SECONDS = 10.0
LATENCY_SECONDS = 30.0
SAMPLE = 500  # records out a look
NEAR = 250  # records that may be read in vain before the first one wanted
READ_SECONDS = 1.0
Places = dict[tuple[int, str, int], int]
"""(client, topic, partition) -> offset."""


@dataclass(frozen=True)
class Flow:
    """One write of a real-time job, and the ``topics`` it reads. Rates are records a second over RATE_SECONDS, counts
    since the run began.

    ``behind``, ``p50_ms`` and ``p99_ms`` (over ``samples`` records of the last LATENCY_SECONDS) are None where they are
    not known; ``unknown`` says why.
    """

    write: str
    table: str
    topics: tuple[str, ...] = ()
    rate_in: float = 0.0
    rate_out: float = 0.0
    records_in: int = 0
    records_out: int = 0
    behind: int | None = None
    p50_ms: float | None = None
    p99_ms: float | None = None
    samples: int = 0
    unknown: str = ""

    @property
    def words(self) -> list[str]:
        """What it says of latency and lag, for people."""
        parts = [] if self.behind is None else [f"{self.behind:,} behind"]
        if self.p50_ms is not None:
            parts.append(f"latency p50 {self.p50_ms:,.0f} ms, p99 {self.p99_ms:,.0f} ms")
        return [*parts, *([f"lag and latency not known: {self.unknown}"] if self.unknown else [])]


def lag_by_topic(job: SparkJob, latest: Iterable[Progress], flows: Iterable[Flow]) -> dict[str, int]:
    """Return records not yet read per topic, by the last batch of each write; the slowest write counts.

    Of a real-time job Spark's report is minutes old: what is behind, where that is known of a single topic.
    """
    if job.trigger[0] == "realTime":
        found = [(f.topics[0], f.behind) for f in flows if f.behind is not None and len(f.topics) == 1]
    else:
        found = [item for progress in latest for item in progress.lag.items()]
    out: dict[str, int] = {}
    for topic, n in found:
        out[topic] = max(n, out.get(topic, 0))
    return out


def flow_line(flow: Flow) -> str:
    """Return the plain line of a look: ``[12:00:04] 1,000 records/s in · 1,000 out · 12 behind · latency ...``."""
    rates = [f"{flow.rate_in:,.0f} records/s in, {flow.rate_out:,.0f} out", f"{flow.records_out:,} out so far"]
    return " · ".join([f"[{time.strftime('%H:%M:%S', time.gmtime())}] {rates[0]}", *rates[1:], *flow.words])


def flow_fields(flow: Flow) -> dict[str, Any]:
    """Return a look as plain data for a JSON log; what is not known is left out."""
    found = {
        "sink": flow.table or flow.write,
        "records_in": flow.records_in,
        "records_out": flow.records_out,
        "records_in_per_second": round(flow.rate_in, 1),
        "records_out_per_second": round(flow.rate_out, 1),
        "behind": flow.behind,
        "latency_p50_ms": flow.p50_ms,
        "latency_p99_ms": flow.p99_ms,
        "unknown": flow.unknown or None,
    }
    return {k: v for k, v in found.items() if v is not None}


class Topics:
    """Topics that a job reads or writes, asked by plain consumers: one a client, as each may have another cluster."""

    def __init__(self, wanted: Iterable[tuple[Mapping[str, str], Iterable[str]]]) -> None:
        from kafka import KafkaConsumer

        self._clients: list[tuple[Any, list[str]]] = []
        for properties, topics in wanted:
            config = python_client_config(properties) | {"enable_auto_commit": False, "max_poll_records": 10 * SAMPLE}
            config |= {"max_partition_fetch_bytes": 1 << 18, "metadata_max_age_ms": 30_000}
            self._clients.append((opened(KafkaConsumer, config), sorted(topics)))

    def close(self) -> None:
        """Close the connections."""
        for client, _ in self._clients:
            with suppress(Exception):
                client.close()

    def _places(self, number: int) -> list[Any]:
        from kafka import TopicPartition

        client, topics = self._clients[number]
        return [TopicPartition(t, p) for t in topics for p in sorted(client.partitions_for_topic(t) or ())]

    def ends(self) -> Places:
        """Return the offset after the last record of each partition."""
        found = ((n, self._clients[n][0].end_offsets(self._places(n))) for n in range(len(self._clients)))
        return {(n, p.topic, p.partition): o for n, places in found for p, o in places.items()}

    def at(self, millis: int) -> Places:
        """Return the first offset of each partition whose record's timestamp is at or after a time."""
        out = self.ends()
        for n, (client, _) in enumerate(self._clients):
            found = client.offsets_for_times(dict.fromkeys(self._places(n), millis))
            out |= {(n, p.topic, p.partition): o.offset for p, o in found.items() if o is not None}
        return out

    def stamps(self, begin: Places, count: int) -> list[int]:
        """Return the timestamps of at most so many records from these places on, in their order, none left out."""
        found: list[int] = []
        certain = float("inf")  # behind the last record of a partition that has more, others may come first
        for n in range(len(self._clients)):
            for stamps, whole in self._read(n, begin, count):
                found += stamps
                certain = certain if whole else min(certain, stamps[-1] if stamps else float("-inf"))
        return sorted(s for s in found if s <= certain)[:count]

    def _read(self, n: int, begin: Places, count: int) -> list[tuple[list[int], bool]]:
        client, places = self._clients[n][0], self._places(n)
        ends = client.end_offsets(places)
        client.assign(places)
        client.resume(*places)
        for p in places:
            client.seek(p, begin.get((n, p.topic, p.partition), 0))
        limit = max(SAMPLE // 10, 2 * count // max(1, len(places)))
        found: dict[Any, list[int]] = {p: [] for p in places}
        open_, end = {p for p in places if client.position(p) < ends[p]}, time.monotonic() + READ_SECONDS
        while open_ and time.monotonic() < end:
            for p, records in client.poll(timeout_ms=100).items():
                found[p] += [r.timestamp for r in records]
            enough = {p for p in open_ if client.position(p) >= ends[p] or len(found[p]) >= limit}
            open_ -= enough
            client.pause(*enough)
        whole = {p: client.position(p) >= ends[p] for p in places}
        client.pause(*places)
        return [(stamps, whole[p]) for p, stamps in found.items()]


def count(places: Places, since: Places) -> int:
    """Return how many records lie between; a partition that is new began at its first."""
    return sum(offset - since.get(place, 0) for place, offset in places.items())


@dataclass
class _Write:
    """What is known of one write. ``matched``: places of its sources and of its sink that match, where known."""

    write: Write
    source: Topics
    sink: Topics
    why_not: str
    begun: tuple[Places, Places]
    matched: tuple[Places, Places] | None
    asked: tuple[Places, int] | None = None  # a batch that ended: where it had read to, when
    recent: deque[tuple[float, int, int]] = field(default_factory=deque)
    latencies: deque[tuple[float, list[int]]] = field(default_factory=deque)
    looked: int = 0

    def look(self) -> Flow:
        """Ask once."""
        if self.asked is not None:
            (ends, millis), self.asked = self.asked, None
            self.matched = ends, self.sink.at(millis)
        now, ended = time.monotonic(), (self.source.ends(), self.sink.ends())
        into, out = (count(e, b) for e, b in zip(ended, self.begun, strict=True))
        self.recent.append((now, into, out))
        while len(self.recent) > 2 and self.recent[1][0] <= now - RATE_SECONDS:
            self.recent.popleft()
        then, into_then, out_then = self.recent[0]
        seconds = max(now - then, LOOK_SECONDS)
        unknown = self.why_not or ("" if self.matched else "until the first checkpoint")
        rates = (into - into_then) / seconds, (out - out_then) / seconds
        topics = tuple(sorted({topic for _, topic, _ in self.begun[0]}))
        flow = Flow(self.write.name, short(self.write.table), topics, *rates, into, out, unknown=unknown)
        if unknown or self.matched is None:
            return flow
        behind = count(ended[0], self.matched[0]) - count(ended[1], self.matched[1])
        return _with(flow, max(0, behind), self._latencies(now))

    def _latencies(self, now: float) -> list[int]:
        """Take a sample of what came out since the last look; return those of the last seconds, sorted."""
        began, self.looked = self.looked, int(time.time() * 1000)
        if began:
            self.latencies.append((now, self._sample(began)))
        while self.latencies and self.latencies[0][0] < now - LATENCY_SECONDS:
            self.latencies.popleft()
        return sorted(ms for _, found in self.latencies for ms in found)

    def _sample(self, since: int) -> list[int]:
        assert self.matched is not None
        places = self.sink.at(since)
        out = self.sink.stamps(places, SAMPLE)
        n = count(places, self.matched[1])
        if not out or n < 0:
            return []
        begin, skip = self._nth(n, since)
        into = self.source.stamps(begin, len(out) + skip)[skip:]
        return [b - a for a, b in zip(into, out, strict=False)]

    def _nth(self, n: int, until: int) -> tuple[Places, int]:
        """Return places of the sources a little before their n-th record, and how many records before."""
        assert self.matched is not None
        low, high, step = until, until + 60_000, 2000
        while True:
            places = self.source.at(low)
            before = n - count(places, self.matched[0])
            if before >= 0 or low == 0:
                break
            high, low, step = low, max(0, low - step), step * 4
        while before > NEAR and high - low > 1:
            middle = (low + high) // 2
            found = self.source.at(middle)
            if (rest := n - count(found, self.matched[0])) >= 0:
                low, places, before = middle, found, rest
            else:
                high = middle
        return places, max(0, before)


def _with(flow: Flow, behind: int, latencies: list[int]) -> Flow:
    if not latencies:
        return replace(flow, behind=behind)
    last = len(latencies) - 1
    p50, p99 = (float(latencies[round(last * q)]) for q in (0.5, 0.99))
    return replace(flow, behind=behind, p50_ms=p50, p99_ms=p99, samples=len(latencies))


class FlowWatch:
    """Follows the topics of a real-time job from ``start`` to ``stop``; of another job it does nothing.

    ``flows`` are the last look's, none before the first or while a cluster does not answer.
    """

    def __init__(self, job: SparkJob, sources: Sources, tell: Callable[[Flow], None] | None) -> None:
        self.flows: tuple[Flow, ...] = ()
        self._job, self._sources, self._tell = job, sources, tell
        self._writes: dict[str, _Write] = {}
        self._end = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Note where the topics stand, and begin to look."""
        if self._job.trigger[0] != "realTime" or not self._sources.uses_kafka:
            return
        with suppress(Exception):  # a cluster that does not answer: the queries say so
            self._open()
        self._thread = threading.Thread(target=self._follow, name="flinkddl flow", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End."""
        self._end.set()
        if self._thread is not None:
            self._thread.join(2 * READ_SECONDS)

    def batch(self, write: str, event: Mapping[str, Any]) -> None:
        """Take a batch that ended: all that it read is written, and the next one has not begun."""
        known = self._writes.get(write)
        if known is not None:
            ended = datetime.fromisoformat(str(event["timestamp"])).timestamp() * 1000
            ended += float((event.get("durationMs") or {}).get("triggerExecution", 0))
            read = [offsets_in(s.get("endOffset")) for s in event.get("sources", [])]
            places = {(t, p): o for ends in read for t, ps in ends.items() for p, o in ps.items()}
            known.asked = {k: places.get(k[1:], o) for k, o in known.begun[0].items()}, int(ended)

    def _open(self, *, late: bool = False) -> None:
        for write, planned in zip(self._job.writes, self._job.plan, strict=True):
            if not write.into_topics or "topic" not in write.options:
                continue
            reads = {r.name: r for r in reads_of(self._job, write)}
            source = Topics((client_properties(r.options), self._sources.places[n]) for n, r in reads.items())
            sink = Topics([(client_properties(write.options), [write.options["topic"]])])
            begun = source.ends(), sink.ends()
            first = None if late else self._first(write, begun[0])
            matched = None if first is None else (first, begun[1])
            self._writes[write.name] = known = _Write(write, source, sink, not_one_to_one(planned), begun, matched)
            known.looked = int(time.time() * 1000)

    def _first(self, write: Write, places: Places) -> Places | None:
        """Return where reading begins; None where it is at the end of a topic, which moves until Spark looks."""
        known = self._sources.started
        checkpoint = self._sources.checkpoint
        if checkpoint is not None and checkpoint.started(write.name):
            known = committed(checkpoint, [write])
        found = {place: known.get(place[1], {}).get(place[2], -1) for place in places}
        return found if all(offset >= 0 for offset in found.values()) else None

    def _follow(self) -> None:
        while not self._end.wait(LOOK_SECONDS):
            try:
                if not self._writes:
                    self._open(late=True)
                self.flows = tuple(w.look() for w in self._writes.values())
                if self._tell is not None:
                    for flow in self.flows:
                        self._tell(flow)
            except Exception:  # noqa: BLE001 - whatever its client says: what is not known is not shown
                self.flows = ()
        for w in self._writes.values():
            w.source.close()
            w.sink.close()
