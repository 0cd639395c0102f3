"""Row by row: scans, constants, WHERE, projections, UNION ALL, UNNEST, GROUPING SETS. Weights ride along."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING

from flinkddl.plan.conditions import deterministic
from flinkddl.plan.nodes import Expand, Filter, Project, Scan, Union, Unnest, Values
from flinkddl.plan.nodes.values import plain
from flinkddl.plan.rex import InputRef
from flinkddl.spark.base import constants, extend, generate, names_of, project, same, select, where
from flinkddl.spark.context import AFTER, BEFORE, NOTHING, SEQUENCE, SEQUENCE_STEP, WATERMARK, WEIGHT, Rel
from flinkddl.spark.expressions import condition_to_spark, to_spark
from flinkddl.spark.job import Read, Rows
from flinkddl.spark.rowtime import millis
from flinkddl.spark.stream.base import explode, lower_node, lowers, without_sequence
from flinkddl.spark.stream.fanout import united
from flinkddl.spark.stream.kinds import arrival, drop_unchanged, inputs, normalise, to_delta, weight
from flinkddl.spark.unnest import elements, generator, grouping_copies
from flinkddl.sqltypes import quote, spark_type

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flinkddl.plan.nodes import Field
    from flinkddl.plan.nodes.forms import Traits
    from flinkddl.plan.physical import Physical
    from flinkddl.spark.context import Lowering
    from flinkddl.spark.job import Named


NO_WATERMARK = -(2**62)  # of a row without a time: earlier than any


@lowers(Scan)
def lower_scan(node: Scan, ctx: Lowering, here: Physical) -> Rel:
    """Lower a table through the scan that batch and streaming share."""
    return as_one(node, ctx, here, lambda asked: _scanned(node, asked, ctx))


def as_one(node: Scan, ctx: Lowering, here: Physical, scanned: Callable[[Traits], Rel]) -> Rel:
    """Return the rows of a table as they are asked for; what is read as one is ``scanned`` the first time alone."""
    asked, leader = ctx.asked(here), ctx.leaders.get(id(node))
    asked = replace(asked, latest=asked.latest and node.carries != "append" and not ctx.chain)
    bare = leader in ctx.ordered and not asked.sequence
    asked = replace(asked, sequence=asked.sequence or bare)  # as others need it
    if leader is None:
        return scanned(asked)
    if (leader, asked) not in ctx.once:
        ctx.once[leader, asked], ctx.ran[leader, asked] = scanned(asked), id(node)
    else:
        ctx.same[id(node)] = ctx.ran[leader, asked]
    rel = ctx.once[leader, asked]
    return without_sequence(rel, ctx) if bare else rel


def _scanned(node: Scan, asked: Traits, ctx: Lowering) -> Rel:
    rel: Rel = import_module("flinkddl.spark.scan").lower_scan(node, ctx, asked.sequence or asked.watermark)
    rel = _stamped(node, rel, ctx, asked.sequence) if asked.watermark and rel.kind == "append" else rel
    if (kept := ctx.reading.kept.get(id(node))) is not None:
        ctx.narrow[rel.step] = kept
    return rel


def _stamped(node: Scan, rel: Rel, ctx: Lowering, sequence: bool) -> Rel:
    """Add ``__wm``: the watermark after every record, which a task keeps while it reads a partition in order."""
    assert node.watermark is not None
    watermark = to_spark(node.watermark.expression, rel.columns, ctx.zone)
    source = [s.name for s in ctx.steps if isinstance(s, Read) and s.table == str(node.table.path)][-1]
    call = (
        f"flinkddl.met_watermark('{source}', CAST({SEQUENCE} % {SEQUENCE_STEP} AS INT), "
        f"coalesce({millis(watermark)}, {NO_WATERMARK}L))"
    )
    named = [*same((*rel.columns, *rel.reserved)), (WATERMARK, call)]
    step = select(rel.step, named, ctx, "stamped", "emit strategy on-event: the watermark each row met")
    return rel.with_(step=step, sequence=sequence, watermark=True)


@lowers(Values)
def lower_values(node: Values, ctx: Lowering, here: Physical) -> Rel:
    """Lower constant rows: a finished relation beside the streams."""
    columns = names_of(node.fields)
    queries = []
    for n, items in enumerate(constants(node, columns, ctx)):
        items += [f"CAST({n} AS BIGINT) AS {SEQUENCE}"] * here.asked.sequence
        queries.append(f"SELECT {', '.join(items) or NOTHING}")
    query = " UNION ALL ".join(queries) + ("" if node.rows else " WHERE false")
    step = ctx.add(Rows(name=ctx.fresh("values"), query=query, note="Values"))
    return Rel(step.name, columns, node.fields, sequence=here.asked.sequence)


@lowers(Project)
def lower_project(node: Project, ctx: Lowering, here: Physical) -> Rel:
    """Lower a projection. An upsert relation that loses its key, and images, keep apart what was there before."""
    rel = _whole(here, ctx)
    out = _projected(node, rel, ctx)
    shared = ctx.blends and id(here.inputs[0]) in ctx.merged
    if shared and rel.kind == "upsert" and all(map(deterministic, node.exprs)):
        ctx.later[out.step] = lambda: _projected(node, normalise(rel, ctx), ctx)
    return out


def _projected(node: Project, rel: Rel, ctx: Lowering) -> Rel:
    def row(columns: Sequence[str], there: str = "") -> list[str]:
        texts = [(e, to_spark(e, columns, ctx.zone)) for e in node.exprs]
        # evaluated only where the row is there: a NULL row must not raise
        return [f"IF({there}, {text}, NULL)" if there and not isinstance(e, InputRef) else text for e, text in texts]

    if rel.kind != "images":
        return project(rel, _typed(node), row(rel.columns), ctx, "project")
    out = project(rel, _typed(node), [*row(rel.columns, AFTER), *row(rel.before_columns, BEFORE)], ctx, "project")
    whole = {e.index for e in node.exprs if isinstance(e, InputRef)} == set(range(len(rel.fields)))
    return out if whole else drop_unchanged(out, ctx, "same after projection")


def _whole(here: Physical, ctx: Lowering) -> Rel:
    """Lower the input; where its newest row of a key is not enough, beside the one before it."""
    rel = lower_node(here.inputs[0], ctx)
    return rel if rel.kind == here.form.kind else normalise(rel, ctx)


def _typed(node: Project) -> tuple[Field, ...]:
    """Fields with the time attribute that the text really has: only a bare reference stays a rowtime column."""
    pairs = zip(node.fields, plain(node.fields), node.exprs, strict=True)
    return tuple(f if isinstance(e, InputRef) else bare for f, bare, e in pairs)


@lowers(Filter)
def lower_filter(node: Filter, ctx: Lowering, here: Physical) -> Rel:
    """Lower a WHERE. Each of before and after image passes or fails by itself."""
    rel = _whole(here, ctx)
    new = condition_to_spark(node.condition, rel.columns, ctx.zone)
    if rel.kind != "images":
        return rel.with_(step=where(rel.step, new, ctx, "filter", "Filter"))
    old = condition_to_spark(node.condition, rel.before_columns, ctx.zone)
    passed: list[Named] = [
        (AFTER, f"IF({AFTER}, {new}, false) <=> true"),
        (BEFORE, f"IF({BEFORE}, {old}, false) <=> true"),
    ]
    step = extend(rel, passed, ctx, "passes", "Filter: a row that stops passing is a deletion")
    return rel.with_(step=where(step, f"{AFTER} OR {BEFORE}", ctx, "filter", "Filter"))


@lowers(Union)
def lower_union(node: Union, ctx: Lowering, here: Physical) -> Rel:
    """Lower UNION ALL: all parts as deltas as soon as one is updating."""
    parts = inputs(here, ctx)
    kind, sequence, watermark = here.form.kind, here.asked.sequence, any(p.watermark for p in parts)
    columns = names_of(node.fields)
    steps = []
    for rel in parts:
        named: list[Named] = [
            (c, rel.sql(i) if f.type.time_attribute == "ROWTIME" else f"CAST({rel.sql(i)} AS {spark_type(f.type)})")
            for i, (c, f) in enumerate(zip(columns, node.fields, strict=True))
        ]
        named += [(WEIGHT, weight(rel))] * (kind == "delta") + [(SEQUENCE, arrival(rel))] * sequence
        named += [(WATERMARK, WATERMARK if rel.watermark else "CAST(NULL AS BIGINT)")] * watermark
        steps.append(select(rel.step, named, ctx, "part"))
    return Rel(united("union", steps, "Union", ctx), columns, node.fields, kind, sequence=sequence, watermark=watermark)


@lowers(Expand)
def lower_expand(node: Expand, ctx: Lowering, here: Physical) -> Rel:
    """Lower GROUPING SETS: a copy of each row per set, the keys outside of it NULL, and the set's mask."""
    rel = to_delta(lower_node(here.inputs[0], ctx), ctx, many=True)
    columns = names_of(node.fields)
    copies = (grouping_copies(node, rel), columns)
    step = explode(rel.step, same(rel.reserved), copies, ctx, "expand", "Expand: GROUPING SETS")
    return rel.with_(step=step, columns=columns, fields=node.fields)


@lowers(Unnest)
def lower_unnest(node: Unnest, ctx: Lowering, here: Physical) -> Rel:
    """Lower CROSS / LEFT JOIN UNNEST: the elements of one collection beside the row."""
    rel = to_delta(lower_node(here.inputs[0], ctx), ctx, many=True)
    count = len(rel.fields)
    columns = names_of(node.fields, rel.reserved)
    keep = (*zip(columns[:count], map(quote, rel.columns), strict=True), *same(rel.reserved))
    call = f"{generator(node)}({elements(node, rel.columns, ctx.zone)})"
    unnest = generate(rel.step, keep, (call, columns[count:]), ctx, "unnest", "Unnest")
    step = select(unnest, same((*columns, *rel.reserved)), ctx, "unnested")
    return rel.with_(step=step, columns=columns, fields=node.fields)
