"""What a job reads and writes, how it runs and where it keeps its state, in words: what stands above its progress."""

from __future__ import annotations

from flinkddl.runtime.job.reporting.progress import short
from flinkddl.spark import job as J

_TRIGGERS = {"processingTime": "micro-batch", "availableNow": "until the end of input", "realTime": "real-time"}


def headline(job: J.SparkJob, checkpoint: str | None) -> list[str]:
    """Return what a job writes and reads, one line each, for the start of a run."""
    mode = run_mode(job)
    where = f" · checkpoint: {kept(job, checkpoint)}" if job.streaming else ""
    lines = [f"{short(w.table or w.name)}  {target(w)}     {mode}{where}" for w in job.writes]
    lines += [f"reading  {table}  topic '{topic}' · from {start}" for table, topic, start in kafka_sources(job)]
    return lines


def run_mode(job: J.SparkJob) -> str:
    """Return how a job runs, in words."""
    if job.choice is not None and job.choice.batches is not None:
        return "auto"  # its start chooses
    return _TRIGGERS.get(job.trigger[0], job.trigger[0]) if job.streaming else "batch"


def kept(job: J.SparkJob, checkpoint: str | None) -> str:
    """Return where checkpoints go; real-time mode writes one, and counts what it did, once an interval only."""
    how, every = job.trigger
    return (checkpoint or "temporary") + (f", every {int(every.split()[0]) // 1000} s" if how == "realTime" else "")


def kafka_sources(job: J.SparkJob) -> list[tuple[str, str, str]]:
    """Return (table, topics, where reading starts) of each Kafka source; a source that is read twice comes once."""
    out = []
    for step in job.steps:
        if isinstance(step, J.Read) and step.of_topics:
            start = step.start.get("mode", "earliest-offset").removesuffix("-offset")
            if start == "group-offsets" and "reset" in step.start:
                start += f", at first {step.start['reset']}"  # where the group has committed nothing
            out.append((short(step.table or step.name), step.topics, start))
    return list(dict.fromkeys(out))


def target(write: J.Write) -> str:
    """Return where a write goes, in words."""
    topic = write.options.get("topic")
    name = write.format.removeprefix("flinkddl.")
    return f"{name} -> topic '{topic}'" if topic else f"-> {name}"
