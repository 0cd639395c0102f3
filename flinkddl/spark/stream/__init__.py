"""The streaming lowering: any updating Flink query on Spark's own operators and our retracting aggregates.

``lower`` gives the relation of a query; ``lower_for`` brings it to the form that a sink takes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.plan.across import across, others, parted
from flinkddl.plan.clocks import timing
from flinkddl.plan.merged import asks, blended, merged
from flinkddl.plan.nodes import Filter, Project, Scan, Union, Unnest, Values, scans
from flinkddl.plan.rules import files
from flinkddl.plan.sharing import leaders, same_scans
from flinkddl.plan.stateforms import BLENDS
from flinkddl.spark.base import project
from flinkddl.spark.stream.base import HANDLERS, lower_node
from flinkddl.spark.stream.chain import chained
from flinkddl.spark.stream.fanout import drop_unread
from flinkddl.spark.stream.kinds import first_rows, last_changes, normalise, to_delta, to_images, to_upsert
from flinkddl.spark.stream.regions import Graph, unfit
from flinkddl.spark.stream.whole import whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from flinkddl.plan.nodes import Node
    from flinkddl.plan.nodes.forms import How
    from flinkddl.plan.physical import Physical, PhysicalSink
    from flinkddl.spark.context import Lowering, Rel

files(__name__, __path__)

__all__ = ["HANDLERS", "lower", "lower_for"]


def lower(tree: Physical, how: How, ctx: Lowering) -> Rel:
    """Lower a query as planned; sets ``ctx.output_mode`` and the session settings it needs."""
    ctx.output_mode, ctx.keyed, ctx.chain = how.mode, how.keyed, how.chain
    ctx.timing = timing(tree.node, ctx.zone) if how.chain else None
    if how.mode == "update":
        # chains of our own aggregates are exact; Spark's check knows only its own patterns
        ctx.settings["spark.sql.streaming.statefulOperator.checkCorrectness.enabled"] = "false"
    if ctx.together:
        return _finished(lower_node(tree, ctx), ctx)
    ctx.leaders = _meeting(tree, how)
    ctx.ordered = frozenset()
    first = len(ctx.steps)
    ctx.asks = {}
    if how.chain:
        _read_once(tree, same_scans(scans(tree.node)), ctx)
    elif how.mode == "update" and (how.merges or across(tree, how)):
        return _merged(tree, how, ctx, first)
    ctx.forget()
    rel = _finished(lower_node(tree, ctx), ctx)
    if ctx.once and not how.chain:
        drop_unread(ctx, first, rel.step)
    return rel


def _meeting(tree: Physical, how: How) -> dict[int, int]:
    return leaders(here.node for here in tree.walk() if here.shares) if how.shares else {}


def _read_once(tree: Physical, groups: Iterable[Sequence[Scan]], ctx: Lowering) -> None:
    """Let the scans of each group be one, with the order of arrival where one of its readers asks for that."""
    known = {id(scan): id(group[0]) for group in groups for scan in group}
    asked = ((known.get(id(here.node)), here.asked) for here in tree.walk() if isinstance(here.node, Scan))
    ctx.leaders = {**ctx.leaders, **known}
    ctx.ordered = frozenset(leader for leader, traits in asked if leader is not None and traits.sequence)


def _merged(tree: Physical, how: How, ctx: Lowering, first: int) -> Rel:
    """Lower a query in which equal sub-plans run as one, and tables are read once, as far as a chain can be between.

    Where a table's rows cannot go on in one, those of its mentions that meet further below are tried; then which equal
    sub-plans run by themselves.
    """
    apart, blocked = set[int](), set[int]()
    if how.merges and how.blends and blended(tree, how):
        ctx.used.add(BLENDS)
    found = _equal(tree, how, apart)
    groups = across(tree, how, others(found.values()))
    tried = {id(scan) for group in groups for scan in group}
    while True:
        mark = ctx.mark()
        _begin(tree, found, groups, ctx)
        rel = _finished(lower_node(tree, ctx), ctx)
        read = {rel.step for rel in ctx.once.values()} if groups else set()
        drop_unread(ctx, first, rel.step)
        graph = Graph.of(ctx.steps[first:])
        left = chained(ctx, first, rel.step, read, merges=how.merges)
        failed = [group for group in groups if _steps_of(group, ctx) & left]
        twice = {number for number, made in ctx.made.items() if made.step in left or _newest(made, ctx) in left}
        ctx.merged, ctx.asks, ctx.later, ctx.tables = {}, {}, {}, {}
        if not failed and not twice:
            ctx.alone |= tried - {id(scan) for group in groups for scan in group}
            return rel
        through = _blocked(failed, graph, ctx) - blocked
        ctx.back(mark)
        if failed and not through:
            fails = {id(group) for group in failed}
            groups = [g for group in groups for g in (parted(tree, group) if id(group) in fails else [group])]
            continue
        if failed:
            blocked |= through
        else:
            apart |= twice
            found = _equal(tree, how, apart)
        groups = across(tree, how, others(found.values()), blocked)
        tried |= {id(scan) for group in groups for scan in group}


def _blocked(groups: Iterable[Sequence[Scan]], graph: Graph, ctx: Lowering) -> set[int]:
    """Return the nodes through which no chain can go that lie between the mentions of tables."""
    bases = {name for group in groups for name in _steps_of(group, ctx)} & {*graph.parted()}
    return {ctx.owners.get(step, 0) for base in bases for step in unfit(graph, base)} - {0}


def _equal(tree: Physical, how: How, apart: Iterable[int]) -> dict[int, list[Physical]]:
    return merged(tree, how, apart) if how.merges else {}


def _begin(
    tree: Physical, found: Mapping[int, Sequence[Physical]], groups: Sequence[Sequence[Scan]], ctx: Lowering
) -> None:
    """Begin to lower a query in which these sub-plans and these scans are one."""
    ctx.merged = {id(here): number for number, places in found.items() for here in places}
    ctx.asks = {number: asks(places) for number, places in found.items()}
    ctx.forget()
    _read_once(tree, groups, ctx)


def _steps_of(group: Sequence[Scan], ctx: Lowering) -> set[str]:
    """Return the steps of a table that was read for several of its mentions."""
    leaders = {ctx.leaders[id(scan)] for scan in group}
    return {rel.step for (leader, _), rel in ctx.once.items() if leader in leaders}


def _newest(rel: Rel, ctx: Lowering) -> str:
    return ctx.newest[rel].step if rel in ctx.newest else ""


def _finished(rel: Rel, ctx: Lowering) -> Rel:
    """Leave Spark's window out; its window_time is a microsecond before the end, Flink's a millisecond."""
    if not rel.windowed:
        return rel
    exprs = [
        f"date_trunc('MILLISECOND', {rel.sql(i)})" if f.type.time_attribute == "ROWTIME" else rel.sql(i)
        for i, f in enumerate(rel.fields)
    ]
    return project(rel.with_(windowed=False), rel.fields, exprs, ctx, "window_time")


def lower_for(sink: PhysicalSink, ctx: Lowering) -> Rel:
    """Lower a query to the rows that its sink takes. Raises FD648 and FD552 where they cannot be had.

    Where rows of one key race (``upsert-materialize`` is NONE) the last change of it wins; behind an operator, whose
    changes have no order of arrival, the last live row.
    """
    first = len(ctx.steps)
    rel = _for_sink(sink, ctx)
    return whole(sink, rel, first, ctx) if sink.how.chain else rel


def _for_sink(sink: PhysicalSink, ctx: Lowering) -> Rel:
    node, form = sink.sink.input, sink.form
    rel = lower(sink.query, sink.how, ctx)
    ctx.output_mode = sink.mode
    if sink.conflict is not None:
        return _first_wins(node, rel, form.key, ctx, sink.conflict)
    if sink.plan.accepts == "append" and form.kind != "append":
        message = "the rows of this query come out early and are corrected, which the append-only sink cannot take"
        raise FlinkDdlError.of("FD648", message, node.span, "write into an upsert-kafka table")
    if form.kind != "upsert":
        return to_delta(rel, ctx)
    if rel.kind == "upsert" and sink.keyed:
        return rel
    if sink.plan.races and rel.sequence and _row_by_row(node):
        return to_upsert(last_changes(rel, form.key, ctx), ctx)
    rel = normalise(rel, ctx) if rel.kind == "upsert" else rel
    return to_upsert(rel if rel.kind == "images" and sink.keyed else to_images(rel, form.key, ctx), ctx)


_ROW_BY_ROW = (Filter, Project, Scan, Union, Unnest, Values)


def _first_wins(node: Node, rel: Rel, key: tuple[int, ...], ctx: Lowering, conflict: str) -> Rel:
    if rel.kind != "append" or not _row_by_row(node):
        message = f"ON CONFLICT DO {conflict} is available for rows that come straight from their source only"
        raise FlinkDdlError.of("FD552", message, node.span, "write ON CONFLICT DO DEDUPLICATE")
    return to_upsert(first_rows(rel, key, ctx, unequal_fails=conflict == "ERROR"), ctx)


def _row_by_row(node: Node) -> bool:
    return isinstance(node, _ROW_BY_ROW) and all(map(_row_by_row, node.inputs))
