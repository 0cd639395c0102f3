"""The steps of a query that Spark reports of, in its order: those that read a stream and those that keep state.

Spark numbers and reports operators with state by its physical plan, from the sink on, a node before what it reads, the
left input before the right (IncrementalExecution's ``StateOpIdRule``, ProgressReporter's ``executedPlan.collect``), and
sources by the logical plan's leaves. The steps of a job have both orders; a step that two others read stands there
twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from flinkddl.deep import deep
from flinkddl.plan.physical import identities
from flinkddl.spark.job import DropDuplicates, GroupBy, JoinStep, Read, flows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flinkddl.plan.physical import Physical
    from flinkddl.spark.job import SparkJob, StateCall, Step, Write

AGGREGATE, SESSIONS, KEYED = "stateStoreSave", "sessionWindowStateStoreSaveExec", "transformWithStateExec"
DEDUPLICATE, JOIN = "dedupe", "symmetricHashJoin"
"""Spark's names (``StateStoreWriter.shortName``) of its operators with state."""


@dataclass(frozen=True)
class Stateful:
    """One operator: Spark's name of it, the step that makes it, its plan node in words and by its identity.

    ``call`` is our function that keeps the state, None where it is one of Spark's own.
    """

    spark: str
    step: str
    what: str
    identity: str
    call: StateCall | None = None


@deep
def stateful(job: SparkJob, write: Write) -> list[Stateful]:
    """Return the operators with state of one query, by their numbers in Spark."""
    names, nodes, found = identities(job.plan), nodes_by_path(job), []
    for step in reported_steps(job, write):
        if spark := operator_of(step):
            here = nodes.get(job.owners.get(step.name, ""))
            calls = step.state_calls if isinstance(step, GroupBy) else ()
            what, identity = (here.node.describe(), names.get(id(here), "")) if here is not None else (step.note, "")
            found.append(Stateful(spark, step.name, what, str(identity), calls[0] if len(calls) == 1 else None))
    return found


def nodes_by_path(job: SparkJob) -> dict[str, Physical]:
    """Return each place of the plan by its path, as the job's ``owners`` have it."""
    ahead = [(f"{n}", sink.root) for n, sink in enumerate(job.plan)]
    found = {}
    while ahead:
        path, here = ahead.pop()
        found[path] = here
        ahead += [(f"{path}.{i}", child) for i, child in enumerate(here.inputs)]
    return found


def reported_steps(job: SparkJob, write: Write) -> Iterator[Step]:
    """Yield the steps of a query that read a stream or keep state, from the query's root down."""
    steps = {step.name: step for step in job.steps}
    streams = flows(job.steps)
    ahead = [steps[write.input]]
    while ahead:
        step = ahead.pop()
        # beside a table, which is no stream, Spark keeps nothing
        keeps = operator_of(step) and all(streams[name] for name in step.reads)
        if keeps or (isinstance(step, Read) and step.streaming):
            yield step
        ahead += [steps[name] for name in reversed(step.reads)]


def operator_of(step: Step) -> str:
    """Return Spark's name of the operator with state that a step over streams becomes; "" for one without."""
    match step:
        case GroupBy() if any(call.form == "keyed" for call in step.state_calls):
            return KEYED
        case GroupBy():
            return SESSIONS if any(sql.startswith("session_window(") for _, sql in step.keys) else AGGREGATE
        case JoinStep():
            return JOIN
        case DropDuplicates():
            return DEDUPLICATE
    return ""
