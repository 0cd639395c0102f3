"""In which form a job runs: that in which its state was begun, and where there are no stages there is no chain.

What is there twice in a query runs once since state by key came in chains (``spark/stream/chain.py``); Spark takes no
operator less over a checkpoint that was begun with each by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.session.stages import stages_missing
from flinkddl.runtime.storage.checkpoint import job_folder, stored_plan
from flinkddl.runtime.storage.file_systems import LOCAL, storage_of
from flinkddl.runtime.storage.savepoints import savepoint_folder
from flinkddl.spark.fingerprint import BY_KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from pyspark.sql import SparkSession

    from flinkddl.runtime.job.run_options import RunOptions
    from flinkddl.spark.job import SparkJob


def as_begun(spark: SparkSession, job: SparkJob, options: RunOptions) -> SparkJob:
    """Return the job in the form in which its checkpoint or savepoint was written, and which this Spark takes.

    Raises FD893 where those are two.
    """
    if job.apart is None and job.older is None and job.as_begun is None:
        return job
    stored = _stored(spark, job, options)
    return formed(kept(job, stored), stored, lambda: stages_missing(spark))


def kept(job: SparkJob, stored: Mapping[str, Any] | None) -> SparkJob:
    """Return the job with each query in the form of state in which it was begun, where nobody has SET one.

    A query that was not there goes as is chosen for it, or, where all others have one form, as they.
    """
    if job.as_begun is None or stored is None:
        return job
    known = forms_of(stored)
    others = set(known.values())
    known = {name: known.get(name, min(others) if len(others) == 1 else form) for name, form in job.forms.items()}
    return job if known == job.forms else job.as_begun(dict(enumerate(known.values())))


def forms_of(stored: Mapping[str, Any]) -> dict[str, bool]:
    """Return whether the state of queries lies by key, by their names; of an older run one for all, by no name."""
    if stored["forms"] is not None:
        return {str(name): bool(form) for name, form in stored["forms"].items()}
    return {"": any(words.endswith(BY_KEY) for _, words in stored["plan"])}


def formed(job: SparkJob, stored: Mapping[str, Any] | None, missing: Callable[[], str]) -> SparkJob:
    """Return the job as ``as_begun``, by what the run says with which it goes on, and why there are no stages."""
    if stored is not None and not stored["blends"] and job.older is not None:
        job = job.older()
    if job.apart is None:
        return job
    if stored is not None and not stored["merges"]:
        return job.apart()
    why = missing()
    if why and stored is not None:
        message = f"the state of job '{job.name}' was written by a chain of operators by key: {why}"
        help = "go on with the Spark that wrote it, or start anew with --fresh"
        raise FlinkDdlError.of("FD893", message, help=help)
    return job.apart() if why else job


def _stored(spark: SparkSession, job: SparkJob, options: RunOptions) -> dict[str, Any] | None:
    """Return what the run says of itself with which this one goes on."""
    found = None
    if options.checkpoint is not None and not options.fresh:
        storage, root = storage_of(spark, options.checkpoint)
        found = stored_plan(storage, job_folder(root, job))
    if found is None and options.savepoint is not None:
        found = stored_plan(LOCAL, str(savepoint_folder(options.savepoint)))
    return found
