"""OVER aggregates: each row with an aggregate of the rows up to it.

Rows of a partition are kept in order; when one comes late or is taken back, the rows behind it change: the result is a
delta. (Flink holds rows back until the watermark passes them; the final table is the same where nothing is late.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.functions.aggregate import RANKING
from flinkddl.plan.nodes import Over
from flinkddl.spark.base import carried, group, names_of, select
from flinkddl.spark.context import WATERMARK, WEIGHT, Rel
from flinkddl.spark.java_functions import steady
from flinkddl.spark.job import StateCall
from flinkddl.spark.lateness import drop_late
from flinkddl.spark.rowtime import without_null
from flinkddl.spark.stream.aggregate import key_text
from flinkddl.spark.stream.base import explode, lowers, members, struct
from flinkddl.spark.stream.calls import Registry, plan_call
from flinkddl.spark.stream.kinds import KEY, ONE_GROUP, arrival, inputs, single, weight
from flinkddl.spark.stream.ranking import order_struct
from flinkddl.sqltypes import TIMESTAMPS, quote

if TYPE_CHECKING:
    from flinkddl.plan.physical import Physical
    from flinkddl.plan.rex import AggCall
    from flinkddl.spark.context import Lowering
    from flinkddl.spark.stream.calls import Finish


@lowers(Over)
def lower_over(node: Over, ctx: Lowering, here: Physical) -> Rel:
    """Lower OVER windows that end at the current row."""
    (rel,) = inputs(here, ctx)
    if node.preceding is not None and node.time == "ROWTIME":
        rel = without_null(rel, node.order[0].index, ctx)
    # frames with a lower bound keep a late row until their key saw a later time that the watermark passed: that is for
    # ``retract_over`` to know, which gets the watermark with each row
    rel = drop_late(rel, node.order[0].index, ctx) if rel.watermark and node.preceding is None else rel
    registry = Registry()
    proctime = node.time == "PROCTIME"
    finishes = [_call(c, rel, registry, proctime, node.preceding is not None) for c in node.calls]
    keys = [(f"{KEY}{i}", key_text(rel, k)) for i, k in enumerate(node.partition)] or ONE_GROUP
    met = f", 'w', named_struct('m', {WATERMARK} * 1000)" if rel.watermark else ""
    parts = f"'r', {struct(map(quote, rel.columns))}, 'a', {registry.struct()}{met}"
    row = f"named_struct('o', {_order(node, rel)}, {parts})"
    in_turn = here.form.kind == "append"  # by key such rows are behind all that came before
    by_rows = str(proctime or _by_rows(node)).lower()
    unit = 1 if node.rows else 1000
    preceding = "CAST(NULL AS BIGINT)" if node.preceding is None else f"{int(node.preceding) * unit}L"
    args = (weight(rel), arrival(rel), by_rows, preceding)
    others = (*args, row.replace("named_struct('o'", "named_struct('p'", 1)) if in_turn else ()
    call = StateCall("retract", "over", (*args, row), other_args=others)
    step = group(rel.step, keys, [("__rows", call)], ctx, "over", "OverAggregate: rows of a partition in order")
    step = explode(step, [], ("__rows", ("__r", "__v", WEIGHT)), ctx, "changes")
    n = len(rel.fields)
    values = [*members("__r", n), *(f("__v") for f in finishes)]
    columns = names_of(node.fields)
    step = select(step, [*zip(columns, values, strict=True), (WEIGHT, WEIGHT)], ctx, "over_rows")
    out = Rel(step, columns, carried(node.fields, rel), "delta")
    return single(out, ctx) if in_turn else out


def _by_rows(node: Over) -> bool:
    """Whether each row stands alone: ranks look at peers whatever the frame, and so does LAG on event time."""
    functions = {c.function for c in node.calls}
    if functions <= RANKING:
        return False
    if functions <= RANKING | {"LAG"}:
        return node.time != "ROWTIME"
    return node.rows


def _order(node: Over, rel: Rel) -> str:
    """A time column as microseconds, so that a RANGE frame can subtract; others as they are."""
    first = node.order[0]
    t = rel.fields[first.index].type
    if t.time_attribute == "PROCTIME":
        return "named_struct('a0f', 0L)"  # arrival decides
    if t.root in TIMESTAMPS:
        return f"named_struct('a0f', unix_micros(CAST({rel.sql(first.index)} AS TIMESTAMP)))"
    return order_struct(rel, node.order)


def _call(call: AggCall, rel: Rel, registry: Registry, proctime: bool, bounded: bool) -> Finish:
    if call.function in RANKING:
        # on a stream RANK and DENSE_RANK are the number of rows up to the last peer; by arrival nobody has one
        kind = "rank" if call.function != "ROW_NUMBER" and not proctime else "row_number"
        position = registry.use(kind, "1")
    elif call.function == "LAG":
        value = rel.sql(call.args[0])
        offset = rel.sql(call.args[1]) if len(call.args) > 1 else "1"
        default = rel.sql(call.args[2]) if len(call.args) > 2 else "NULL"
        typed = f"named_struct('v', {value}, 'n', CAST({offset} AS INT), 'd', IF(false, {value}, {default}))"
        position = registry.use("lag", typed)
    else:
        if call.function == "JAVA":
            steady(call)
        return plan_call(call, rel, registry, bounded)
    name = registry.read(position)
    return lambda result: f"{result}.{name}"
