"""A look at the topics of a running job once a second: records deleted unread, topics created again, brokers away.

Spark's Kafka source with ``failOnDataLoss`` = ``false`` leaves out what is not there any more and says so in its log
only, so the loss is found here, from a batch's first offset and the topic's. The topic is asked *after* the batch: its
first offset only rises, so where it is not behind the batch's first one nothing was lost, and no loss is missed,
whatever retention did meanwhile. Where it is behind, the rows that the batch gave tell how many were missing: as many
rows as offsets, and nothing was. Records that no reader sees (compacted ones, the markers of transactions) lie behind
the topic's first offset and are no loss; only those that were deleted soon after the batch passed them are counted too.

The asking has a thread of its own, as a broker that hangs answers after half a minute; the job's supervisor calls
``tell`` and hears what there is.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.job.reporting.progress import offsets_in
from flinkddl.runtime.job.topics.topic_ids import KnownTopics, created_again, for_kept, same
from flinkddl.runtime.job.topics.written_topics import WrittenTopics
from flinkddl.runtime.kafka.admin import KafkaAdmin
from flinkddl.runtime.kafka.offsets import client_properties, topics_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from flinkddl.runtime.job.topics.sources import Sources
    from flinkddl.runtime.kafka.admin import Offsets
    from flinkddl.spark.job import Read, Write

LOOK_SECONDS = 1.0
AWAY_SECONDS = 8.0
SILENT_SECONDS = 2.0
SETTLE_SECONDS = 5.0
_PASSING = ("FD811", "FD814")  # a cluster that is away, or refuses: the queries say so when it matters
Place = tuple[str, int]


@dataclass(frozen=True)
class Gap:
    """Records that were deleted before they were read: from the offset ``wanted`` up to ``first``, which is there."""

    topic: str
    partition: int
    wanted: int
    first: int

    def __str__(self) -> str:
        return (
            f"{self.first - self.wanted:,} records of topic '{self.topic}' partition {self.partition} were deleted"
            f" before they were read: wanted offset {self.wanted}, the first one there is {self.first}"
        )


@dataclass(frozen=True)
class _Batch:
    """The offsets that a source of a batch was to read, and how many rows it gave, where that is known."""

    write: str
    places: Mapping[Place, tuple[int, int]]
    rows: int | None


@dataclass
class _Cluster:
    """One Kafka cluster, with times as monotonic seconds.

    ``asked``: a question was put that has no answer yet; ``looked``: the last one with an answer was put.
    """

    properties: Mapping[str, str]
    reads: list[Read] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    asked: float | None = None
    looked: float = 0.0
    admin: KafkaAdmin | None = None

    @property
    def servers(self) -> str:
        return self.properties.get("bootstrap.servers", "")

    def away(self, seconds: float) -> float | None:
        """Return since when it does not answer, where that is at least so long."""
        asked = self.asked
        return asked if asked is not None and time.monotonic() - asked > seconds else None


class TopicWatch:
    """Follows the topics of one job from ``start`` to ``stop``.

    ``lost`` are records deleted unread, by topic; ``first`` the first offsets of the last look; ``error`` is FD865 once
    a topic has been created again, FD891 of one that is written.
    """

    def __init__(
        self, sources: Sources, known: KnownTopics, notice: Callable[[str], None], read_to: Callable[[], Offsets]
    ) -> None:
        self.lost: dict[str, int] = {}
        self.error: FlinkDdlError | None = None
        self._known, self._notice, self._sources, self._read_to = known, notice, sources, read_to
        self._clusters: dict[frozenset[tuple[str, str]], _Cluster] = {}
        for properties, read in sources.clients():
            cluster = self._clusters.setdefault(frozenset(properties.items()), _Cluster(properties))
            cluster.reads += [read] if read is not None else []
        for write in sources.kafka_writes:
            self._clusters[frozenset(client_properties(write.options).items())].writes.append(write)
        self._written = WrittenTopics(sources, known)
        self.first: dict[Place, int] = {}
        self._batches: list[_Batch] = []  # not looked at yet
        self._away: dict[str, float] = {}  # what has been said of addresses: away since then
        self._back_at: float | None = None
        self._told: set[Gap] = set()
        self._told_to: dict[tuple[str, str, int], int] = {}
        self._gaps: list[Gap] = []
        self._lock = threading.Lock()
        self._end = threading.Event()
        self._threads: list[threading.Thread] = []

    # what the supervisor calls

    def start(self) -> None:
        """Begin to look."""
        for cluster in self._clusters.values():
            thread = threading.Thread(target=self._follow, args=(cluster,), name="flinkddl topics", daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        """Look a last time where a cluster answers, and end."""
        self._end.set()
        end = time.monotonic() + (2 * LOOK_SECONDS if self.answers else 0)
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
        self.tell()

    def batch(self, write: str, event: Mapping[str, Any], once: bool) -> None:
        """Take the offsets of a finished batch; ``once``: its query reads each source by one way only."""
        for source in event.get("sources", []):
            begin, end = offsets_in(source.get("startOffset")), offsets_in(source.get("endOffset"))
            # the first batch of a query has no start in Spark's report: it is what the job was started with
            begin = begin or {t: {p: o for p, o in ps.items() if o >= 0} for t, ps in self._sources.started.items()}
            places = {(t, p): (begin[t][p], o) for t, ps in end.items() for p, o in ps.items() if p in begin.get(t, {})}
            if places:
                read = source.get("numInputRows")
                with self._lock:
                    self._batches.append(_Batch(write, places, int(read) if once and read is not None else None))

    def settle(self) -> None:
        """Wait for a look that begins now, where the clusters answer soon, and ``tell``."""
        began, end = time.monotonic(), time.monotonic() + SETTLE_SECONDS
        while any(c.looked < began for c in self._clusters.values()) and time.monotonic() < end:
            time.sleep(LOOK_SECONDS / 20)
        self.tell()

    def tell(self) -> None:
        """Say what was found since. Raises FD865, FD891."""
        with self._lock:
            gaps, self._gaps = self._gaps, []
        for gap in gaps:
            self.lost[gap.topic] = self.lost.get(gap.topic, 0) + gap.first - gap.wanted
            self._notice(str(gap))
        self._tell_away()
        if self.error is not None:
            raise self.error

    def _tell_away(self) -> None:
        """Say once of each address that it is away, and once that it is back; several clients may have it."""
        now = self._silent(AWAY_SECONDS)
        for servers, since in now.items():
            if servers not in self._away:
                self._away[servers] = since
                self._notice(f"Kafka at '{servers}' does not answer since {_clock(since)}; the job waits")
        silent = self._silent(0)
        for servers in [s for s in self._away if s not in silent]:
            since, self._back_at = self._away.pop(servers), time.monotonic()
            self._notice(f"Kafka at '{servers}' is back after {time.monotonic() - since:.0f} s; the job goes on")

    def _silent(self, seconds: float) -> dict[str, float]:
        """Return the addresses that have not answered for so long, with since when."""
        found: dict[str, float] = {}
        for cluster in self._clusters.values():
            since = cluster.away(seconds)
            if since is not None:
                found[cluster.servers] = min(since, found.get(cluster.servers, since))
        return found

    @property
    def away(self) -> str:
        """What is waited for, in words: a cluster that does not answer; else nothing."""
        found = list(self._silent(AWAY_SECONDS).items())
        return f"waiting for Kafka at '{found[0][0]}', away since {_clock(found[0][1])}" if found else ""

    @property
    def answers(self) -> bool:
        """Whether no cluster keeps a question waiting."""
        return not self._silent(SILENT_SECONDS)

    def was_away(self, seconds: float) -> bool:
        """Whether a cluster does not answer, or was told to be away within the last seconds."""
        return not self.answers or (self._back_at is not None and time.monotonic() - self._back_at < seconds)

    # in a thread of its own

    def _follow(self, cluster: _Cluster) -> None:
        while True:
            last = self._end.is_set()
            self._look(cluster)
            if last:
                break
            self._end.wait(LOOK_SECONDS)
        if cluster.admin is not None:
            with suppress(Exception):
                cluster.admin.close()

    def _look(self, cluster: _Cluster) -> None:
        """Ask once."""
        began = time.monotonic()
        cluster.asked = cluster.asked or began
        try:
            if cluster.admin is None:
                cluster.admin = KafkaAdmin(cluster.properties)
            if not cluster.reads:
                cluster.admin.cluster_id()
            for write in cluster.writes:
                self.error = self.error or self._written.look(write, cluster.admin)
            for read in cluster.reads:
                self._look_at(read, cluster.reads, cluster.admin)
        except FlinkDdlError as error:
            self._no_answer(cluster, error.diagnostics[0].code)
        except Exception:  # noqa: BLE001 - whatever its client says, it has not answered
            self._no_answer(cluster, "FD811")
        else:
            cluster.asked, cluster.looked = None, began

    def _no_answer(self, cluster: _Cluster, code: str) -> None:
        if code not in _PASSING:  # it has answered, that a topic is not there; or a key store is not
            cluster.asked = None
        if cluster.admin is not None:
            with suppress(Exception):
                cluster.admin.close()
            cluster.admin = None

    def _look_at(self, read: Read, reads: list[Read], admin: KafkaAdmin) -> None:
        with self._lock:
            batches = list(self._batches)
        topics = topics_of(read.options, admin)
        ids = admin.topic_ids(topics)
        first = admin.begin_offsets(topics)
        known = self._known.ids.setdefault(read.name, {})
        for topic, now in ids.items():
            if not same(known.get(topic), now):
                self.error = self._created_again(topic, (known[topic], now), admin.end_offsets([topic])[topic])
                return
            known[topic] = now
        # Spark itself sees each loss then, and fails; where a topic is read in both ways, so far as this one is read
        strict = all(r.options.get("failOnDataLoss") == "true" for r in reads)
        with self._lock:
            self.first |= {(t, p): o for t, places in first.items() for p, o in places.items()}
            self._batches = [b for b in self._batches if b not in batches or not b.places.keys() <= self.first.keys()]
        for batch in batches:
            if not strict:
                self._compare(batch)

    def _compare(self, batch: _Batch) -> None:
        """Add the gaps of a batch. As many rows as offsets are no loss; a consumer had fetched them before.

        Fewer rows: so many are missing at the most, those before the topic's first offset.
        """
        offsets = sum(end - start for start, end in batch.places.values())
        missing = offsets - batch.rows if batch.rows is not None and batch.rows <= offsets else offsets
        for (topic, partition), (start, end) in batch.places.items():
            key, first = (batch.write, topic, partition), self.first.get((topic, partition), 0)
            begin, reach = max(start, self._told_to.get(key, start)), min(first, end)
            wanted = reach - min(missing, reach - begin)
            if wanted >= reach:
                continue
            self._told_to[key] = first
            gap = Gap(topic, partition, wanted, first)
            with self._lock:
                if gap not in self._told:  # a topic that several queries read has one gap
                    self._told.add(gap)
                    self._gaps.append(gap)

    def _created_again(self, topic: str, ids: tuple[str, str], ends: Mapping[int, int]) -> FlinkDdlError:
        read = self._read_to().get(topic, {})
        partition = max(read, key=lambda p: read[p] - ends.get(p, 0), default=0)
        error = created_again(topic, (partition, read.get(partition, 0), ends.get(partition, 0)), ids)
        return for_kept(error, self._sources)


def _clock(since: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(time.time() - (time.monotonic() - since)))
