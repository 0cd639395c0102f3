"""Start and stop positions of Kafka reads: ``Read.start`` / ``Read.stop`` turned into numbers and Spark options.

``start``: ``mode`` = earliest-offset | latest-offset | group-offsets | timestamp | specific-offsets, with ``group`` and
``reset`` (earliest, latest, none), ``timestamp`` (epoch milliseconds) or ``offsets`` (``partition:0,offset:5;...``).
A handover adds ``topic-offsets``: ``offsets`` as JSON, topic to partition to offset; other partitions are new and read
from their beginning.
``stop``: the same modes but earliest, and ``unbounded``. Rules: kafka-connectors reference, sections 4.4 and 4.5.
"""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.functions.core import string
from flinkddl.runtime.kafka.admin import KafkaAdmin, Offsets
from flinkddl.spark.calls import known_positions
from flinkddl.spark.partitions import SUBSCRIPTION, branch_options, source_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

EARLIEST, LATEST = -2, -1  # Spark's own numbers in startingOffsets
COMMITTED = -3  # Flink's number for "where the group stands"
_MARKERS = (EARLIEST, LATEST, COMMITTED)
_RESETS: Mapping[str, int] = {"earliest": EARLIEST, "latest": LATEST}
POLL_SECONDS = 0.5


def client_properties(options: Mapping[str, str]) -> dict[str, str]:
    """Return the Kafka client properties of a Spark source or sink: its ``kafka.*`` options without the prefix."""
    return {key.removeprefix("kafka."): value for key, value in options.items() if key.startswith("kafka.")}


def topics_of(options: Mapping[str, str], admin: KafkaAdmin) -> list[str]:
    """Return the topics that a Kafka source reads (``subscribe``, ``subscribePattern`` or ``assign``)."""
    if "subscribePattern" in options:
        return admin.matching(options["subscribePattern"])
    if "assign" in options:
        return sorted(json.loads(options["assign"]))
    return [name.strip() for name in options["subscribe"].split(",")]


def partitions_of(options: Mapping[str, str], admin: KafkaAdmin) -> dict[str, list[int]]:
    """Return the partitions that a Kafka source reads. Raises FD812 for a topic that is not there."""
    found = admin.partitions(topics_of(options, admin))
    if "assign" in options:
        assigned = json.loads(options["assign"])
        return {topic: sorted(assigned[topic]) for topic in found}
    return found


def assigned(options: Mapping[str, str], places: Mapping[str, Iterable[int]] | None = None) -> dict[str, str]:
    """Return the options of a source that keeps to some partitions: to those that are there now if none are given."""
    if places is None:
        with KafkaAdmin(client_properties(options)) as admin:
            places = partitions_of(options, admin)
    rest = {k: v for k, v in options.items() if k not in SUBSCRIPTION}
    return {**rest, "assign": json.dumps({topic: sorted(numbers) for topic, numbers in sorted(places.items())})}


def start_offsets(
    options: Mapping[str, str], start: Mapping[str, str], admin: KafkaAdmin, bounded: bool = False
) -> Offsets:
    """Return the first offset to read per partition; EARLIEST and LATEST stand for themselves.

    Raises FD815 when a group has committed nothing and its reset says ``none``, as Flink fails.
    """
    parts = partitions_of(options, admin)
    match start.get("mode", "earliest-offset"):
        case "earliest-offset":
            return _all(parts, EARLIEST)
        case "latest-offset":
            return _all(parts, LATEST)
        case "timestamp":
            return _only(admin.offsets_at(parts, _millis(start)), parts)
        case "group-offsets":
            return _group_start(parts, start, admin)
        case "specific-offsets":
            return _specific_start(parts, start, admin, bounded)
        case "topic-offsets":
            fixed = {t: {int(p): int(o) for p, o in ps.items()} for t, ps in json.loads(start["offsets"]).items()}
            return {t: {p: fixed.get(t, {}).get(p, EARLIEST) for p in numbers} for t, numbers in parts.items()}
        case other:
            raise FlinkDdlError.of("FD902", f"unknown start mode '{other}'")


def _group_start(parts: Mapping[str, list[int]], start: Mapping[str, str], admin: KafkaAdmin) -> Offsets:
    group, reset = start["group"], start.get("reset", "none").lower()
    committed = admin.committed(group, parts)
    missing = [(t, p) for t, numbers in parts.items() for p in numbers if p not in committed[t]]
    if missing and reset not in _RESETS:
        topic, partition = missing[0]
        raise FlinkDdlError.of(
            "FD815",
            f"the group '{group}' has committed no offset for partition {partition} of topic '{topic}'",
            help="set 'properties.auto.offset.reset' to 'earliest' or 'latest', or another 'scan.startup.mode'",
        )
    return {t: {p: committed[t].get(p, _RESETS.get(reset, EARLIEST)) for p in ps} for t, ps in parts.items()}


