"""Whether a job's clusters are there: asked in milliseconds, before Spark takes its seconds to start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.runtime.kafka.admin import KafkaAdmin
from flinkddl.runtime.kafka.offsets import client_properties
from flinkddl.spark import job as J

if TYPE_CHECKING:
    from flinkddl.spark.job import SparkJob


def reach(job: SparkJob) -> None:
    """Raise FD811 for a cluster that does not answer, FD813, FD814 where it does not let this client in."""
    used = [s.options for s in job.steps if isinstance(s, J.Read) and s.of_topics]
    used += [w.options for w in job.writes if w.into_topics]
    for properties in {frozenset(client_properties(options).items()) for options in used}:
        KafkaAdmin(dict(properties)).close()
