"""Unwindowed GROUP BY and SELECT DISTINCT.

One state operator a GROUP BY: ``flinkddl.retract_aggregate`` holds every accumulator of a group, whatever mixture of
DISTINCT, FILTER and retraction the query asks for, and gives the group before and after the batch. Where the operator
above only wants the newest row and every touched group is sure to change (COUNT(*) over append rows), Spark's own
aggregates do it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from flinkddl.plan.nodes import Aggregate
from flinkddl.plan.nodes.forms import needs_order
from flinkddl.plan.nodes.values import plain
from flinkddl.spark.base import group, names_of, select, where
from flinkddl.spark.context import DELETED, VERSION, Rel
from flinkddl.spark.job import StateCall
from flinkddl.spark.rowtime import untimed
from flinkddl.spark.stream.base import lowers
from flinkddl.spark.stream.calls import Registry, narrow, plan_call
from flinkddl.spark.stream.kinds import IMAGES, KEY, ONE_GROUP, arrival, drop_unchanged, family, inputs, unpack, weight
from flinkddl.spark.ttl import hinted_ttl
from flinkddl.sqltypes import Root, quote, spark_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flinkddl.plan.nodes import Field
    from flinkddl.plan.physical import Physical
    from flinkddl.plan.rex import AggCall
    from flinkddl.spark.context import Lowering
    from flinkddl.spark.job import Named
    from flinkddl.spark.stream.calls import Finish


@lowers(Aggregate)
def lower_aggregate(node: Aggregate, ctx: Lowering, here: Physical) -> Rel:
    """Lower a GROUP BY: keys, then aggregates; a global aggregate over no rows has no row, as in Flink."""
    (rel,) = inputs(here, ctx)
    keys = key_columns(rel, node.keys)
    if here.form.kind == "upsert":
        return _native(node, rel, keys, ctx)
    return grouped(rel, Grouping(keys, node.aggs, "GroupAggregate", "aggregate", node.ttl), node.fields, ctx, here)


def key_text(rel: Rel, index: int) -> str:
    """Return the text of a grouping key; a rowtime column loses its watermark, which would drop state."""
    return untimed(rel.sql(index), rel.fields[index].type)


def key_columns(rel: Rel, keys: Sequence[int]) -> list[Named]:
    """Return the columns of grouping keys."""
    return [(f"{KEY}{i}", key_text(rel, k)) for i, k in enumerate(keys)]


@dataclass(frozen=True)
class Grouping:
    """A GROUP BY: keys, calls, how its step is called, and a STATE_TTL hint in ms."""

    keys: Sequence[Named]
    calls: Sequence[AggCall]
    note: str
    prefix: str = "window_aggregate"
    ttl: int | None = None
    ordered: bool = False
    """Whether the order of its rows counts above it."""


def grouped(rel: Rel, by: Grouping, fields: tuple[Field, ...], ctx: Lowering, here: Physical) -> Rel:
    """Group an ``append`` or ``delta`` relation; the result is a ``images`` of keys, then calls."""
    step, finishes = accumulate(rel, replace(by, ordered=here.asked.sequence), ctx)
    names = [name for name, _ in by.keys]

    def row(side: str) -> str:
        values = [*map(quote, names), *(f(f"{IMAGES}.{side}") for f in finishes)]
        items = ", ".join(f"'c{i}', {v}" for i, v in enumerate(values))
        body = f"named_struct({items})" if items else "named_struct('none', true)"
        return f"IF({IMAGES}.{side} IS NULL, NULL, {body})"

    step = where(step, f"{IMAGES} IS NOT NULL", ctx, "touched")
    both = f"named_struct('o', {row('o')}, 'n', {row('n')}, 's', {IMAGES}.s)"
    step = select(step, [(IMAGES, both)], ctx, "finish", "from accumulators to Flink's results")
    rel = unpack(step, plain(fields), ctx, (), f"{IMAGES}.s" if here.asked.sequence else None)
    if all(c.function in _DIRECT for c in by.calls):
        return rel
    return drop_unchanged(rel, ctx, "accumulators moved, the result did not")


def accumulate(rel: Rel, by: Grouping, ctx: Lowering) -> tuple[str, list[Finish]]:
    """Add the GROUP BY whose column ``__pair`` holds the accumulators; returns its step and how to finish each call."""
    args, finishes = accumulators(rel, by.calls, by.ordered)
    call = StateCall(family(ctx), "aggregate", args, hinted_ttl(ctx, by.ttl))
    return group(rel.step, by.keys or ONE_GROUP, [(IMAGES, call)], ctx, by.prefix, by.note), finishes


def accumulators(rel: Rel, calls: Sequence[AggCall], ordered: bool = False) -> tuple[tuple[str, ...], list[Finish]]:
    """Return the arguments that keep what calls need, and how each is finished.

    ``ordered``: the order of the rows counts above, if not here.
    """
    registry = Registry()
    finishes = [plan_call(c, rel, registry) for c in calls]
    came = arrival(rel) if rel.sequence or ordered or any(map(needs_order, calls)) else "0L"
    return (weight(rel), came, registry.struct()), finishes


_DIRECT = frozenset({"COUNT", "SUM", "MIN", "MAX", "FIRST_VALUE", "LAST_VALUE", "LISTAGG", "COLLECT", "ARRAY_AGG"})


def _native(node: Aggregate, rel: Rel, keys: Sequence[Named], ctx: Lowering) -> Rel:
    aggs, finished = native_calls(rel, node.aggs)
    aggs.append((VERSION, "count(1)"))
    note = "GroupAggregate, Spark's own: append rows only"
    step = group(rel.step, keys or ONE_GROUP, aggs, ctx, "aggregate", note)
    columns = names_of(node.fields)
    values = [*(quote(k) for k, _ in keys), *finished]
    out: list[Named] = [*zip(columns, values, strict=True), (VERSION, VERSION), (DELETED, "false")]
    return Rel(select(step, out, ctx, "upsert"), columns, plain(node.fields), "upsert")


def native_calls(rel: Rel, calls: Sequence[AggCall]) -> tuple[list[Named], list[str]]:
    """Return Spark's own aggregates for calls over append rows, and the texts that finish them."""
    aggs: list[Named] = []
    values: list[str] = []
    for i, c in enumerate(calls):
        name = f"__a{i}"
        value = key_text(rel, c.args[0]) if c.args else "1"
        value = value if c.filter is None else f"IF({rel.sql(c.filter)}, {value}, NULL)"
        if c.function != "SUM":
            aggs.append((name, f"{c.function.lower()}({value})"))
            values.append(name)
            continue
        t = rel.fields[c.args[0]].type
        wide = _SUMMED.get(t.root, spark_type(t))
        aggs.append((name, f"sum(CAST({value} AS {wide}))"))
        values.append(narrow(_mod64(name) if t.root is Root.BIGINT else name, c.type))
    return aggs, values


# BIGINT is summed exactly and wrapped at the end, as Flink's sum wraps; Spark's would fail
_SUMMED = {
    Root.FLOAT: "DOUBLE",
    Root.DOUBLE: "DOUBLE",
    Root.TINYINT: "BIGINT",
    Root.SMALLINT: "BIGINT",
    Root.INT: "BIGINT",
    Root.BIGINT: "DECIMAL(38,0)",
}


def _mod64(sql: str) -> str:
    """Bring an exact sum of BIGINT values back to 64 bits, wrapping."""
    half, full = 1 << 63, 1 << 64
    return f"CAST(pmod({sql} + {half}BD, {full}BD) - {half}BD AS BIGINT)"
