"""Offsets as an order of changes, where a topic was created again: its new records come after all of the old ones."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from flinkddl.functions.core import string
from flinkddl.spark import job as J
from flinkddl.spark.context import SEQUENCE, VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping

_ORDER = (VERSION, SEQUENCE)


def raised(job: J.SparkJob, by: Mapping[str, int]) -> J.SparkJob:
    """Return the job with the offsets of topics raised where they order changes."""
    if not by:
        return job
    cases = " ".join(f"WHEN {string(topic)} THEN {n}L" for topic, n in sorted(by.items()))
    text = f"(`offset` + CASE `topic` {cases} ELSE 0L END)"

    def changed(step: J.Step) -> J.Step:
        if not isinstance(step, J.Select) or not any(n in _ORDER and "`offset`" in s for n, s in step.columns):
            return step
        columns = [(n, s.replace("`offset`", text) if n in _ORDER else s) for n, s in step.columns]
        return replace(step, columns=tuple(columns))

    return replace(job, steps=tuple(map(changed, job.steps)))
