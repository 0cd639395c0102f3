"""``flinkddl.execution.mode`` = 'auto': real time where the whole job can run so, else micro-batches, and why.

What hangs on the script alone is chosen here: the operators, what is read, how the sinks write. How many cores there
are and what the checkpoint was begun with, a start knows (``runtime/job/supervising/fitting.py``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.plan.physical import numbers
from flinkddl.spark.job import Choice, Read, Step
from flinkddl.spark.partitions import MOST
from flinkddl.spark.realtime import refusals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from flinkddl.plan.nodes import Node
    from flinkddl.spark.job import SparkJob

_APART = "; each of its INSERTs is a query of its own then"


def in_a_mode(batches: SparkJob, fast: Callable[[], SparkJob]) -> SparkJob:
    """Return a job, which is given in micro-batches, in the mode that fits it. A statement set has one mode.

    A job that ends by itself has none to choose.
    """
    if not batches.streaming or batches.trigger[0] == "availableNow":
        return batches
    if why := next(_against(batches), ""):
        return replace(batches, choice=Choice(f"micro-batches: {why}"))
    try:
        found = fast()
    except FlinkDdlError as error:
        return replace(batches, choice=Choice(f"micro-batches: {error.diagnostics[0].message}"))
    words = f"real time: yes, where cores and checkpoint allow it{_APART if batches.united else ''}"
    return replace(found, choice=Choice(words, batches))


def _against(job: SparkJob) -> Iterator[str]:
    """Yield what of the script keeps a job out of real-time mode; a node by its number in EXPLAIN.

    Who asks for batches that wait, or that hold so many records at most, gets them.
    """
    given = numbers(job.plan)
    called = {id(here.node): f"n{given[id(here)]}" for p in job.plan for here in p.root.walk()}

    def name(place: Node | Step) -> str:
        if isinstance(place, Step):
            return f"the operator '{place.name}'"
        return f"{called[id(place)]} {place.name}" if id(place) in called else place.describe()

    yield from refusals(job, name)
    if int(job.trigger[1].split()[0]):
        yield f"its batches are to wait {job.trigger[1]} (mini-batch, or 'sink.buffer-flush.interval')"
    if any(MOST in step.options for step in job.steps if isinstance(step, Read)):
        yield "its batches are to hold so many records at most ('flinkddl.execution.max-offsets-per-trigger')"
