"""EXPLAIN: the plan with Flink's changelog modes and our kinds, then the Spark steps that carry it out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.deep import deep
from flinkddl.diagnostics.secrets import mask
from flinkddl.plan.physical import explain as explain_plan
from flinkddl.show.stages import stages_of
from flinkddl.spark.operators import lines, operators

if TYPE_CHECKING:
    from flinkddl.spark.job import SparkJob, Write


@deep
def explain(job: SparkJob) -> str:
    """Return the text of EXPLAIN for a job."""
    mode = "streaming" if job.streaming else "batch (every source is bounded)"
    trigger = f", trigger {job.trigger[0]} {job.trigger[1]}" if job.streaming else ""
    chosen = [f"\n{w.name}: {p.chosen}" for w, p in job.planned if p.chosen]
    chosen = [f"\nmode auto: {job.choice.words}", *chosen] if job.choice else chosen
    out = [f"== Job ==\n{job.name}: {mode}{trigger}{''.join(chosen)}"]
    out += ["== Changelog plan ==\n" + "\n".join(lines) for lines in explain_plan(job.plan, job.same)]
    if job.streaming:
        found = operators(job)
        out.append("== Operators on Spark ==\n" + "\n".join(lines(found)))
        if stages := stages_of(job):
            out.append("== Stages ==\n" + "\n".join(s.line for s in stages))
    out.append("== Spark steps ==\n" + "\n".join(map(str, job.steps)))
    lines_of = [_write(w) if w.name == job.run_of(w.name) else _part(w, job) for w in job.writes]
    out.append("== Writes ==\n" + "\n".join([*lines_of, *map(_write, job.united)]))
    return "\n\n".join(out)


def _part(write: Write, job: SparkJob) -> str:
    topic = f", topic={write.options['topic']}" if "topic" in write.options else ""
    return f"{write.name} <- {write.input}: one query with others, {job.run_of(write.name)}{topic}"


def _write(write: Write) -> str:
    options = ", ".join(f"{k}={mask(k, v)}" for k, v in sorted(write.options.items()))
    workers = ", through Spark's Python workers" if write.writer else ""
    return f"{write.name} <- {write.input}: {write.format}{workers}, {write.mode} mode ({options})"
