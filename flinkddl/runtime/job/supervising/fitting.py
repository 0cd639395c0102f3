"""Mode 'auto' at the start of a job: what its checkpoint was begun with, and whether each task has a core.

A checkpoint of micro-batches goes on in them, one of a real-time run in real time: what such a run wrote since its last
batch ended might otherwise stand until its key changes next. A chain that micro-batches wrote can be both.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.plan.stateforms import CHAIN
from flinkddl.runtime.job.supervising.begun import stored_run
from flinkddl.runtime.job.supervising.slots import known_cores, needed, taken
from flinkddl.runtime.session.stages import stages_missing

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from pyspark.sql import SparkSession

    from flinkddl.runtime.job.run_options import RunOptions
    from flinkddl.spark.job import SparkJob

SPARE = 1
"""So many cores are left to what else the session runs: a SELECT, another job of the script."""
MICRO_BATCHES, CHAINED, REAL_TIME = "micro-batches", "chain", "real time"


def fitted(spark: SparkSession, job: SparkJob, options: RunOptions) -> SparkJob:
    """Return a job of mode 'auto' in the mode in which it starts, and say that in a line; another job as it is."""
    if job.choice is None:
        return job
    if job.choice.batches is None:
        if any(w.format != "flinkddl.collect" for w in job.writes):
            options.notice(f"mode auto: {job.choice.words}")
        return replace(job, choice=None)
    why, words = _against(spark, job, options)
    options.notice(f"mode auto: {f'micro-batches: {why}' if why else f'real time: {words}'}")
    return job.choice.batches if why else replace(job, choice=None)


def _against(spark: SparkSession, job: SparkJob, options: RunOptions) -> tuple[str, str]:
    """Return what speaks against real time, "" where nothing does, and what for it."""
    stored = stored_run(spark, job, options)
    form = begun_in(stored)
    if form == MICRO_BATCHES:
        return "its checkpoint was begun so", ""
    if form == REAL_TIME:  # with too few cores the start ends with FD663, and says how many
        return "", "its checkpoint was left so"
    if options.until_read:
        return "it ends once it has read what is there", ""
    if options.max_offsets_per_trigger:
        return "its batches are to hold so many records at most", ""
    if CHAIN in (*job.forms.values(), form) and (why := stages_missing(spark)):
        return why, ""
    return _cores(spark, job)


def begun_in(stored: Mapping[str, Any] | None) -> str:
    """Return in which mode a checkpoint goes on; "" where there is none."""
    if stored is None:
        return ""
    modes = {str(query["mode"]).partition(" ")[2] for query in stored["meaning"] or ()}
    if stored["trigger"] == "realTime" or modes == {"True"}:
        return REAL_TIME
    return CHAINED if modes == {CHAIN} else MICRO_BATCHES


def _cores(spark: SparkSession, job: SparkJob) -> tuple[str, str]:
    cores = known_cores(spark)
    if isinstance(cores, str):
        return cores, ""
    try:
        wanted = needed(spark, job)
    except FlinkDdlError as error:  # the start says it again, where it ends with it
        return error.diagnostics[0].message, ""
    others = taken()
    told = f"{wanted} tasks, each on a core of its own, and {cores} cores"
    told += f", {others} of them taken by other jobs" if others else ""
    return (f"it would be {told}; {SPARE} is left free", "") if wanted + others + SPARE > cores else ("", told)
