"""Whether the topics of a checkpoint are the same topics still, and going on from the first offset of one that is not.

A topic that was deleted and created again has Kafka's topic id of its own, and offsets that begin anew: what a
checkpoint knows of it means nothing there. The ids stand beside the checkpoint; without an id (brokers before 2.8,
checkpoints of older versions) a topic that ends before the checkpoint's offset is told by that.
"""

from __future__ import annotations

import json
import re
import time
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.kafka.admin import NO_ID, KafkaAdmin
from flinkddl.runtime.kafka.offsets import client_properties
from flinkddl.runtime.storage.checkpoint import forget_stops, is_kept
from flinkddl.runtime.storage.file_systems import LOCAL

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from flinkddl.runtime.job.topics.sources import Sources
    from flinkddl.runtime.kafka.admin import Offsets
    from flinkddl.runtime.storage.checkpoint import Checkpoint
    from flinkddl.spark import job as J

FILE = "flinkddl-topics.json"
_SOURCE = re.compile(r"^([^{]*)(\{.*\})$", re.DOTALL)  # a line of Spark's offset log: the source's name and offsets


@dataclass
class KnownTopics:
    """What a checkpoint knows of its topics: ``ids`` by read and topic, ``written`` by write and topic.

    ``raised`` is added to a topic's offsets where they order changes of a key: the records of a topic that was created
    again come after those of the one before.
    """

    ids: dict[str, dict[str, str]] = field(default_factory=dict)
    raised: dict[str, int] = field(default_factory=dict)
    written: dict[str, dict[str, str]] = field(default_factory=dict)

    @staticmethod
    def read(checkpoint: Checkpoint | None) -> KnownTopics:
        """Return what stands beside a checkpoint; nothing where it is new or goes with the run."""
        if not is_kept(checkpoint):
            return KnownTopics()
        text = checkpoint.storage.read(f"{checkpoint.root}/{FILE}")
        return KnownTopics() if text is None else KnownTopics(**json.loads(text))

    def write(self, checkpoint: Checkpoint | None) -> None:
        """Put it beside the checkpoint."""
        if is_kept(checkpoint):
            text = json.dumps(asdict(self), indent=1)
            checkpoint.storage.write(f"{checkpoint.root}/{FILE}", text)


def same(before: str | None, now: str) -> bool:
    """Whether two ids may be those of one topic; without an id nobody knows."""
    return before in (None, NO_ID, now) or now == NO_ID


def created_again(topic: str, place: tuple[int, int, int], ids: tuple[str | None, str] = (None, "")) -> FlinkDdlError:
    """Return FD865. ``place``: a partition, the checkpoint's offset and the topic's end; ``ids``: then and now."""
    partition, stands, end = place
    known = f" (its id was {ids[0]} and is {ids[1]})" if ids[0] else ""
    return FlinkDdlError.of(
        "FD865",
        f"the topic '{topic}' was deleted and created again{known}: the checkpoint stands at offset {stands} of"
        f" partition {partition}, the topic ends at {end}",
        help=f"`flinkddl run ... --from-first-offset {topic}` goes on from its first offset with the state kept,"
        " --fresh starts anew",
    )


def for_kept(error: FlinkDdlError, sources: Sources) -> FlinkDdlError:
    """Return an error whose advice is about a checkpoint with another one where nothing is kept beyond the run."""
    if is_kept(sources.checkpoint):
        return error
    help = "no checkpoint is kept beyond this run: start the job again, it begins as its tables say"
    return FlinkDdlError([replace(d, help=help) for d in error.diagnostics])


def check_topics(
    sources: Sources, checkpoint: Checkpoint | None, from_first: Collection[str], notice: Callable[[str], None]
) -> KnownTopics:
    """Compare the topics of a job that is about to go on with what its checkpoint knows; note the ids of new ones.

    ``from_first``: topics of which another one is read from its first offset, the state kept.
    Raises FD865 for others that were created again.
    """
    known, writes = KnownTopics.read(checkpoint), sources.job.runs
    begun = checkpoint is not None and any(checkpoint.started(w.name) for w in writes)
    stands = committed(checkpoint, writes) if checkpoint is not None else {}
    for step in sources.kafka_reads:
        if not step.streaming:
            continue
        with KafkaAdmin(client_properties(step.options)) as admin:
            topics = sources.places[step.name]
            sources.begins |= admin.begin_offsets(topics)
            ids = known.ids.setdefault(step.name, {})
            for topic, now in admin.topic_ids(topics).items():
                again = _difference(topic, (ids.get(topic), now), stands.get(topic, {}), admin) if begun else None
                if again is not None and (topic not in from_first or _on_several(sources, topic)):
                    raise again
                if again is not None and checkpoint is not None:
                    known.raised[topic] = known.raised.get(topic, 0) + max(stands.get(topic, {}).values(), default=0)
                    known.write(checkpoint)  # the new id comes last: a run that is cut off here is told again
                    _go_on(checkpoint, writes, topic, sources.begins[topic])
                    forget_stops(checkpoint)
                    notice(
                        f"the topic '{topic}' was created again: it is read from its first offset, the state is kept"
                    )
                elif topic in from_first and begun:
                    notice(f"the topic '{topic}' is the one that the checkpoint knows: it is read on from there")
                elif topic in from_first:
                    notice(f"no checkpoint knows the topic '{topic}': it is read as its table says")
                ids[topic] = now
    known.write(checkpoint)
    return known


