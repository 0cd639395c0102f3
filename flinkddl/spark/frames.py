"""Tables, views and queries as DataFrames for the user's own Spark code: the columns as Flink shows them, no write.

What differs from a job: an updating result in streaming mode is a stream of changes with a column ``_row_kind``; an
unbounded table can be read in batch mode, which gives what its topic holds at that moment; a watermark is Spark's own,
one a table; and positions in a topic are looked up when the frame is read, so that making it asks nobody.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from flinkddl.diagnostics import FlinkDdlError, SourceText
from flinkddl.dialect.script import parse_script
from flinkddl.plan.builder.hooks import context_of
from flinkddl.plan.builder.planner import plan_query
from flinkddl.plan.decoded import reading
from flinkddl.plan.nodes import Filter, Project, Scan, scans
from flinkddl.plan.nodes.forms import PLAIN
from flinkddl.plan.physical import decide, how_of
from flinkddl.spark import job as J
from flinkddl.spark.assemble import session_settings
from flinkddl.spark.base import select
from flinkddl.spark.context import AFTER, BEFORE, KIND, ROW_KIND, WEIGHT, Lowering, Rel
from flinkddl.spark.expressions import java_jars, user_functions
from flinkddl.spark.finished import as_streams
from flinkddl.spark.rowtime import untimed
from flinkddl.spark.stream import lower as lower_stream
from flinkddl.spark.stream.base import explode, members, struct
from flinkddl.spark.stream.kinds import normalise
from flinkddl.sqltypes import quote

if TYPE_CHECKING:
    from flinkddl.catalog.model import ObjectPath
    from flinkddl.catalog.state import Catalog
    from flinkddl.plan.builder.planner import Planned
    from flinkddl.plan.nodes import Field, Node
    from flinkddl.spark.job import Named

Mode = Literal["batch", "streaming"]
_FROM_START = ("group-offsets", "latest-offset")


@dataclass(frozen=True)
class Frame:
    """A lowered table, view or query: ``job`` has the steps and settings and no writes, ``step`` is its last one.

    ``fields`` are the columns with Flink's types; ``updating`` says that ``_row_kind`` follows them. ``output_mode`` is
    the one that a streaming query over it starts with.
    """

    step: str
    job: J.SparkJob
    fields: tuple[Field, ...]
    updating: bool = False
    output_mode: J.OutputMode = "append"

    @property
    def streaming(self) -> bool:
        """Whether this is a stream."""
        return self.job.streaming


def frame_of(catalog: Catalog, path: ObjectPath, mode: Mode | None = None) -> Frame:
    """Lower a table or view of the catalog. Raises FlinkDdlError with what keeps it from being read.

    Without a ``mode`` the session decides: ``execution.runtime-mode`` = batch gives a batch frame, and so do bounded
    sources.
    """
    mode = mode or ("batch" if catalog.settings.batch else None)
    planning = _streaming(catalog)
    planned = _planned(planning, path)
    return frame_of_query(planned.node, planned.columns, planning, path.name, mode)


def result_fields(catalog: Catalog, path: ObjectPath) -> tuple[Field, ...]:
    """Return the columns of a table or view. Raises FlinkDdlError where it cannot be planned."""
    return _planned(_streaming(catalog), path).columns


def _planned(catalog: Catalog, path: ObjectPath) -> Planned:
    text = f"SELECT * FROM {quote(path.catalog)}.{quote(path.database)}.{quote(path.name)}"
    script = parse_script(SourceText(f"<{path.name}>", text))
    return plan_query(script.statements[0].tree, context_of(catalog))


def _streaming(catalog: Catalog) -> Catalog:
    """Return the catalog to plan with: in batch mode Flink's planner takes no unbounded table."""
    return replace(catalog, settings=replace(catalog.settings, execution_runtime_mode=None))


