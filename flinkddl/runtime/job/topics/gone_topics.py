"""Which topic a broker means that says "This server does not host this topic-partition", and names none."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.kafka.admin import KafkaAdmin
from flinkddl.runtime.kafka.offsets import client_properties
from flinkddl.runtime.storage.checkpoint import is_kept

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from flinkddl.runtime.job.reporting.failures import JobFailed
    from flinkddl.runtime.job.topics.sources import Sources

NOT_HOSTED = "This server does not host this topic-partition"


def with_topic(failed: JobFailed, sources: Sources) -> JobFailed:
    """Return the failure with the topics of its job that are not there; all of them where none is missing now."""
    found = failed.diagnostics[0]
    if NOT_HOSTED not in found.message:
        return failed
    known, gone = _asked(sources)
    if gone:
        words = f"the topic {_listed(gone, 'and')} is not there ({NOT_HOSTED})"
        message = found.message.replace(NOT_HOSTED, words)
        again = " ".join(f"--from-first-offset {topic}" for topic in gone)
        go_on = f"go on with {again}" if is_kept(sources.checkpoint) else "start the job again"
        help = f"create it again and {go_on}, or drop its query; {found.help}"
        return failed.told(replace(found, message=message, help=help))
    message = found.message.replace(NOT_HOSTED, f"{NOT_HOSTED}: topic {_listed(known, 'or')}")
    return failed.told(replace(found, message=message))


def _asked(sources: Sources) -> tuple[list[str], list[str]]:
    """Return the topics of a job, and those that their clusters do not list; one that does not answer is left out."""
    clusters: dict[frozenset[tuple[str, str]], tuple[Mapping[str, str], set[str]]] = {}
    for properties, topics in _topics(sources):
        clusters.setdefault(frozenset(properties.items()), (properties, set()))[1].update(topics)
    gone: set[str] = set()
    for properties, wanted in clusters.values():
        try:
            with KafkaAdmin(properties) as admin:
                gone |= wanted - set(admin.topics())
        except FlinkDdlError:
            continue
    return sorted({t for _, wanted in clusters.values() for t in wanted}), sorted(gone)


def _topics(sources: Sources) -> Iterator[tuple[Mapping[str, str], Iterable[str]]]:
    for step in sources.kafka_reads:
        yield client_properties(step.options), sources.places.get(step.name, {})
    for write in sources.kafka_writes:
        if "topic" in write.options:
            yield client_properties(write.options), (write.options["topic"],)


def _listed(topics: list[str], word: str) -> str:
    return f" {word} ".join(f"'{t}'" for t in topics)
