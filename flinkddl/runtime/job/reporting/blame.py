"""Whose expression it was that failed a query which carries out several INSERTs: Spark's error has its text, or none.

What Spark tells of is a part of an expression, underlined, or the kernel of ours that threw; both are looked for in
what each INSERT would be by itself.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from flinkddl.plan.stateforms import Begun
from flinkddl.spark.job import GroupBy, Select, Where, below

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flinkddl.spark.job import SparkJob, Step, Write

_UNDERLINED = re.compile(r"^== SQL .*==\n(.*)\n( *)(\^+)$", re.MULTILINE)
_KERNEL = re.compile(r"\bat flinkddl\.scalar\.Scalar(\w+)")  # ScalarCast has cast_int and others


def blamed(job: SparkJob, run: Write, text: str) -> str:
    """Return the tables of the INSERTs of a query that an error can be of: those of all where it does not say more."""
    sought = _sought(text)
    if len(run.parts) < 2 or not sought or job.as_begun is None:
        return run.table
    apart = job.as_begun(Begun(dict(enumerate(job.forms.values())), job.newer, together={}))
    steps = {step.name: step for step in apart.steps}
    has = {
        w.name for w in apart.writes if any(sought in sql for s in below(steps[w.input], steps) for sql in _texts(s))
    }
    parts = [w.table for w in job.parts_of(run) if w.name in has]
    return ", ".join(parts) if parts else run.table


def _sought(text: str) -> str:
    """Return what the SQL of the INSERT must have in it; "" where the error does not say."""
    underlined, kernel = _UNDERLINED.search(text), _KERNEL.search(text)
    if underlined is not None:
        line, indent, marks = underlined.groups()
        return line[len(indent) : len(indent) + len(marks)]
    return "" if kernel is None else f"flinkddl.{kernel[1].lower()}_"


def _texts(step: Step) -> Iterator[str]:
    match step:
        case Select():
            yield from (sql for _, sql in step.columns)
            yield step.generator[0] if step.generator else ""
        case Where():
            yield step.condition
        case GroupBy():
            yield from (sql for _, sql in step.keys)
            for _, agg in step.aggs:
                yield agg if isinstance(agg, str) else agg.sql
            yield from (sql for call in step.state_calls for sql in call.args)
