"""What a checkpoint says of its operators with state: which plan node each is of, and the types of what it keeps.

Spark notes a name and a number an operator, and the types of keys and values; of state by key it knows bytes alone. So
a run writes down, once a change, what a person who looks at the state has to know (``flinkddl state``).
"""

from __future__ import annotations

import json
import re
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.storage.results import constants
from flinkddl.spark.job import GroupBy
from flinkddl.spark.stateful import stateful
from flinkddl.sqltypes import QUOTED, unquote

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from flinkddl.runtime.storage.checkpoint import Checkpoint
    from flinkddl.runtime.storage.file_systems import Storage
    from flinkddl.spark.job import Named, SparkJob, StateCall
    from flinkddl.spark.stateful import Kept

STATE_FILE = "flinkddl-state.json"


Notes = dict[str, list[dict[str, Any]]]
"""The operators of each query, in the order of Spark's numbers."""


def state_notes(checkpoint: Checkpoint, job: SparkJob, frames: Mapping[str, Any]) -> Notes:
    """Return what is to be written down of each write's query.

    ``frames`` are the DataFrames of the job's steps. Raises FD822 where the file system refuses, FD820 where an
    operator that the checkpoint has would read its state as other types: to Spark it is bytes.
    """
    before = noted_state(checkpoint.storage, checkpoint.root)
    steps = {step.name: step for step in job.steps}
    queries: Notes = {}
    for write in job.runs:
        notes = []
        for o in stateful(job, write):
            note: dict[str, Any] = {"spark": o.spark, "what": o.what, "identity": o.identity}
            step = steps[o.step]
            kept = [_node(step, k, frames) for k in o.nodes if isinstance(step, GroupBy)]
            if isinstance(step, GroupBy) and step.stage is not None:
                note["nodes"] = [
                    {"what": k.what, "identity": k.identity} | n for k, n in zip(o.nodes, kept, strict=True)
                ]
            elif kept:
                note |= kept[0]
            notes.append(note)
        folder = checkpoint.location(write.name)[len(checkpoint.root) + 1 :]
        _check_types(before.get(folder, []), notes, folder)
        queries[write.name] = notes
    return queries


def note_state(checkpoint: Checkpoint, notes: Notes) -> None:
    """Write down the operators of each query, by the query's folder. Raises FD822 where the file system refuses."""
    queries = {checkpoint.location(write)[len(checkpoint.root) + 1 :]: told for write, told in notes.items()}
    text = json.dumps(queries, indent=1, ensure_ascii=False)
    path = f"{checkpoint.root}/{STATE_FILE}"
    if checkpoint.storage.read(path) != text:
        checkpoint.storage.write(path, text)


def _node(step: GroupBy, kept: Kept, frames: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is written down of a node: its call, and the types of its state."""
    call = kept.call
    note = {"kind": call.kind, "function": call.function.removeprefix("flinkddl."), "node": call.node}
    note["names"], note["constants"] = _names(kept.keys), constants(call.args)
    return note | node_types(step, kept, frames)


def node_types(step: GroupBy, kept: Kept, frames: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ``keys`` of a node with their types, and the types of its ``arguments``, as Spark has them in JSON."""
    return _edge_types(step, kept, frames) if kept.column else _types(step, kept.call, frames)


def _names(keys: Sequence[Named]) -> list[str]:
    """Return what a person calls a key's columns: the names that they have in the input, where these are names."""
    columns = [re.fullmatch(rf"(?!`__){QUOTED}", sql) for _, sql in keys]
    found = [unquote(c[1]) if c else name for c, (name, _) in zip(columns, keys, strict=True)]
    return found if len({*found}) == len(found) else [name for name, _ in keys]


def _edge_types(step: GroupBy, kept: Kept, frames: Mapping[str, Any]) -> dict[str, Any]:
    """Return the types of a stage's node, which are those of its edge."""
    edges = json.loads(frames[step.input].schema.json())["fields"]
    edge = {f["name"]: f["type"]["fields"] for f in edges if f["name"] == kept.column}[kept.column]
    key, given = ([f["type"] for f in part["type"]["fields"]] for part in edge)
    return {"keys": [[name, t] for (name, _), t in zip(kept.keys, key, strict=True)], "arguments": given}


def _types(step: GroupBy, call: StateCall, frames: Mapping[str, Any]) -> dict[str, Any]:
    """Return the key's names and types, and those of the call's arguments, as Spark writes types in JSON."""
    made = json.loads(frames[step.name].schema.json())["fields"]
    of_name = {field["name"]: field["type"] for field in made}
    given = frames[step.input].selectExpr(*(f"{sql} AS c{i}" for i, sql in enumerate(call.args)))
    arguments = [field["type"] for field in json.loads(given.schema.json())["fields"]]
    return {"keys": [[name, of_name[name]] for name, _ in step.keys], "arguments": arguments}


def _check_types(before: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]], folder: str) -> None:
    """Raise FD820 where an operator of a query has other types than its state was written with."""
    for old, new in _same_nodes(before, now):
        for part in ("keys", "arguments"):
            if part in old and part in new and _nullable(old[part]) != _nullable(new[part]):
                was, is_ = (json.dumps(_nullable(x[part])) for x in (old, new))
                message = f"'{new['what']}' of the query into '{folder}' had {part} of the types {was}, and has {is_}"
                raise FlinkDdlError.of("FD820", message, help="go back to the old query, or start anew with --fresh")


def _same_nodes(before: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Any, Any]]:
    """Yield what was noted of a node and what is: those by key go by their numbers, for others may come and go."""
    known = {node["node"]: node for old in before for node in nodes_of(old) if node.get("node")}
    pairs: Iterator[tuple[Any, Any]] = zip_longest(before, now, fillvalue={})
    for old, new in pairs:
        for place, node in enumerate(nodes_of(new)):
            if node.get("node"):
                yield known.get(node["node"], {}), node
            elif not known:
                yield (nodes_of(old)[place : place + 1] or [{}])[0], node


def nodes_of(note: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the notes of an operator's nodes: a stage has several, any other is one itself."""
    return note.get("nodes") or [note]


def _nullable(type: Any) -> Any:
    """Return types without saying which may be NULL: every row has bits for that."""
    match type:
        case dict():
            left_out = ("nullable", "containsNull", "valueContainsNull", "metadata")
            return {k: _nullable(v) for k, v in type.items() if k not in left_out}
        case list():
            return [_nullable(v) for v in type]
    return type


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
