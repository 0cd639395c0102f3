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
from flinkddl.plan.physical import by_path, identities
from flinkddl.spark.job import DropDuplicates, GroupBy, JoinStep, Read, flows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from flinkddl.plan.physical import Physical
    from flinkddl.spark.job import Named, SparkJob, StateCall, Step, Write

AGGREGATE, SESSIONS, KEYED = "stateStoreSave", "sessionWindowStateStoreSaveExec", "transformWithStateExec"
DEDUPLICATE, JOIN = "dedupe", "symmetricHashJoin"
"""Spark's names (``StateStoreWriter.shortName``) of its operators with state."""


@dataclass(frozen=True)
class Kept:
    """What one node of the plan keeps in an operator: its call, the columns of its key, the plan node as ``Stateful``.

    ``column`` is the column of a stage's input from which it gets its rows, "" where it gets all; ``step`` the name
    that it has, or would have as an operator by itself.
    """

    call: StateCall
    keys: tuple[Named, ...]
    what: str
    identity: str
    step: str
    column: str = ""


@dataclass(frozen=True)
class Stateful:
    """One operator: Spark's name of it, the step that makes it, its plan node in words and by its identity.

    ``nodes`` are those of which our functions keep the state, none where it is one of Spark's own; several in a stage.
    """

    spark: str
    step: str
    what: str
    identity: str
    nodes: tuple[Kept, ...] = ()


@deep
def stateful(job: SparkJob, write: Write) -> list[Stateful]:
    """Return the operators with state of one query, by their numbers in Spark."""
    names, nodes = identities(job.plan), nodes_by_path(job)

    def told(step: str, note: str) -> tuple[str, str]:
        here = nodes.get(job.owners.get(step, ""))
        return (note, "") if here is None else (here.node.describe(), str(names.get(id(here), "")))

    found = []
    for step in reported_steps(job, write):
        if spark := operator_of(step):
            kept = tuple(_kept(step, told)) if isinstance(step, GroupBy) else ()
            both = list(zip(*((k.what, k.identity) for k in kept), strict=True)) or told(step.name, step.note)
            what, identity = (t if isinstance(t, str) else "; ".join(dict.fromkeys(t)) for t in both)
            found.append(Stateful(spark, step.name, what, identity, kept))
    return found


def _kept(step: GroupBy, told: Callable[[str, str], tuple[str, str]]) -> Iterator[Kept]:
    if step.stage is not None:
        for node in step.stage.nodes:
            yield Kept(node.call, node.keys, *told(node.step, node.step), node.step, column=node.column)
    elif len(step.state_calls) == 1:
        yield Kept(step.state_calls[0], step.keys, *told(step.name, step.note), step.name)


def place_of(job: SparkJob, write: Write, step: str) -> str:
    """Return the path of the plan node that a step with state serves; what no node owns was made for the sink."""
    return job.owners.get(step) or f"{job.writes.index(job.parts_of(write)[0])}"


def nodes_by_path(job: SparkJob) -> dict[str, Physical]:
    """Return each place of the plan by its path, as the job's ``owners`` have it."""
    return by_path(job.plan)


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
