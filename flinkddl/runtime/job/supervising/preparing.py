"""What is looked up before the first query of a job: classes, clusters, topics, cores, partitions, stops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.job.supervising.slots import take_cores
from flinkddl.runtime.job.topics.sources import Sources, other_partitions
from flinkddl.runtime.job.topics.topic_ids import check_topics
from flinkddl.runtime.job.topics.written_topics import check_written
from flinkddl.runtime.kafka.admin import KafkaAdmin
from flinkddl.runtime.kafka.offsets import await_stops, client_properties
from flinkddl.runtime.session.classes import check_classes
from flinkddl.runtime.session.connect import check_kafka, is_connect
from flinkddl.runtime.session.extras import add_extras
from flinkddl.runtime.session.java_jars import ship_java
from flinkddl.runtime.session.stages import tell_missing
from flinkddl.runtime.storage.checkpoint import changed_partitions, kept_stops
from flinkddl.runtime.udf import refuse_foreign, register

if TYPE_CHECKING:
    from collections.abc import Callable

    from flinkddl.runtime.job.supervising.held import Held
    from flinkddl.runtime.job.topics.topic_ids import KnownTopics


def prepare(held: Held, asked: Callable[[], bool]) -> tuple[Sources, KnownTopics]:
    """Take the checkpoint and return the job's sources, with all that is known of them, and the topics it knows.

    ``asked``: whether the end was asked for, which ends the wait for offsets that are not there yet.
    """
    spark, job, options = held.spark, held.job, held.options
    refuse_foreign(job)
    for name, target in job.udfs.items():
        register(spark, name, target)
    add_extras(spark, job.extras)
    ship_java(spark, job.jars)
    held.open()
    job = held.job
    if job.once and any(held.started):
        message = f"the table '{job.once}' cannot be read on from a checkpoint: what it gave is gone"
        raise FlinkDdlError.of("FD479", message, help="begin anew with --fresh, or run without --checkpoint")
    sources = Sources(
        job, held.checkpoint, max_offsets_per_trigger=options.max_offsets_per_trigger, frames=options.frames
    )
    if is_connect(spark) and sources.uses_kafka:
        check_kafka(spark)
    check_classes(spark, job)
    tell_missing(spark, job, options.notice)
    sources.preflight()
    take_cores(held, spark, job)
    known = check_topics(sources, held.checkpoint, options.from_first, options.notice)
    check_written(sources, known, options.from_first, options.notice)
    sources.raised = known.raised
    sources.split()
    sources.fix_stops()
    _go_on(held, sources)
    _await_stops(sources, held, asked)
    return sources, known


def _go_on(held: Held, sources: Sources) -> None:
    """Take from the checkpoint what an earlier run has fixed. Raises FD817 for partitions that it cannot take."""
    if held.checkpoint is None:
        return
    sources.resumes = all(held.started)
    sources.stops = kept_stops(held.checkpoint, sources.stops, known=any(held.started))
    if sources.apart and not sources.named:
        changed = changed_partitions(held.checkpoint, sources.apart, known=sources.resumes)
        if changed:
            raise other_partitions(changed)


def _await_stops(sources: Sources, held: Held, asked: Callable[[], bool]) -> None:
    for step in sources.kafka_reads:
        if step.name in sources.stops:
            with KafkaAdmin(client_properties(step.options)) as admin:
                await_stops(sources.stops[step.name], admin, held.options.notice, asked)
