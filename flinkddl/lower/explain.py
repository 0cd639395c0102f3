"""EXPLAIN: the plan with Flink's changelog modes and our kinds, then the Spark steps that carry it out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.deep import deep
from flinkddl.lower.operators import lines, operators
from flinkddl.options.masking import mask
from flinkddl.plan.changelog import explain as explain_modes
from flinkddl.plan.changelog import sink_mode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flinkddl.catalog.settings import Settings
    from flinkddl.lower.job import SparkJob, Step
    from flinkddl.plan.nodes import Sink


@deep
def explain(job: SparkJob, sinks: Iterable[Sink], config: Settings) -> str:
    """Return the text of EXPLAIN for a job."""
    mode = "streaming" if job.streaming else "batch (every source is bounded)"
    trigger = f", trigger {job.trigger[0]} {job.trigger[1]}" if job.streaming else ""
    out = [f"== Job ==\n{job.name}: {mode}{trigger}"]
    for sink in sinks:
        out.append("== Changelog plan ==\n" + "\n".join(explain_modes(sink_mode(sink, config))))
    if job.streaming:
        found = operators(job, [sink_mode(sink, config) for sink in sinks])
        out.append("== Operators on Spark ==\n" + "\n".join(lines(found)))
    out.append("== Spark steps ==\n" + "\n".join(_step(s) for s in job.steps))
    out.append("== Writes ==\n" + "\n".join(_write(job, i) for i in range(len(job.writes))))
    return "\n\n".join(out)


def _step(step: Step) -> str:
    kind = type(step).__name__.removesuffix("Step")
    reads = f" <- {', '.join(step.reads)}" if step.reads else ""
    note = f"   -- {step.note}" if step.note else ""
    return f"{step.name} = {kind}{reads}{note}"


def _write(job: SparkJob, index: int) -> str:
    write = job.writes[index]
    options = ", ".join(f"{k}={mask(k, v)}" for k, v in sorted(write.options.items()))
    return f"{write.name} <- {write.input}: {write.format}, {write.mode} mode ({options})"
