"""In which form a job runs: that in which its state was begun, and where there are no stages there is no chain.

INSERTs that were one query stay one, since its positions are theirs, and those that were not stay by themselves.

A filter that is new, and that the planner would bring below an operator with state, stands above it.

What is there twice in a query runs once since state by key came in chains (``spark/stream/chain.py``), and outer joins
test their conditions themselves; Spark takes no operator less over a checkpoint that was begun with more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.plan.stateforms import BLENDS, CHAIN, EVERYWHERE, INSIDE, MERGES, NARROWS, PAIRS, TABLES, Begun
from flinkddl.runtime.job.reporting.progress import short
from flinkddl.runtime.job.supervising.renaming import place_before
from flinkddl.runtime.session.stages import stages_missing
from flinkddl.runtime.storage.checkpoint import job_folder, stored_plan
from flinkddl.runtime.storage.file_systems import LOCAL, storage_of
from flinkddl.runtime.storage.savepoints import savepoint_folder
from flinkddl.spark.edits import compare
from flinkddl.spark.fingerprint import BY_KEY
from flinkddl.spark.job import GroupBy
from flinkddl.spark.meaning import plain_meanings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from pyspark.sql import SparkSession

    from flinkddl.runtime.job.run_options import RunOptions
    from flinkddl.spark.job import SparkJob

_WRITERS = {
    MERGES: "a chain of operators by key",
    TABLES: "a chain of operators by key over a table that is read once",
    INSIDE: "a join by key that tests its condition itself",
    PAIRS: "a join of inserts by key",
    BLENDS: "operators by key over a table of changes that is read once",
}


def as_begun(spark: SparkSession, job: SparkJob, options: RunOptions) -> SparkJob:
    """Return the job in the form in which its checkpoint or savepoint was written, and which this Spark takes.

    Raises FD893 where those are two, FD894 where an INSERT cannot stay in the query that it was in.
    """
    stored = stored_run(spark, job, options) if job.streaming else None
    if job.apart is None and job.as_begun is None and CHAIN not in job.forms.values():
        return fitting(job, stored)
    found = formed(kept(job, stored), stored, lambda: stages_missing(spark))
    if stored is not None and job.as_begun is not None:  # else its state is looked for by what the query means
        _check_together(found, together_before(job, stored))
    return fitting(found, stored)


def fitting(job: SparkJob, stored: Mapping[str, Any] | None) -> SparkJob:
    """Return the job with its plan as its checkpoint knows it, where with its own it could not go on."""
    told = stored["meaning"] if stored is not None else None
    if not told or job.fitted is None or not compare(told, plain_meanings(job)).refused:
        return job
    try:
        found = job.fitted(told)
    except FlinkDdlError:  # what cannot be planned so is refused as it is, with words
        return job
    return job if found is None or compare(told, plain_meanings(found)).refused else found


def together_before(job: SparkJob, stored: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the INSERTs that were one query, by its name, each as it is called now: a sink may have another name."""
    before: Mapping[str, Sequence[str]] = stored.get("together", {})
    if not before:
        return {}
    called = _called_now(job, stored)
    return {query: tuple(called.get(part, part) for part in parts) for query, parts in before.items()}


def _called_now(job: SparkJob, stored: Mapping[str, Any]) -> dict[str, str]:
    """Return INSERTs whose sink has another name now, by the name before: what they ask for is the same."""
    now = {write.name: text for write, (_, text) in zip(job.writes, job.queries(), strict=True)}
    free: dict[str, list[str]] = {}
    for name in (name for name in now if name not in forms_of(stored)):
        free.setdefault(now[name], []).append(name)
    said = [(name, free.get(text, [])) for name, text in stored.get("queries") or () if name not in now]
    return {name: others.pop(0) for name, others in said if others}


def _check_together(job: SparkJob, before: Mapping[str, Sequence[str]]) -> None:
    for query, parts in before.items():
        lost = [w.name for w in job.writes if w.name in parts and job.run_of(w.name) != query]
        if lost:
            others = ", ".join(f"'{short(name)}'" for name in parts if name != lost[0])
            message = (
                f"the INSERT into '{short(lost[0])}' was one query with {others}, which has its positions and state"
            )
            message += ", and would be one by itself"
            help = "go back to the settings, the sink's options and the tables with which it shared them, or start anew"
            raise FlinkDdlError.of("FD894", message, help=f"{help} with --fresh")


def kept(job: SparkJob, stored: Mapping[str, Any] | None) -> SparkJob:
    """Return the job with each query in the form of state in which it was begun, where nobody has SET one.

    A query that was not there goes as is chosen for it, or, where all others have one form that each can have, as they.
    """
    if job.as_begun is None or stored is None:
        return job
    known = forms_of(stored)
    others = set(known.values())
    one = min(others) if len(others) == 1 and CHAIN not in others else None
    known |= {now: known[name] for name, now in _called_now(job, stored).items() if name in known}
    known = {name: known.get(name, form if one is None else one) for name, form in job.forms.items()}
    together, before = {query.name: query.parts for query in job.united}, together_before(job, stored)
    if known == job.forms and together == before:
        return job
    return job.as_begun(Begun(dict(enumerate(known.values())), together=before))


def forms_of(stored: Mapping[str, Any]) -> dict[str, bool | str]:
    """Return in which form the state of queries lies, by their names; of an older run one for all, by no name."""
    if stored["forms"] is not None:
        return {str(name): form if isinstance(form, str) else bool(form) for name, form in stored["forms"].items()}
    return {"": any(words.endswith(BY_KEY) for _, words in stored["plan"])}


def formed(job: SparkJob, stored: Mapping[str, Any] | None, missing: Callable[[], str]) -> SparkJob:
    """Return the job as ``as_begun``, by what the run says with which it goes on, and why there are no stages."""
    stages = any(isinstance(step, GroupBy) and step.stage for step in job.steps)
    if CHAIN in job.forms.values() and stages and (why := missing()):
        auto = all(p.how.because and not p.how.realtime for p in job.plan if p.how.chain)
        if stored is None and auto and job.as_begun is not None:
            other = {n: False if form == CHAIN else form for n, form in enumerate(job.forms.values())}
            return formed(job.as_begun(Begun(other)), stored, missing)
        message = f"job '{job.name}' is a chain of operators by key: {why}"
        help = "run it with another Spark, or in micro-batches with 'flinkddl.execution.state' = 'aggregate'"
        raise FlinkDdlError.of("FD893", message, help=help)
    if job.apart is not None and stored is not None and not job.newer <= stored["newer"]:
        job = job.apart(stored["newer"])
    if job.apart is None or job.newer <= EVERYWHERE or not (why := missing()):
        return job
    if stored is not None:
        wrote = next(words for what, words in _WRITERS.items() if what in job.newer)
        message = f"the state of job '{job.name}' was written by {wrote}: {why}"
        help = "go on with the Spark that wrote it, or start anew with --fresh"
        raise FlinkDdlError.of("FD893", message, help=help)
    return job.apart(job.newer & {NARROWS})


def stored_run(spark: SparkSession, job: SparkJob, options: RunOptions) -> dict[str, Any] | None:
    """Return what the run says of itself with which this one goes on."""
    found = None
    if options.checkpoint is not None and not options.fresh:
        storage, root = storage_of(spark, options.checkpoint)
        folder = job_folder(root, job)
        found = stored_plan(storage, place_before(storage, folder, job, options) or folder)
    if found is None and options.savepoint is not None:
        found = stored_plan(LOCAL, str(savepoint_folder(options.savepoint)))
    return found
