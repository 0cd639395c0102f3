"""A whole query as one chain of stages: each topic is read once, equal parts run once, all rows enter at stage 1.

Spark's real-time mode takes no operator with state below a UNION ALL. So what lies between the scans and the sink is
one region (``regions.py``): its entries are the rows of the tables as they are decoded, its end is the last step. Rows
for deeper stages pass those before them, and above the last stage one pass over its rows makes what is written.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

from flinkddl.plan.merged import repeatable
from flinkddl.plan.nodes import Scan
from flinkddl.plan.stateforms import MERGES
from flinkddl.spark.job import GroupBy, JoinStep, Read, StageCall, StateCall, UnionAll, flows
from flinkddl.spark.stream.chain import put
from flinkddl.spark.stream.fanout import drop_unread
from flinkddl.spark.stream.regions import Graph, whole_region

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence, Set

    from flinkddl.plan.physical import PhysicalSink
    from flinkddl.spark.context import Lowering, Rel
    from flinkddl.spark.job import Agg, Step


def whole(sink: PhysicalSink, rel: Rel, first: int, ctx: Lowering) -> Rel:
    """Make the steps of a query, those from number ``first`` on, one chain; where that cannot be they stay.

    Rows of a part that runs once may part in a way that a chain cannot take: then each part runs by itself.
    """
    steps = list(ctx.steps)
    keeps = _keeping(steps[first:])
    for together in dict.fromkeys((sink.how.merges, False)):
        ctx.steps[:] = steps
        twins = _twins(sink, first, ctx, frozenset() if together else keeps)
        if found := _whole(twins, rel, first, ctx):
            ctx.used |= set() if keeps.isdisjoint(twins) else {MERGES}
            _note(steps[first:], twins, ctx)
            return found
    ctx.steps[:] = steps
    return rel


def _whole(twins: Mapping[str, str], rel: Rel, first: int, ctx: Lowering) -> Rel | None:
    _merge(ctx, first, twins)
    top = twins.get(rel.step, rel.step)
    if not any(isinstance(s, GroupBy) or _parted(s, ctx, first) for s in ctx.steps[first:]):
        return rel.with_(step=top)
    end = ctx.add(UnionAll(name=ctx.fresh("rows"), parts=(top,), note="what is written")).name
    found = whole_region(graph := Graph.of(ctx.steps[first:]), end)
    streams = flows(ctx.steps)
    if found is None or not all(streams[e] for e in found.entries):
        return None
    put(ctx, graph, found)
    drop_unread(ctx, first, end)
    return rel.with_(step=end)


def _note(steps: Sequence[Step], twins: Mapping[str, str], ctx: Lowering) -> None:
    """Note the nodes all of whose steps are those of another node."""
    owned: dict[int, list[str]] = {}
    for step in steps:
        owned.setdefault(ctx.owners.get(step.name, 0), []).append(step.name)
    for node, names in owned.items():
        ran = {ctx.owners.get(twins.get(name, name), 0) for name in names}
        if len(ran) == 1 and node not in ran:
            ctx.same[node] = ran.pop()


def _parted(step: Step, ctx: Lowering, first: int) -> bool:
    return sum(s.reads.count(step.name) for s in ctx.steps[first:]) > 1


def _keeping(steps: Iterable[Step]) -> set[str]:
    """Return the steps with state, and those above them."""
    keeps: set[str] = set()
    for step in steps:
        if isinstance(step, GroupBy | JoinStep) or any(r in keeps for r in step.reads):
            keeps.add(step.name)
    return keeps


def _twins(sink: PhysicalSink, first: int, ctx: Lowering, without: Set[str]) -> dict[str, str]:
    """Return of each step that is there already the one that it is, by what both do and what they read.

    A step of a node that may give other rows the next time (RAND) is none, nor one of ``without``. What tells of a
    table's end is not what tells of another's.
    """
    apart = {id(here.node) for here in sink.root.walk() if not repeatable(here.node)}
    tables = {id(here.node): str(here.node.table.path) for here in sink.root.walk() if isinstance(here.node, Scan)}
    twins: dict[str, str] = {}
    known: dict[str, str] = {}
    for step in ctx.steps[first:]:
        if ctx.owners.get(step.name) in apart or step.name in without:
            continue
        told = _told(_reading(step, twins))
        if isinstance(step, Read) and not step.of_topics:
            told += tables.get(ctx.owners.get(step.name, 0), "")
        same = known.setdefault(told, step.name)
        if same != step.name:
            twins[step.name] = same
    return twins


def _merge(ctx: Lowering, first: int, twins: Mapping[str, str]) -> None:
    ctx.steps[first:] = [_reading(s, twins) for s in ctx.steps[first:] if s.name not in twins]


def _reading(step: Step, twins: Mapping[str, str]) -> Step:
    """Return a step that reads those that stay."""
    if not any(r in twins for r in step.reads):
        return step
    match step:
        case UnionAll():
            return replace(step, parts=tuple(twins.get(p, p) for p in step.parts))
        case JoinStep():
            return replace(step, left=twins.get(step.left, step.left), right=twins.get(step.right, step.right))
    return replace(step, input=twins.get(step.reads[0], step.reads[0]))  # type: ignore[call-arg]


def _told(step: Step) -> str:
    """Return all that a step does. Two tables of one topic read the same."""
    free = {"name", "note"} | ({"table"} if isinstance(step, Read) and step.of_topics else set())
    told = {f.name: getattr(step, f.name) for f in fields(step) if f.name not in free}
    if isinstance(step, GroupBy):
        told["aggs"] = _numberless(step.aggs)
    return f"{type(step).__name__} {told}"


def _numberless(aggs: Sequence[Agg]) -> list[tuple[str, str | StateCall | StageCall]]:
    return [(name, replace(a, node=0) if isinstance(a, StateCall) else a) for name, a in aggs]