def _specific_start(
    parts: Mapping[str, list[int]], start: Mapping[str, str], admin: KafkaAdmin, bounded: bool
) -> Offsets:
    """Given offsets; a partition that is not listed starts where its group stands, else at the beginning.

    An offset behind the topic's end means the beginning too; one before it stays, and Spark goes on at the beginning.
    """
    given = parse_specific(start["offsets"])
    committed = admin.committed(start["group"], parts) if start.get("group") else {}
    end = admin.end_offsets(parts)

    def place(topic: str, partition: int) -> int:
        stands = committed.get(topic, {}).get(partition, EARLIEST)
        offset = given.get(partition, stands)
        if offset in _MARKERS:
            return stands if offset == COMMITTED else offset
        if offset > end[topic][partition] and bounded:
            return end[topic][partition]  # it lies behind its stop: nothing is asked for that could be out of range
        return offset if offset <= end[topic][partition] else EARLIEST  # what was deleted since is told of

    return {t: {p: place(t, p) for p in numbers} for t, numbers in parts.items()}


def stop_offsets(options: Mapping[str, str], stop: Mapping[str, str], admin: KafkaAdmin) -> Offsets | None:
    """Return the exclusive end per partition, fixed now; None for ``unbounded``. A partition without one reads nothing.

    Raises FD815 for a group that has committed nothing.
    """
    mode = stop.get("mode", "unbounded")
    if mode == "unbounded":
        return None
    parts = partitions_of(options, admin)
    match mode:
        case "latest-offset":
            return _only(admin.end_offsets(parts), parts)
        case "timestamp":
            return _only(admin.offsets_at(parts, _millis(stop)), parts)
        case "group-offsets":
            return _group_start(parts, {**stop, "reset": "none"}, admin)
        case "specific-offsets":
            return _specific_stop(parts, stop, admin)
        case other:
            raise FlinkDdlError.of("FD902", f"unknown stop mode '{other}'")


def _specific_stop(parts: Mapping[str, list[int]], stop: Mapping[str, str], admin: KafkaAdmin) -> Offsets:
    """Given offsets; -1 stands for the end and -3 for where the group stands, as in Flink's own numbers."""
    given = parse_specific(stop["offsets"])
    ends = admin.end_offsets(parts) if LATEST in given.values() else {}
    committed = admin.committed(stop["group"], parts) if COMMITTED in given.values() and stop.get("group") else {}

    def place(topic: str, partition: int) -> int:
        offset = given[partition]
        found = {LATEST: ends, COMMITTED: committed}.get(offset, {}).get(topic, {}).get(partition, offset)
        if found < 0:
            message = f"there is no stop offset {offset} for partition {partition} of topic '{topic}'"
            raise FlinkDdlError.of("FD815", message, help="give an offset of 0 or more; -1 stands for the end")
        return found

    return {t: {p: place(t, p) for p in numbers if p in given} for t, numbers in parts.items()}


def _millis(position: Mapping[str, str]) -> int:
    millis = int(position["timestamp"])
    if millis < 0:
        raise FlinkDdlError.of("FD815", f"no record has the negative timestamp {millis}", help="give 0 or more")
    return millis


def parse_specific(text: str) -> dict[int, int]:
    """Return partition -> offset of ``partition:0,offset:42;partition:1,offset:300`` (checked by the options room)."""
    pairs = (item.split(",") for item in text.split(";") if item)
    return {int(p.removeprefix("partition:")): int(o.removeprefix("offset:")) for p, o in pairs}


def await_stops(stops: Offsets, admin: KafkaAdmin, notice: Callable[[str], None], stopped: Callable[[], bool]) -> None:
    """Wait until every partition has reached its stop, as a bounded Flink source does; ``stopped`` ends the waiting."""
    told = False
    while not stopped():
        ends = admin.end_offsets(stops)
        behind = [(t, p, ends[t][p], o) for t, ps in stops.items() for p, o in ps.items() if ends[t][p] < o]
        if not behind:
            return
        if not told:
            topic, partition, end, stop = behind[0]
            notice(f"waiting for topic '{topic}' partition {partition} to reach its stop offset {stop} (now {end})")
            told = True
        time.sleep(POLL_SECONDS)


