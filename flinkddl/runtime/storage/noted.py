"""What a checkpoint says of its operators with state: which plan node each is of, and the types of what it keeps.

Spark notes a name and a number an operator, and the types of keys and values; of state by key it knows bytes alone. So
a run writes down, once a change, what a person who looks at the state has to know (``flinkddl state``).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.spark.folders import folder_inside
from flinkddl.spark.job import GroupBy
from flinkddl.spark.stateful import stateful

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flinkddl.runtime.storage.checkpoint import Checkpoint
    from flinkddl.runtime.storage.file_systems import Storage
    from flinkddl.spark.job import SparkJob, StateCall

STATE_FILE = "flinkddl-state.json"


def note_state(checkpoint: Checkpoint, job: SparkJob, frames: Mapping[str, Any]) -> None:
    """Write down the operators of each query, by the query's folder and in the order of Spark's numbers.

    ``frames`` are the DataFrames of the job's steps. Raises FD822 where the file system refuses.
    """
    if checkpoint.temporary:
        return
    steps = {step.name: step for step in job.steps}
    queries = {}
    for write in job.writes:
        notes = []
        for o in stateful(job, write):
            note: dict[str, Any] = {"spark": o.spark, "what": o.what, "identity": o.identity}
            if o.call is not None:
                note |= {"kind": o.call.kind, "function": o.call.function.removeprefix("flinkddl.")}
            step = steps[o.step]
            if isinstance(step, GroupBy) and o.call is not None and o.call.form == "keyed":
                note |= {"node": o.call.node, **_types(step, o.call, frames)}
            notes.append(note)
        queries[folder_inside(write.name)] = notes
    text = json.dumps(queries, indent=1, ensure_ascii=False)
    path = f"{checkpoint.root}/{STATE_FILE}"
    if checkpoint.storage.read(path) != text:
        checkpoint.storage.write(path, text)


def _types(step: GroupBy, call: StateCall, frames: Mapping[str, Any]) -> dict[str, Any]:
    """Return the key's names and types, and those of the call's arguments, as Spark writes types in JSON."""
    made = json.loads(frames[step.name].schema.json())["fields"]
    of_name = {field["name"]: field["type"] for field in made}
    given = frames[step.input].selectExpr(*(f"{sql} AS c{i}" for i, sql in enumerate(call.args)))
    arguments = [field["type"] for field in json.loads(given.schema.json())["fields"]]
    return {"keys": [[name, of_name[name]] for name, _ in step.keys], "arguments": arguments}


def noted_state(storage: Storage, folder: str) -> dict[str, list[dict[str, Any]]]:
    """Return the notes of a job's folder by query; nothing where an older version wrote it. Raises FD822."""
    path = f"{folder}/{STATE_FILE}"
    text = storage.read(path)
    try:
        found: dict[str, list[dict[str, Any]]] = json.loads(text) if text is not None else {}
    except ValueError as error:
        message = f"'{path}' cannot be read: {error}"
        raise FlinkDdlError.of("FD822", message, help="the next run of the job writes it again") from error
    return found
