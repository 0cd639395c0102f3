"""What is looked up before the first query of a job: classes, clusters, topics, cores, partitions, stops."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.job.topics.sources import Sources, other_partitions
from flinkddl.runtime.job.topics.topic_ids import check_topics
from flinkddl.runtime.job.topics.written_topics import check_written
from flinkddl.runtime.kafka.admin import KafkaAdmin
from flinkddl.runtime.kafka.offsets import await_stops, client_properties, partitions_of
from flinkddl.runtime.session.classes import check_classes
from flinkddl.runtime.session.connect import check_kafka, is_connect
from flinkddl.runtime.session.extras import add_extras
from flinkddl.runtime.session.java_jars import ship_java
from flinkddl.runtime.session.stages import tell_missing
from flinkddl.runtime.storage.checkpoint import changed_partitions, kept_stops
from flinkddl.runtime.udf import refuse_foreign, register
from flinkddl.spark.realtime import tasks

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from flinkddl.runtime.job.supervising.held import Held
    from flinkddl.runtime.job.topics.topic_ids import KnownTopics
    from flinkddl.spark import job as J


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
    check_cores(spark, job)
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


# ---- cores: real-time mode runs every task of a job at once ---------------------------------------------------------


def local_cores(master: str) -> int | None:
    """Return the cores of a local master; None for a cluster, whose size is not known here."""
    found = re.fullmatch(r"local(?:\[(\d+|\*)(?:,\s*\d+)?\])?", master)
    if found is None:
        return None
    given = found.group(1) or "1"
    return (os.cpu_count() or 1) if given == "*" else int(given)


def check_cores(spark: SparkSession, job: J.SparkJob) -> None:
    """Raise FD663, with the number needed, when a real-time job has more tasks than a local master has cores."""
    master = spark.conf.get("spark.master", "") or ""
    cores = local_cores(master)
    if job.trigger[0] != "realTime" or cores is None:
        return
    needed = tasks(job, _partitions, int(spark.conf.get("spark.sql.shuffle.partitions", "200") or 200))
    if needed > cores:
        raise FlinkDdlError.of(
            "FD663",
            f"real-time mode runs all {needed} tasks of the job at once, and master '{master}' has {cores} cores",
            help=f"start with --master 'local[{needed}]'; that may be more than the machine has",
        )


def _partitions(step: J.Read) -> int:
    with KafkaAdmin(client_properties(step.options)) as admin:
        return sum(map(len, partitions_of(step.options, admin).values()))