def frame_of_query(
    node: Node, columns: tuple[Field, ...], catalog: Catalog, name: str, mode: Mode | None = None
) -> Frame:
    """Lower a planned query; ``columns`` are its result's names and types.

    ``mode`` None is batch where all that is read ends by itself. Raises FlinkDdlError.
    """
    sources = list(scans(node))
    streaming = bool(sources) and (mode == "streaming" or (mode is None and not all(s.bounded for s in sources)))
    from flinkddl.spark.batch import lower as lower_batch

    zone = str(context_of(catalog).session.zone)
    ctx = Lowering(streaming=streaming, zone=zone, config=catalog.settings, row_kinds=_row_by_row(node))
    # its checkpoint is the user's own, of which nobody knows how it was begun
    ctx.newer = frozenset()
    how = replace(how_of(ctx.config, streaming=streaming), merges=False, chain=False, pairs=False, across=False)
    tree, how = decide(node, PLAIN, how)
    ctx.reading = reading([tree], streaming=streaming)
    rel = lower_stream(tree, how, ctx) if streaming else lower_batch(node, ctx)
    if rel.kind == "upsert":
        ctx.output_mode = "update"
        rel = normalise(rel, ctx)
    updating = rel.kind != "append"
    if updating and any(f.name == ROW_KIND for f in columns):
        message = f"'{name}' has a column '{ROW_KIND}' of its own, the name of the row kind of its changes"
        raise FlinkDdlError.of("FD664", message, node.span, f"read it through a view that renames '{ROW_KIND}'")
    step = _changes(rel, columns, name, ctx) if updating else _rows(rel, columns, name, ctx)
    if rel.kind in ("append", "delta") and streaming:
        step = _watermarked(step, columns, name, ctx)
    job = J.SparkJob(
        name=name,
        steps=tuple(_late(s, ctx) for s in (as_streams(ctx.steps, [step], constants=True) if streaming else ctx.steps)),
        writes=(),
        settings={**session_settings(streaming), **ctx.settings},
        streaming=streaming,
        udfs={**user_functions(node), **ctx.udfs},
        extras=tuple(sorted(ctx.extras)),
        jars=java_jars(node),
    )
    stateless = rel.kinds or (rel.kind == "append" and ctx.row_kinds)
    return Frame(step, job, columns, updating, "append" if stateless else ctx.output_mode)


def _row_by_row(node: Node) -> bool:
    if isinstance(node, Scan) and node.normalised:
        return False
    return isinstance(node, (Filter, Project, Scan)) and all(map(_row_by_row, node.inputs))


def _late(step: J.Step, ctx: Lowering) -> J.Step:
    """Leave a topic's positions to the moment of reading. An unbounded table in batch mode is all that it holds."""
    if not (isinstance(step, J.Read) and step.of_topics):
        return step
    start, stop = dict(step.start), dict(step.stop)
    start.pop("commit-group", None)
    if not step.streaming and stop.get("mode", "unbounded") == "unbounded" and start.get("mode") in _FROM_START:
        start = {"mode": "earliest-offset"}
    positions = {"flinkddl.start": json.dumps(start), "flinkddl.stop": json.dumps(stop)}
    options = {**step.options, **positions} | ({"flinkddl.discovery": "0"} if step.fixed else {})
    return replace(step, format=J.KAFKA_SOURCE, options=options, start=start, stop=stop, name=step.name)


def _rows(rel: Rel, columns: tuple[Field, ...], name: str, ctx: Lowering) -> str:
    named = [(c.name, untimed(rel.sql(i), f.type)) for i, (c, f) in enumerate(zip(columns, rel.fields, strict=True))]
    return select(rel.step, named, ctx, f"{name}_frame", f"{name} as Flink shows it")


def _changes(rel: Rel, columns: tuple[Field, ...], name: str, ctx: Lowering) -> str:
    """Make a row of each change, its kind in ``_row_kind``: what an update takes back comes before what it gives."""
    count = len(rel.fields)
    new = [untimed(rel.sql(i), f.type) for i, f in enumerate(rel.fields)]
    if rel.kinds:
        return select(rel.step, [*zip(_names(columns), new, strict=True), (ROW_KIND, KIND)], ctx, f"{name}_frame")
    if rel.kind == "images":
        old = [untimed(quote(c), f.type) for c, f in zip(rel.before_columns, rel.fields, strict=True)]
        gone = f"named_struct('k', IF({AFTER}, '-U', '-D'), 'r', {struct(old)})"
        come = f"named_struct('k', IF({BEFORE}, '+U', '+I'), 'r', {struct(new)})"
        each = f"array_compact(array(IF({BEFORE}, {gone}, NULL), IF({AFTER}, {come}, NULL)))"
    else:
        kind = f"IF({WEIGHT} > 0, '+I', '-D')"
        each = f"array_repeat(named_struct('k', {kind}, 'r', {struct(new)}), CAST(abs({WEIGHT}) AS INT))"
    rows = explode(rel.step, (), (each, (ROW_KIND, "__row")), ctx, f"{name}_changes", "a row a change, with its kind")
    named: list[Named] = list(zip(_names(columns), members("__row", count), strict=True))
    return select(rows, [*named, (ROW_KIND, ROW_KIND)], ctx, f"{name}_frame", f"{name}: the changes Flink shows")


def _names(columns: tuple[Field, ...]) -> list[str]:
    return [c.name for c in columns]


def _watermarked(step: str, columns: tuple[Field, ...], name: str, ctx: Lowering) -> str:
    """Tell Spark's operators again which columns are event time; where one is only computed, its input has the mark."""
    marks = [c.name for c in columns if c.type.time_attribute == "ROWTIME"]
    if not marks or not any(isinstance(s, J.WithWatermark) for s in ctx.steps):
        return step
    marked = J.WithMetadata(
        name=ctx.fresh(f"{name}_rowtime"),
        input=step,
        columns=dict.fromkeys(marks, J.WATERMARKED),
        note="event time, whose watermark is kept below",
    )
    return ctx.add(marked).name
