"""Whether the topics that a job writes are the ones that it has written: a topic that is deleted takes its rows along.

Kafka's producers write into whatever has the name, and so does Flink's sink, in silence. The ids stand beside the
checkpoint, as those of the topics that are read. A sink that names its topics by row is not looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.job.topics.topic_ids import for_kept, same
from flinkddl.runtime.kafka.admin import KafkaAdmin
from flinkddl.runtime.kafka.offsets import client_properties

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from flinkddl.runtime.job.topics.sources import Sources
    from flinkddl.runtime.job.topics.topic_ids import KnownTopics
    from flinkddl.spark.job import Write

LOOKS = 5
"""So often a topic is not there before it counts as deleted: a broker hears of a new one a moment later."""


class WrittenTopics:
    """The ids of the topics that a job writes, in ``known``."""

    def __init__(self, sources: Sources, known: KnownTopics) -> None:
        self._sources, self._known = sources, known
        self._missed: dict[str, int] = {}

    def look(self, write: Write, admin: KafkaAdmin) -> FlinkDdlError | None:
        """Ask for the topic of a write; return FD891 where it is another one, or gone."""
        topic, ids = write.options.get("topic"), self._known.written.setdefault(write.name, {})
        if topic is None:
            return None
        now = admin.topic_id(topic)
        self._missed[write.name] = 0 if now else self._missed.get(write.name, 0) + 1
        if now and same(ids.get(topic), now):
            if ids.get(topic) != now:  # the job itself may have had it made
                ids[topic] = now
                self._known.write(self._sources.checkpoint)
            return None
        if topic in ids and (now or self._missed[write.name] >= LOOKS):
            return for_kept(_gone(write, topic, now), self._sources)
        return None


def check_written(
    sources: Sources, known: KnownTopics, from_first: Collection[str], notice: Callable[[str], None]
) -> None:
    """Compare the topics that a job is about to write with what its checkpoint knows; note the ids of new ones.

    ``from_first``: topics of which another one is gone on into. Raises FD891 for others.
    """
    checkpoint = sources.checkpoint
    for write in sources.kafka_writes if sources.job.streaming else ():
        topic, ids = write.options.get("topic"), known.written.setdefault(write.name, {})
        if topic is None:
            continue
        with KafkaAdmin(client_properties(write.options)) as admin:
            now = admin.topic_id(topic)
        begun = checkpoint is not None and checkpoint.started(sources.job.run_of(write.name))
        if begun and topic in ids and not (now and same(ids[topic], now)):
            if topic not in from_first:
                raise _gone(write, topic, now)
            notice(f"the topic '{topic}' was created again: it is written on, what was in the one before is not in it")
        ids.pop(topic, None)
        ids |= {topic: now} if now else {}
    known.write(checkpoint)


def _gone(write: Write, topic: str, now: str | None) -> FlinkDdlError:
    again = " and created again" if now else ""
    return FlinkDdlError.of(
        "FD891",
        f"the topic '{topic}', which '{write.table}' writes, was deleted{again}: what the job had written is not there",
        help=f"`flinkddl run ... --from-first-offset {topic}` writes on into a new topic with the state kept, --fresh"
        " starts anew and writes all of it again",
    )
