"""A job's fingerprint: what a checkpoint must match, operator by operator, and which operator changed."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING

from flinkddl.deep import deep
from flinkddl.plan.identity import digest
from flinkddl.plan.nodes import Filter, LookupJoin, Node, Scan, Sink, scans
from flinkddl.plan.nodes.base import Stateless
from flinkddl.spark.context import UNTOLD
from flinkddl.spark.java_functions import without_files
from flinkddl.spark.job import DropDuplicates, GroupBy, JoinStep, Read, StageCall, StateCall, WithWatermark
from flinkddl.sqltypes import DataType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from flinkddl.catalog.model import Table
    from flinkddl.spark.job import Step

# Options that change where or how fast is read and written, but not what the state means.
_FREE = ("properties.", "scan.startup.", "scan.topic-partition-discovery", "scan.parallelism", "sink.")
_OF_COLUMNS = ("fields", "metadata", "computed")
BY_KEY = ", state by key"
"""What the description of an operator ends with that keeps its state by key."""
_CHILDREN = ("span", "options", "input", "left", "right", "parts", "inputs", "ttl")


@deep
def fingerprint(sinks: Iterable[Sink], steps: Iterable[Step] = ()) -> tuple[tuple[str, str], ...]:
    """Return one (operator, description) pair a plan node, root first, then one an operator with state.

    Places in the script do not count, nor does a TTL: it may change over the same state, as in Flink. The description
    is what people read; the digest after it covers what the words leave out.
    """
    plan = (entry for n, sink in enumerate(sinks) for entry in _walk(sink, f"{n}"))
    return (*plan, *(("state", text) for step in steps if (text := _state(step))))


@deep
def essence(sinks: Iterable[Sink], steps: Iterable[Step]) -> tuple[tuple[tuple[str, str], ...], tuple[list[str], ...]]:
    """Return what must be the same for state to fit although columns came or went, and the columns of each scan.

    Without state only the tables count: what is asked of them may change, and their columns. With state the whole plan
    counts but for columns behind those that it reads. Rows of a table that is kept by its key are state themselves.
    """
    sinks, steps = tuple(sinks), tuple(steps)
    reads = [scan for sink in sinks for scan in scans(sink)]
    if _keeps_nothing(sinks, steps):
        tables = (t for t in (*(s.table for s in sinks), *(s.table for s in reads)) if t is not None)
        return tuple((f"Table {t.path}", digest(_table(t, columns=False))) for t in tables), ()
    plan = (entry for n, sink in enumerate(sinks) for entry in _walk(sink, f"{n}", open=True))
    state = (("state", text) for step in steps if (text := _state(step)))
    return (*plan, *state), tuple(_columns(s) for s in reads if _open(s))


def _keeps_nothing(sinks: tuple[Sink, ...], steps: tuple[Step, ...]) -> bool:
    """Whether a job's checkpoint is offsets of topics alone: what it asks of their records may change."""
    topics = all(step.of_topics for step in steps if isinstance(step, Read))
    return topics and not any(map(_state, steps)) and all(_passes(sink.input) for sink in sinks)


def _passes(node: Node) -> bool:
    return isinstance(node, Scan) or (
        isinstance(node, Stateless) and node.inputs != () and all(map(_passes, node.inputs))
    )


def _open(scan: Scan) -> bool:
    return scan.carries == "append"


def _columns(scan: Scan) -> list[str]:
    """Return a line a column of a table: a name, what it is, and how a computed or metadata column comes about."""
    made = dict(scan.metadata) | dict(scan.computed)
    return [f"{c.name} {c.kind} {c.type} {_text(made.get(i))}" for i, c in enumerate(scan.table.columns)]


@deep
def queries(sinks: Iterable[Sink]) -> tuple[tuple[str, str], ...]:
    """Return (sink's table, digest of what is written into it) pairs: the same under any name of job and sink."""
    return tuple((str(s.table.path), digest(repr(list(_walk(s.input, ""))))) for s in sinks if s.table is not None)


def _walk(node: Node, path: str, open: bool = False) -> Iterator[tuple[str, str]]:
    yield node.name, f"{node.detail} #{digest(path + _describe(node, open))}"
    for i, child in enumerate(node.inputs):
        yield from _walk(child, f"{path}.{i}", open)


def _describe(node: Node, open: bool = False) -> str:
    """Return all that tells a node from others; ``open``: without the columns of a scan that may get more of them."""
    open = open and (isinstance(node, Filter) or (isinstance(node, Scan) and _open(node)))
    parts = []
    for f in fields(node):
        value = getattr(node, f.name)
        if f.name in _CHILDREN or (open and f.name in _OF_COLUMNS):
            continue
        if isinstance(node, LookupJoin) and f.name == "table":
            value = _describe(value)  # it holds the scan of its table
        elif f.name == "table":
            value = _table(value, columns=not open) if value is not None else None
        elif f.name == "fields" and not isinstance(node, (Scan, Sink)):
            value = [(x.name, str(x.type)) for x in value]
        parts.append(f"{f.name}={_text(value)}")
    return ", ".join(parts)


def _text(value: object) -> str:
    """Return a value as text without places in the script."""
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_text, value))}]"
    if is_dataclass(value) and not isinstance(value, DataType):
        told = (f for f in fields(value) if f.name != "span" and not f.metadata.get("place"))
        items = (f"{f.name}={_text(getattr(value, f.name))}" for f in told)
        return f"{type(value).__name__}({', '.join(items)})"
    return str(value) if isinstance(value, DataType) else repr(value)


def _table(table: Table, columns: bool = True) -> str:
    options = {k: o.value for k, o in sorted(table.options.items()) if not k.startswith(_FREE)}
    listed = [(c.name, c.kind, str(c.type)) for c in table.columns] if columns else ""
    return f"{table.path} {listed} {options}"


def _state(step: Step) -> str:
    """Return what the state of a Spark operator holds, with a word for it; "" for one without state."""
    if isinstance(step, WithWatermark) and step.partitions:
        # which sources there are; how many partitions there may be is free
        return f"{step.name}: one a partition{', idle ones left out' if step.idle_ms else ''}"
    what = without_files(state_of(step))
    return what and f"{step.note or step.name} #{digest(what.removesuffix(BY_KEY))}{BY_KEY * what.endswith(BY_KEY)}"


def state_of(step: Step) -> str:
    """Return what the state of a Spark operator holds, in its SQL; "" for one without state."""
    match step:
        case GroupBy():
            calls = tuple((n, _kept(a)) for n, a in step.aggs)
            keyed = any(call.form == "keyed" for call in step.state_calls)
            return f"{step.keys} {calls}{BY_KEY * keyed}"
        case JoinStep():
            return f"{step.on} {step.how}"
        case DropDuplicates():
            return f"{step.columns}"
    return ""


def _kept(agg: str | StateCall | StageCall) -> str:
    match agg:
        case StageCall():  # what passes leaves nothing
            return f"{[(n.keys, call_of(n.call)) for n in agg.nodes]}"
        case StateCall():
            return call_of(agg)
    return agg


def call_of(call: StateCall) -> str:
    """Return a call by what it keeps alone: in both forms the same."""
    args = call.other_args if call.form == "keyed" and call.other_args else call.args
    args = tuple(a.replace(UNTOLD, "0L") for a in args)  # what earlier versions said of it; it keeps the same
    return replace(call, ttl=(), form="aggregate", args=args, other_args=()).sql
