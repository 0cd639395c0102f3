"""What the state of each query of a job means, so that a changed script can go on where that is still the same.

Of the plan only what state hangs on is told: sources by what they read, and each operator between a source and the
last operator with state, by its attributes and by where the fields that it reads come from, each traced through
projections to the columns of a table. Names of tables, views and sinks do not count, nor do projections and filters
above the last such operator (a sink that keeps rows is one), nor a filter below one where only inserts come through: of
updates it would let the new row pass and not the one that it replaces. What Spark makes of it is compared as well: its
operators, in its order, and their SQL.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from flinkddl.deep import deep
from flinkddl.plan.decoded import names_in
from flinkddl.plan.identity import Traced, digest
from flinkddl.plan.nodes import Filter, Join, Project, Scan, Union
from flinkddl.plan.nodes.terms import names_of, rex_text
from flinkddl.plan.rex import InputRef, conjuncts
from flinkddl.spark.fingerprint import call_of, state_of
from flinkddl.spark.job import DRIVER_SINKS, Read, WithTime, WithWatermark, below
from flinkddl.spark.partitions import NAMED_SOURCES
from flinkddl.spark.stateful import place_of, stateful
from flinkddl.sqltypes import DataType

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from flinkddl.plan.decoded import Parts
    from flinkddl.plan.nodes import Node
    from flinkddl.plan.nodes.base import Mode, Needed
    from flinkddl.plan.physical import Physical, PhysicalSink
    from flinkddl.plan.rex import Rex
    from flinkddl.spark.job import SparkJob, StateCall, Step, Write
    from flinkddl.spark.stateful import Stateful

_NOT_MEANT = frozenset({"span", "options", "input", "left", "right", "parts", "inputs", "ttl", "fields", "table"})
_CONDITION = frozenset({"condition"})
_FREE = ("properties.", "scan.startup.", "scan.topic-partition-discovery", "scan.parallelism", "sink.")
_LENIENT = ("ignore-parse-errors", "fail-on-missing-field")
_FORGETFUL = frozenset({"noop"}) | DRIVER_SINKS
"""Formats that remember nothing of a query, nor do topics: a sink of these may take the place of another one."""
_LONGEST = 60
KEPT_BY_SINK = "Sink(the rows of each"
"""How the line of a sink begins that keeps what was written, whose filters earlier versions did not note."""
_CALLS = re.compile(r"'(\w+):\d+'")
_ORDERLESS = frozenset({"count", "sum", "dcount", "dsum", "min", "max"})
"""Accumulators (RetractFinish.java) that keep the same in whatever order their rows came."""
NO_PARTS: Mapping[int, Parts] = {}
COLUMNS = ", with "
APART = "; "
"""What stands before the columns of a table in its words, and between them."""


@dataclass(frozen=True)
class Meaning:
    """What the state of one query means.

    ``tree`` has a (depth, digest, words) line an operator that state hangs on, with more behind of some (``Traces``),
    ``reads`` what Spark reads in its order, ``operators`` a [Spark's name, digest of its SQL, words, identity, node's
    number, step, parts] an operator with state, in Spark's order; a stage has a list of numbers. ``parts`` are its
    nodes (of one of Spark's own it is one itself), each [digest of all that its state hangs on, words].
    ``sink`` is what remembers what a query has written, "" where nothing does. ``held``: filters below a sink that
    keeps rows are in ``tree``, which earlier versions left out.
    """

    write: str
    mode: str
    sink: str
    reads: list[str]
    tree: list[list[Any]]
    operators: list[list[Any]]
    held: bool = True


def meanings(job: SparkJob) -> list[dict[str, Any]]:
    """Return what each query means, as plain data; nothing for a job whose plan is not known."""
    plans = {w.name: p for w, p in job.planned} if job.streaming else {}
    queries = [(run, [plans[w.name] for w in job.parts_of(run)]) for run in (job.runs if plans else ())]
    return [asdict(_meaning(job, run, planned)) for run, planned in queries]


def plain_meanings(job: SparkJob) -> list[dict[str, Any]]:
    """Return them as a checkpoint gives them back."""
    plain: list[dict[str, Any]] = json.loads(json.dumps(meanings(job)))
    return plain


@deep
def _meaning(job: SparkJob, write: Write, planned: Sequence[PhysicalSink]) -> Meaning:
    steps = {step.name: step for step in job.steps}
    mine = below(steps[write.input], steps)
    traces = Traces(job.kept)
    named = NAMED_SOURCES in job.settings
    operators = [
        [
            o.spark,
            _digest(state_of(steps[o.step])),
            o.what,
            o.identity,
            _numbers(o),
            o.step,
            _parts(job, write, o, traces),
        ]
        for o in stateful(job, write)
    ]
    noted = write.options.get("transactional-id")  # Kafka knows by it which batches of a query are written
    forgets = write.format in _FORGETFUL or (write.into_topics and noted is None)
    table = planned[0].sink.table
    place = f"{table and table.path} {write.format} {write.options.get('topic')} {noted}"
    tree = [line for one in planned for line in _tree(one, traces)]
    if write.parts and not operators:  # which INSERTs read a table is free where nothing but its positions are kept
        tree = list({line[1]: line for line in tree if line[2].startswith("Scan(")}.values())
    return Meaning(
        write=write.name,
        mode=f"{write.mode} {'chain' if planned[0].how.chain else job.trigger[0] == 'realTime'}",
        sink="" if forgets else digest(place),
        reads=[text for step in mine if (text := _read(step, named))],
        tree=tree,
        operators=operators,
    )


def _tree(planned: PhysicalSink, traces: Traces) -> list[list[Any]]:
    """Return the lines of what state hangs on in the query of an INSERT, and in its sink."""
    held = bool(planned.state) or planned.conflict is not None
    every = frozenset(range(len(planned.query.node.fields)))
    tree = [list(line) for line in traces.tree(planned.query, planned.modes.inputs[0], (0, held), every)]
    if held:
        text = f"{planned.plan.key} {planned.conflict} {traces.of(planned.query.node)}"
        tree = [[-1, _digest(text), f"Sink({planned.state or planned.conflict})"], *tree]
    return tree


def _numbers(operator: Stateful) -> int | list[int]:
    numbers = [kept.call.node for kept in operator.nodes]
    return numbers if any(kept.column for kept in operator.nodes) else next(iter(numbers), 0)


def _parts(job: SparkJob, write: Write, operator: Stateful, traces: Traces) -> list[list[str]]:
    """Return what each node of an operator means by itself, whatever stands above it and beside it, and words."""
    step = next(s for s in job.steps if s.name == operator.step)
    parts = [(k.step, f"{k.keys} {call_of(_orderless(k.call))}", k.what) for k in operator.nodes]
    return [
        [_digest(f"{operator.spark} {sql} {_under(job, place_of(job, write, name), traces)}"), what]
        for name, sql, what in parts or [(step.name, state_of(step), operator.what)]
    ]


def _orderless(call: StateCall) -> StateCall:
    """Return an aggregate without the order of its rows, where that does not count: who reads it asks for it or not."""
    if call.kind != "aggregate" or not {*_CALLS.findall(call.args[2])} <= _ORDERLESS:
        return call
    return replace(call, args=(call.args[0], *call.args[2:]), other_args=())


def _under(job: SparkJob, path: str, traces: Traces) -> list[list[Any]]:
    """Return what state hangs on of a place of the plan and all below it."""
    first, *places = map(int, path.split("."))
    planned = job.plan[first]
    here, mode = planned.root, planned.modes
    for i in places:
        here, mode = here.inputs[i], mode.inputs[i]
    if not places:
        return [line[:2] for line in _tree(planned, traces)]
    every = frozenset(range(len(here.node.fields)))
    return [list(line[:2]) for line in traces.tree(here, mode, (0, True), every)]


def _read(step: Step, named: bool) -> str:
    """Return what Spark's checkpoint knows of a source or a watermark, by the order of their places."""
    match step:
        case Read():
            return f"{step.format} {step.streaming} {step.name if named else ''}"
        case WithWatermark():
            return f"watermark {step.partitions > 0} {step.idle_ms > 0}"
        case WithTime():
            return f"time {step.clock}"
    return ""


class Traces(Traced):
    """Traces the fields of nodes to columns of sources, by all that a source is.

    ``kept``: what of the rows of tables is kept, by the identity of their scans (``plan/decoded.py``).
    """

    def __init__(self, kept: Mapping[int, Parts] = NO_PARTS) -> None:
        super().__init__()
        self.kept = kept

    def _short(self, text: str) -> str:
        return text if len(text) <= _LONGEST else _digest(text)

    def _trace(self, node: Node) -> list[str]:
        under = [text for i in node.inputs for text in self.of(i)]
        match node:
            case Scan():
                return _columns(node)
            case Project():
                return [_exact(e, under) for e in node.exprs]
            case Union():
                return [" | ".join(column) for column in zip(*map(self.of, node.parts), strict=True)]
        own = f"{node.name} {_digest(self.signature(node))}" if len(node.fields) > node.passed else ""
        return [*under[: node.passed], *(f"{own}.{n}" for n in range(len(node.fields) - node.passed))]

    def signature(self, node: Node, without: frozenset[str] = frozenset()) -> str:
        """Return all that an operator is: attributes, types of its own fields, and each field that it reads.

        ``without``: attributes that do not count.
        """
        if isinstance(node, Scan):
            kept = _columns(node) if node.carries != "append" else ()
            return f"{_source(node)} {kept}"
        left_out = _NOT_MEANT | without
        attributes = [f"{f.name}={_exact(getattr(node, f.name), ())}" for f in fields(node) if f.name not in left_out]
        own = [str(f.type) for f in node.fields[node.passed :]]
        every = [frozenset(range(len(i.fields))) for i in node.inputs]
        read = every if isinstance(node, Union) else node.reads(frozenset(range(len(node.fields))))
        sides = [
            [f"{i}: {self.of(child)[i]} {child.fields[i].type}" for i in sorted(needed)]
            for child, needed in zip(node.inputs, read, strict=True)
        ]
        return f"{node.name} {attributes} {own} {sides}"

    def tree(self, here: Physical, mode: Mode, at: tuple[int, bool], needed: Needed) -> Iterator[tuple[Any, ...]]:
        """Yield a line an operator that state hangs on, roots first: how deep it is, a digest, words.

        ``at``: how deep this one is, and whether something above keeps what comes out; ``needed``: what that reads.
        What an inner join tests beyond its keys is a filter above its state (``stream/join.py``), free where one is.
        The digest is as earlier versions made it, and know it. Behind the words stands what may be compared instead.
        """
        node, (depth, held) = here.node, at
        free = isinstance(node, Project) or (isinstance(node, Filter) and (not held or mode.inputs[0].append))
        if not free:
            loose = not held or mode.append
            yield (depth, self.whole(node), told(node), *self._instead(node, loose, needed))
        below = depth if free else depth + 1, held or not free
        for child, under, read in zip(here.inputs, mode.inputs, node.reads(needed), strict=True):
            yield from self.tree(child, under, below, read)

    def _instead(self, node: Node, loose: bool, needed: Needed) -> Iterator[Any]:
        """Yield the digest of an inner join without its condition, or those of a filter's conditions, with their words.

        Of a table of changes that of what is read, and a digest a column: what nobody reads may come and go, if the SQL
        of the state has none of it (``operators``). Where not all of a row is kept, the names of what is.
        """
        match node:
            case Join(kind="inner") if loose:
                yield _digest(self.signature(node, _CONDITION))
            case Filter():
                names = names_of(node.input)
                each = {self.condition(node, c): rex_text(c, names) for c in conjuncts(node.condition)}
                yield from (sorted(each), each)
            case Scan() if node.carries != "append":
                columns = _columns(node)
                read = sorted(needed.union(*node.upsert_keys(())))
                yield _digest(f"{_source(node)} {[columns[i] for i in read]}")
                yield {f.name: _digest(text) for f, text in zip(node.fields, columns, strict=True)}
                if (parts := self.kept.get(id(node))) is not None:
                    yield sorted(map(list, names_in(parts)))

    def whole(self, node: Node) -> str:
        """Return all that an operator is as a digest."""
        return _digest(self.signature(node))

    def condition(self, node: Filter, condition: Rex) -> str:
        """Return one of a filter's conditions as a digest."""
        return _digest(_exact(condition, self.of(node.input)))


def told(node: Node) -> str:
    """Return an operator in words, with what it reads."""
    if isinstance(node, Scan):
        o = node.options
        place = "" if o is None else f"{o.connector} {o['topic'] or o['path'] or ''}".strip()
        formats = () if o is None else (f.name for f in (o.key_format, o.value_format) if f is not None)
        # of changes all columns lie in the state, of inserts those that operators read
        columns = [f"{c.name} {c.type}" for c in node.fields] if node.carries != "append" else []
        return f"Scan({', '.join((place, *formats))})" + (f"{COLUMNS}{APART.join(columns)}" if columns else "")
    if isinstance(node, Union):
        return node.describe()
    needed = node.reads(frozenset(range(len(node.fields))))
    read = [c.fields[i] for c, mine in zip(node.inputs, needed, strict=True) for i in sorted(mine)]
    return f"{node.describe()} over ({', '.join(f'{f.name} {f.type}' for f in read)})"


def _source(scan: Scan) -> str:
    """Return what is read: connector and options, but for those of clients, of starting, and of broken records."""
    o = scan.options
    if o is None:
        return str(scan.table.path)
    values = {k: v for k, v in sorted(o.values.items()) if not k.startswith(_FREE) and not k.endswith(_LENIENT)}
    key = scan.table.primary_key
    mark = scan.watermark
    names = [f.name for f in scan.fields]
    watermark = ""
    if mark is not None:  # how late rows may be may change: the watermark goes on from where it was
        watermark = names[mark.index] if mark.delay_ms is not None else _exact(mark.expression, names)
    formats = [_format(f) for f in (o.key_format, o.value_format)]
    return f"{o.connector} {values} {formats} {scan.carries} {scan.normalised} {key and _exact(key, ())} {watermark}"


def _format(given: Any) -> str:
    """Return a format's name and options, but for those of broken records."""
    if given is None:
        return ""
    values = {k: v for k, v in sorted(given.options.items()) if not k.endswith(_LENIENT)}
    return f"{given.name} {given.changelog} {values}"


def _columns(scan: Scan) -> list[str]:
    source = digest(_source(scan))
    made = dict(scan.metadata) | dict(scan.computed)
    names = [f.name for f in scan.fields]
    kinds = [c.kind for c in scan.table.columns] if len(scan.table.columns) == len(names) else [""] * len(names)
    return [
        f"{source}.{f.name} {kind} {f.type.as_attribute(None)} {_exact(made[i], names) if i in made else ''}"
        for i, (f, kind) in enumerate(zip(scan.fields, kinds, strict=True))
    ]


def _exact(value: Any, names: Sequence[str]) -> str:
    """Return a value whole, without places in the script; a field by its name where there are names."""
    match value:
        case InputRef() if value.index < len(names):
            return names[value.index]
        case tuple() | list():
            return f"[{', '.join(_exact(v, names) for v in value)}]"
        case frozenset() | set():
            return f"{{{', '.join(sorted(_exact(v, names) for v in value))}}}"
        case DataType():
            return str(value)
        case _ if is_dataclass(value):
            parts = (f"{f.name}={_exact(getattr(value, f.name), names)}" for f in fields(value) if f.name != "span")
            return f"{type(value).__name__}({', '.join(parts)})"
    return repr(value)


def _digest(text: str) -> str:
    return digest(text) + digest("", text)
