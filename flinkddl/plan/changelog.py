"""How changes travel through a plan: what each node takes and gives, where updates must carry the old row, refusals.

Two walks over the plan, after Flink's FlinkChangelogModeInferenceProgram. Upwards: which of insert (I), update (U) and
delete (D) a node gives, and the keys by which its changes identify a row (upsert keys). Downwards: whether the consumer
needs the row before an update (UB) or can do with the row after (UA). Both are facts of the node classes.
How Spark carries the rows is decided in ``plan/physical.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from flinkddl.catalog.settings import NOTHING_SET, Settings
from flinkddl.connectors import connector
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.diagnostics.report import Related
from flinkddl.plan import nodes as N
from flinkddl.plan.nodes.base import I, Mode

# ---- the walk ----------------------------------------------------------------------------------------------------


def infer(node: N.Node, before: bool = False) -> Mode:
    """Infer the modes of a plan whose consumer asks for the row before an update or does not.

    Raises FD550 where a node takes append rows only and its input gives changes.
    """
    if isinstance(node, N.Sink):
        return plan_sink(node, NOTHING_SET).mode_of(node)
    inputs = tuple(infer(i, node.asks_before(n, before)) for n, i in enumerate(node.inputs))
    for n in node.append_only:
        if not inputs[n].append:
            raise _refusal(node.title, node, inputs[n])
    kinds = node.changes(tuple(i.kinds for i in inputs))
    keys = tuple(dict.fromkeys(node.upsert_keys(tuple(i.keys for i in inputs))))
    return Mode(node, kinds, before or node.carries_before(inputs), keys, inputs)


def culprit(mode: Mode) -> Mode:
    """Return the node that first makes changes out of what it reads: the one a refusal names."""
    for below in mode.inputs:
        if not below.append:
            return culprit(below)
    return mode


def _refusal(requester: str, node: N.Node, producer: Mode, help: str | None = None) -> FlinkDdlError:
    source = culprit(producer)
    what = source.node.title
    if isinstance(source.node, N.Scan):
        what = f"table '{source.node.table.path.name}'"
    changes = "update and delete" if "D" in producer.kinds else "update"
    related = (Related(source.node.span, f"the {changes} changes come from here"),) if source.node.span else ()
    message = f"{requester} does not support consuming {changes} changes, which {what} produces"
    return FlinkDdlError.of("FD550", message, node.span, help or _advice(source.node), related)


def _advice(source: N.Node) -> str:
    match source:
        case N.Scan():
            return "read the topic with an insert-only format and connector 'kafka', or use operators that take changes"
        case N.Aggregate():
            return "aggregate in windows (GROUP BY window_start, window_end), whose results are final"
    return "write into a table with a PRIMARY KEY (upsert-kafka) or a changelog format (debezium-json)"


# ---- sinks -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SinkPlan:
    """How a sink is fed: what it takes, its key as field indices, and whether rows of one key must be arbitrated."""

    accepts: Literal["append", "upsert", "changelog"]
    key: tuple[int, ...]
    materialize: bool
    input: Mode

    @property
    def races(self) -> bool:
        """Whether updates of several rows meet at one key of the sink and nothing arbitrates: the last one wins."""
        fits = frozenset(self.key) in self.input.keys
        return self.accepts == "upsert" and not (self.materialize or fits or self.input.append)

    @property
    def follows(self) -> bool:
        """Whether its rows hang on which changes there were, not on the table that they leave alone."""
        return self.races or _by_changes(self.input)

    def mode_of(self, sink: N.Sink) -> Mode:
        """Return the modes of the whole INSERT or SELECT."""
        return Mode(sink, self.input.kinds, self.input.before, (), (self.input,))


def plan_sink(sink: N.Sink, config: Settings) -> SinkPlan:
    """Decide how a sink takes its query. Raises FD550, FD552, FD553, FD554."""
    accepts = sink_accepts(sink)
    key = sink_key(sink)
    if config.batch:
        return SinkPlan(accepts, key, False, _final(sink.input))
    query = infer(sink.input, before=accepts == "changelog")
    if accepts == "append" and not query.append:
        help = None if isinstance(culprit(query).node, N.Scan) else connector(sink.options.connector).instead
        raise _refusal(f"the append-only sink '{_name(sink)}'", sink, query, help)
    if accepts != "upsert":
        _check_writers(sink, query, config)
        return SinkPlan(accepts, key, False, query)
    fits = frozenset(key) in query.keys
    forced = config.table_exec_sink_upsert_materialize
    _check_conflict(sink, query, fits, forced, config)
    materialize = forced == "FORCE" or (forced == "AUTO" and not fits and not query.append)
    if query.append and sink.conflict in ("NOTHING", "ERROR"):
        materialize = True
    if materialize or not fits:
        query = infer(sink.input, before=True)
    return SinkPlan(accepts, key, materialize, query)


def _check_writers(sink: N.Sink, query: Mode, config: Settings) -> None:
    """Check that changes that are spread over several writers stay in order, which the PRIMARY KEY sees to (FD554)."""
    writers = sink.options["sink.parallelism"] if sink.options is not None else None
    if query.append or sink.table is None or sink.table.primary_key is not None or (writers or 1) == 1:
        return
    if writers not in (config.table_exec_resource_default_parallelism, config.parallelism_default):
        message = f"'sink.parallelism' = '{writers}' would spread the changes of a row of '{_name(sink)}' over writers"
        help = "declare the PRIMARY KEY of the table, or remove 'sink.parallelism'"
        raise FlinkDdlError.of("FD554", message, sink.span, help)


def _by_changes(mode: Mode) -> bool:
    return (mode.node.by_changes and not all(i.append for i in mode.inputs)) or any(map(_by_changes, mode.inputs))


def _final(node: N.Node) -> Mode:
    """In batch mode every operator gives its rows once, as inserts."""
    return Mode(node, I, False, (), tuple(_final(i) for i in node.inputs))


def _check_conflict(sink: N.Sink, query: Mode, fits: bool, forced: str, config: Settings) -> None:
    if sink.conflict in ("NOTHING", "ERROR"):
        bare = next((s for s in N.scans(query.node) if s.watermark is None), None)
        if bare is not None:
            message = (
                f"ON CONFLICT DO {sink.conflict} needs a watermark on every source, and '{bare.table.path}' has none"
            )
            related = (Related(bare.span, "read here"),) if bare.span else ()
            help = (
                f"declare WATERMARK FOR a time column of '{bare.table.path.name}', or write ON CONFLICT DO DEDUPLICATE"
            )
            raise FlinkDdlError.of("FD552", message, sink.span, help, related)
    strict = config.table_exec_sink_require_on_conflict
    strict = config.flinkddl_strict if strict is None else strict
    if strict and not fits and sink.conflict is None and forced == "AUTO":
        names = [f.name for f in sink.input.fields]
        pk = ", ".join(names[k] for k in sorted(frozenset(sink_key(sink))))
        found = " or ".join("[" + ", ".join(names[k] for k in sorted(key)) + "]" for key in query.keys) or "none"
        message = f"the query's upsert key ({found}) is not the primary key [{pk}] of sink '{_name(sink)}'"
        help = "add ON CONFLICT DO DEDUPLICATE, or group the query by the primary key"
        raise FlinkDdlError.of("FD553", message, sink.span, help)


def _name(sink: N.Sink) -> str:
    return str(sink.table.path) if sink.table else sink.target or "the result"


def sink_accepts(sink: N.Sink) -> Literal["append", "upsert", "changelog"]:
    """Return what a sink takes: a SELECT and changelog formats take every change, upsert sinks need a key."""
    if sink.table is None or sink.options is None:
        return "changelog"
    mode = connector(sink.options.connector).sink_mode
    kinds = mode(sink.options) if mode is not None else frozenset("I")
    if kinds == {"I"} or ("UB" not in kinds and sink.table.primary_key is None):
        return "append"  # jdbc upserts where the table has a PRIMARY KEY
    return "changelog" if "UB" in kinds else "upsert"


def writes_changes(sink: N.Sink) -> bool:
    """Whether a sink's format writes each row of a finished table as an insert among changes."""
    return sink.table is not None and sink.options.value_format is not None and sink_accepts(sink) == "changelog"


def sink_key(sink: N.Sink) -> tuple[int, ...]:
    """Return the indices of the sink's primary key in its fields."""
    if sink.table is None or sink.table.primary_key is None:
        return ()
    names = [c.name for c in sink.table.persisted]
    return tuple(names.index(c) for c in sink.table.primary_key.columns)