def _difference(
    topic: str, ids: tuple[str | None, str], stands: Mapping[int, int], admin: KafkaAdmin
) -> FlinkDdlError | None:
    """Return FD865 for another topic. One that has just got a new leader may end too early for a moment."""
    other = not same(*ids)
    for pause in (0.0, 1.0, 2.0):
        time.sleep(pause)
        ends = admin.end_offsets([topic])[topic]
        short = {p: stands[p] - ends.get(p, 0) for p in stands if ends.get(p, 0) < stands[p]}
        if other or not short:
            break
    if not other and not short:
        return None
    partition = max(short or stands, key=lambda p: short.get(p, 0), default=0)
    place = (partition, stands.get(partition, 0), ends.get(partition, 0))
    return created_again(topic, place, ids if other else (None, ids[1]))


def _on_several(sources: Sources, topic: str) -> bool:
    """Whether topics of one name lie on two clusters: the offset log does not tell them apart."""
    reads = [s for s in sources.kafka_reads if topic in sources.places.get(s.name, {})]
    return len({client_properties(s.options).get("bootstrap.servers") for s in reads}) > 1


# ---- Spark's offset log --------------------------------------------------------------------------------------------


def committed(checkpoint: Checkpoint, writes: Iterable[J.Write]) -> Offsets:
    """Return the offsets that each query of a checkpoint goes on from; the least where several read a topic."""
    out: Offsets = {}
    for write in writes:
        folder, newest = checkpoint.location(write.name), _newest(checkpoint, write)
        text = None if newest is None else checkpoint.storage.read(f"{folder}/offsets/{newest}")
        for _, places in _sources(text or ""):
            for topic, offsets in places.items():
                known = out.setdefault(topic, {})
                known |= {int(p): min(o, known.get(int(p), o)) for p, o in offsets.items()}
    return out


def _newest(checkpoint: Checkpoint, write: J.Write) -> int | None:
    """Return the newest batch of a query that was planned and has ended."""
    folder = checkpoint.location(write.name)
    return max(_numbers(checkpoint, f"{folder}/offsets") & _numbers(checkpoint, f"{folder}/commits"), default=None)


def _numbers(checkpoint: Checkpoint, folder: str) -> set[int]:
    return {int(name) for name in checkpoint.storage.names(folder) if name.isdigit()}


def _sources(text: str) -> list[tuple[str, dict[str, dict[str, int]]]]:
    """Return the Kafka sources in a file of the offset log: what stands before their offsets, and the offsets."""
    found = (_SOURCE.match(line) for line in text.split("\n"))
    return [(m[1], places) for m in found if m and _is_kafka(places := _json(m[2]))]


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:  # a source of the user's own may write its offsets as it likes
        return None


def _is_kafka(value: Any) -> bool:
    def offsets(places: Any) -> bool:
        return isinstance(places, dict) and all(p.isdigit() and isinstance(o, int) for p, o in places.items())

    return isinstance(value, dict) and bool(value) and all(map(offsets, value.values()))


def _go_on(checkpoint: Checkpoint, writes: Iterable[J.Write], topic: str, first: Mapping[int, int]) -> None:
    """Let every query of a checkpoint go on at these offsets of a topic; state and other topics stay.

    A batch that was planned and has not ended reads nothing of the topic: the records that it was to read are gone.
    """
    for write in writes:
        folder, newest = checkpoint.location(write.name), _newest(checkpoint, write)
        planned = sorted(n for n in _numbers(checkpoint, f"{folder}/offsets") if newest is None or n >= newest)
        for number in planned:
            _put(checkpoint, f"{folder}/offsets", str(number), (topic, first))
        if newest is None:  # else nobody asks any more where its sources began
            for source in checkpoint.storage.names(f"{folder}/sources"):
                _put(checkpoint, f"{folder}/sources/{source}", "0", (topic, first))


def _put(checkpoint: Checkpoint, folder: str, name: str, place: tuple[str, Mapping[int, int]]) -> None:
    topic, first = place
    text = checkpoint.storage.read(f"{folder}/{name}") or ""
    lines = text.split("\n")
    for n, line in enumerate(lines):
        for before, places in _sources(line):
            if topic in places:
                one = before.endswith(":")  # the source has a name: it reads one partition
                kept = {str(p): o for p, o in first.items() if not one or str(p) in places[topic]}
                lines[n] = before + json.dumps(places | {topic: kept}, separators=(",", ":"))
    if lines != text.split("\n"):
        checkpoint.storage.write(f"{folder}/{name}", "\n".join(lines))
        if checkpoint.storage is LOCAL:  # which knows nothing of Hadoop's checksum of the file as it was
            checkpoint.storage.remove(f"{folder}/.{name}.crc")
