"""The operators with state of a query, in the order of Spark's numbers, and the plan node that each is of.

Spark numbers them in its physical plan from the sink on, a node before what it reads, the left input before the right
(IncrementalExecution, rule ``StateOpIdRule``); a step that two others read stands there twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from flinkddl.deep import deep
from flinkddl.plan.physical import identities
from flinkddl.spark.context import WINDOW
from flinkddl.spark.job import DropDuplicates, GroupBy, JoinStep

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flinkddl.plan.physical import Physical
    from flinkddl.spark.job import SparkJob, StateCall, Step, Write

KEYED = "transformWithStateExec"
"""Spark's name of the operator that keeps its state by key."""


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
    steps = {step.name: step for step in job.steps}
    names = identities(job.plan)
    nodes = {path: here for n, sink in enumerate(job.plan) for path, here in _paths(sink.root, f"{n}")}
    found = []
    for step in _before_inputs(steps[write.input], steps):
        if spark := _operator(step):
            here = nodes.get(job.owners.get(step.name, ""))
            calls = step.state_calls if isinstance(step, GroupBy) else ()
            what, identity = (here.node.describe(), names.get(id(here), "")) if here is not None else (step.note, "")
            found.append(Stateful(spark, step.name, what, str(identity), calls[0] if len(calls) == 1 else None))
    return found


def _paths(here: Physical, path: str) -> Iterator[tuple[str, Physical]]:
    ahead = [(path, here)]
    while ahead:
        path, here = ahead.pop()
        yield path, here
        ahead += [(f"{path}.{i}", child) for i, child in enumerate(here.inputs)]


def _before_inputs(step: Step, steps: dict[str, Step]) -> Iterator[Step]:
    ahead = [step]
    while ahead:
        step = ahead.pop()
        yield step
        ahead += [steps[name] for name in reversed(step.reads)]


def _operator(step: Step) -> str:
    """Return Spark's name of the operator with state that a step becomes; "" for one without."""
    match step:
        case GroupBy() if any(call.form == "keyed" for call in step.state_calls):
            return KEYED
        case GroupBy():
            session = any(name == WINDOW and "session_window(" in sql for name, sql in step.keys)
            return "sessionWindowStateStoreSaveExec" if session else "stateStoreSave"
        case JoinStep() if step.keeps != "nothing":
            return "symmetricHashJoin"
        case DropDuplicates():
            return "dedupe"
    return ""