def spark_options(
    options: Mapping[str, str], start: Mapping[str, str], stop: Mapping[str, str], streaming: bool
) -> dict[str, str]:
    """Return ``startingOffsets`` and, for a batch read, ``endingOffsets`` of a source; asks the cluster if it must."""
    if known := known_positions(start, stop, streaming):
        return known
    with KafkaAdmin(client_properties(options)) as admin:
        starts = start_offsets(options, start, admin, stop.get("mode", "unbounded") != "unbounded")
        if streaming:
            return {"startingOffsets": json.dumps(starts)}
        stops = stop_offsets(options, stop, admin) or admin.end_offsets(partitions_of(options, admin))
        return batch_range(starts, stops, admin)


def of_partitions(options: Mapping[str, str], places: Mapping[str, Iterable[int]]) -> dict[str, str]:
    """Return the options of ``spark_options`` for some of the partitions; words such as ``earliest`` hold for all."""
    start = options["startingOffsets"]
    if start.startswith("{"):
        offsets = json.loads(start)
        start = json.dumps({t: {str(p): offsets[t][str(p)] for p in numbers} for t, numbers in places.items()})
    return {**options, "startingOffsets": start}


def branches(
    options: Mapping[str, str], start: Mapping[str, str], stop: Mapping[str, str]
) -> list[tuple[str, dict[str, str]]]:
    """Return a tag and the Kafka source's options for each partition of a streaming read, for printed programs."""
    with KafkaAdmin(client_properties(options)) as admin:
        places = partitions_of(options, admin)
    starts = spark_options(options, start, stop, streaming=True)
    count = sum(map(len, places.values()))
    return [
        (source_name(f"{topic}-{p}"), branch_options(options, topic, p, count) | of_partitions(starts, {topic: [p]}))
        for topic, numbers in sorted(places.items())
        for p in numbers
    ]


def count(options: Mapping[str, str]) -> str:
    """Return how many partitions a streaming read has now, as text, for printed programs."""
    with KafkaAdmin(client_properties(options)) as admin:
        return str(sum(map(len, partitions_of(options, admin).values())))


def until(options: Mapping[str, str], stop: Mapping[str, str]) -> str:
    """Return the condition that ends a streaming read at its stop, fixed now, for printed programs; waits as Flink."""
    with KafkaAdmin(client_properties(options)) as admin:
        stops = stop_offsets(options, stop, admin) or {}
        await_stops(stops, admin, _tell, lambda: False)
    return stop_condition(stops)


def _tell(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def batch_range(starts: Offsets, stops: Offsets, admin: KafkaAdmin) -> dict[str, str]:
    """Return Spark's batch options for a range: real numbers, never a start behind its stop."""
    begin, end = admin.begin_offsets(starts), admin.end_offsets(starts)
    first: Offsets = {}
    last: Offsets = {}
    for topic, places in starts.items():
        first[topic], last[topic] = {}, {}
        for partition, offset in places.items():
            low, high = begin[topic][partition], end[topic][partition]
            start = {EARLIEST: low, LATEST: high}.get(offset, offset)
            stop = min(max(stops.get(topic, {}).get(partition, low), low), high)
            last[topic][partition] = stop
            first[topic][partition] = min(max(start, low), stop)
    return {"startingOffsets": json.dumps(first), "endingOffsets": json.dumps(last)}


def stop_condition(stops: Offsets) -> str:
    """Return the SQL condition over a Kafka record that it lies before its stop."""

    def of_topic(places: Mapping[int, int]) -> str:
        cases = " ".join(f"WHEN {p} THEN {o}L" for p, o in sorted(places.items()))
        return f"CASE `partition` {cases} ELSE 0L END" if cases else "0L"

    if len(stops) == 1:
        return f"`offset` < {of_topic(next(iter(stops.values())))}"
    cases = " ".join(f"WHEN {string(topic)} THEN {of_topic(places)}" for topic, places in sorted(stops.items()))
    return f"`offset` < CASE `topic` {cases} ELSE 0L END" if cases else "false"


def _all(parts: Mapping[str, Iterable[int]], offset: int) -> Offsets:
    return {topic: dict.fromkeys(numbers, offset) for topic, numbers in parts.items()}


def _only(offsets: Offsets, parts: Mapping[str, Iterable[int]]) -> Offsets:
    return {topic: {p: offsets[topic][p] for p in numbers} for topic, numbers in parts.items()}
