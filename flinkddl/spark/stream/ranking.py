"""Top-N, deduplication, LIMIT: the rows of a partition in order.

Equal order keys: the row that came first keeps the better place, so these operators ask for arrival order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.plan.nodes import Deduplicate, Rank, Sort
from flinkddl.plan.rex import SortKey
from flinkddl.spark.base import carried, extend, group, same, select, where
from flinkddl.spark.context import AFTER, SEQUENCE, UNTOLD
from flinkddl.spark.job import DropDuplicates, StateCall
from flinkddl.spark.lateness import drop_late
from flinkddl.spark.partitions import above_timed
from flinkddl.spark.rowtime import is_rowtime
from flinkddl.spark.stream.aggregate import key_columns, key_text
from flinkddl.spark.stream.base import explode, lower_node, lowers, members, struct
from flinkddl.spark.stream.kinds import (
    IMAGES,
    ONE_GROUP,
    arrival,
    family,
    inputs,
    newest,
    single,
    to_delta,
    unpack,
    weight,
)
from flinkddl.spark.ttl import must_forget
from flinkddl.sqltypes import quote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flinkddl.plan.physical import Physical
    from flinkddl.spark.context import Lowering, Rel
    from flinkddl.spark.job import Named

NO_LIMIT = 2_000_000_000


def order_struct(rel: Rel, order: Sequence[SortKey]) -> str:
    """Return the order fields; names say direction and place of NULLs (see RetractOrder.java)."""
    items = []
    for i, k in enumerate(order):
        name = f"{'d' if k.descending else 'a'}{i}{'f' if k.nulls_first else 'l'}"
        items.append(f"'{name}', {key_text(rel, k.index)}")
    return f"named_struct({', '.join(items)})" if items else "named_struct('a', 0)"


def lower_rank(node: Rank, ctx: Lowering, here: Physical) -> Rel:
    """Lower a Top-N."""
    if node.function != "ROW_NUMBER":
        raise FlinkDdlError.of("FD643", f"{node.function}() as a Top-N is not available on a stream", node.span)
    (rel,) = inputs(here, ctx)
    return top(rel, node, ctx, here.asked.sequence and rel.kind == "append")


def top(rel: Rel, node: Rank, ctx: Lowering, sequence: bool = False) -> Rel:
    """Keep places start..end of each partition of an ``append`` or ``delta`` relation.

    ``sequence``: pass the arrival order on; append rows only, since a row that is taken back does not know its own.
    """
    return ranked(places(rel, node, ctx, sequence=sequence), rel, node, ctx, sequence)


def places(rel: Rel, node: Rank, ctx: Lowering, window: Sequence[Named] = (), sequence: bool = False) -> str:
    """Add the GROUP BY whose column ``__rows`` holds the changes of the places, of each ``window`` once."""
    keys = [*window, *key_columns(rel, node.partition)] or ONE_GROUP
    args = place_args(rel, node, sequence)
    prefix, note = ("window_top", ", once a window") if window else ("top", "")
    calls = [("__rows", StateCall(family(ctx), "top", args))]
    return group(rel.step, keys, calls, ctx, prefix, f"Rank {node.start}..{node.end}{note}")


def place_args(rel: Rel, node: Rank, sequence: bool = False) -> tuple[str, ...]:
    """Return what is told of each row to what keeps the places."""
    columns = (*rel.columns, *([SEQUENCE] * sequence))
    row = f"named_struct('o', {order_struct(rel, node.order)}, 'r', {struct(map(quote, columns))})"
    grows = str(rel.kind == "append").lower()
    ends = (f"{node.start}L", last_place(rel, node))
    return weight(rel), arrival(rel), *ends, str(node.with_rank).lower(), grows, row


def last_place(rel: Rel, node: Rank) -> str:
    """Return the last rank as BIGINT text: a constant, or a column of the partition, where NULL keeps nothing.

    Raises FD643 for another column: Flink takes the value that the partition's first row had, for good.
    """
    if node.end_field is None:
        return f"{min(node.end, NO_LIMIT)}L"
    if node.end_field not in node.partition:
        message = "the last rank of a Top-N must be a constant or a column of its PARTITION BY"
        raise FlinkDdlError.of("FD643", message, node.span, "add the column to PARTITION BY")
    return f"least(coalesce(CAST({rel.sql(node.end_field)} AS BIGINT), 0L), {NO_LIMIT}L)"


def ranked(step: str, rel: Rel, node: Rank, ctx: Lowering, sequence: bool = False) -> Rel:
    """Turn the array of changed places into a ``images`` relation with the rank as last field where asked for."""
    step = explode(step, [], ("__rows", ("__k", "__o", "__n")), ctx, "places")
    n = len(rel.fields)
    rank = ["__k"] if node.with_rank else []

    def side(which: str) -> str:
        return f"IF({which} IS NULL, NULL, {struct([*members(which, n), *rank])})"

    # by their places, and behind the first ones, rows come out again when others come
    own = "coalesce({}, {})".format(*(members(which, n + 1)[n] for which in ("__n", "__o")))
    came = f", 's', {UNTOLD if node.with_rank or node.start > 1 else own}" if sequence else ""
    step = select(step, [(IMAGES, f"named_struct('o', {side('__o')}, 'n', {side('__n')}{came})")], ctx, "place")
    return unpack(step, carried(node.fields, rel), ctx, (), f"{IMAGES}.s" if sequence else None)


def lower_deduplicate(node: Deduplicate, ctx: Lowering, here: Physical) -> Rel:
    """Lower keep-first and keep-last."""
    rel = lower_node(here.inputs[0], ctx)
    rel = drop_late(rel, node.order, ctx) if rel.watermark else rel
    if here.form.kind == "append" and (ctx.chain or _may_forget(node, ctx)):
        return _as_append(_latest(rel, node, ctx, here.asked.sequence), ctx)
    if here.form.kind == "append":
        return _first_arrived(rel, node, ctx)
    must_forget(ctx, span=node.span)
    if rel.kind == "append":
        return _latest(rel, node, ctx, here.asked.sequence)
    # rows may be taken back: the next best one has to come forward
    return top(to_delta(rel, ctx), first_of(node), ctx)


def _may_forget(node: Deduplicate, ctx: Lowering) -> bool:
    """Whether first rows by arrival are to be kept by key; what is above them on event time asks for Spark's own."""
    totals = ctx.sink is not None and ctx.sink.how.totals
    return totals and ctx.output_mode == "update" and not above_timed(node, ctx)


def first_of(node: Deduplicate) -> Rank:
    """Return the Top-1 that keeps the same row of each key."""
    order = (SortKey(node.order, descending=node.keep_last, nulls_first=not node.keep_last),)
    return _rank(node, node.keys, order, 1, 1)


def _rank(node: Deduplicate | Sort, by: tuple[int, ...], order: tuple[SortKey, ...], start: int, end: int) -> Rank:
    return Rank(fields=node.fields, input=node.input, partition=by, order=order, start=start, end=end, with_rank=False)


def _first_arrived(rel: Rel, node: Deduplicate, ctx: Lowering) -> Rel:
    rel = _without_watermark(rel, node, ctx)
    columns, note = tuple(rel.columns[k] for k in node.keys), "Deduplicate: first row per key"
    step = ctx.add(DropDuplicates(name=ctx.fresh("first"), input=rel.step, columns=columns, note=note))
    return rel.with_(step=step.name)


def _as_append(rel: Rel, ctx: Lowering) -> Rel:
    """Bring ``images`` of rows that never change to ``append``."""
    kept = (*rel.columns, *([SEQUENCE] * rel.sequence))
    step = select(where(rel.step, AFTER, ctx, "first"), same(kept), ctx, "first_rows")
    return rel.with_(step=step, kind="append", key=())


def _without_watermark(rel: Rel, node: Deduplicate, ctx: Lowering) -> Rel:
    """Take the watermark off the rowtime where nothing above reads it: Spark's deduplication drops rows behind it.

    Flink's, by processing time, takes each row. An expression that gives the same value carries no watermark.
    """
    if above_timed(node, ctx):
        return rel
    named = zip(rel.columns, rel.fields, strict=True)
    bare = [(c, f"timestamp_micros(unix_micros({quote(c)}))") for c, f in named if is_rowtime(f.type)]
    return rel.with_(step=extend(rel, bare, ctx, "timeless")) if bare else rel


def _latest(rel: Rel, node: Deduplicate, ctx: Lowering, sequence: bool) -> Rel:
    """Append rows: only the best row so far is kept; on equal time the later wins keep-last."""
    letter = "a" if node.keep_last else "d"
    time = [] if node.proctime else [f"'{letter}0', {key_text(rel, node.order)}"]
    came = f"{letter}1" if time else "arrived" if node.keep_last else "darrived"
    version = ", ".join([*time, f"'{came}', {arrival(rel)}"])
    told = ("latest", f"Deduplicate: {'last' if node.keep_last else 'first'} row per key")
    step = newest(rel, key_columns(rel, node.keys), ("false", f"named_struct({version})"), ctx, told)
    return unpack(step, rel.fields, ctx, (), f"{IMAGES}.s.{came}" if sequence else None)


@lowers(Sort)
def lower_sort(node: Sort, ctx: Lowering, here: Physical) -> Rel:
    """Lower ORDER BY .. LIMIT as a Top-N over all rows, and LIMIT alone by arrival.

    ORDER BY a time attribute without LIMIT is the arrival order of a changelog: the rows pass unchanged.
    """
    if node.fetch is None and not node.offset:
        return _ordered_by_time(node, ctx, here)
    (rel,) = inputs(here, ctx)
    end = NO_LIMIT if node.fetch is None else node.offset + node.fetch
    out = top(rel, _rank(node, (), node.order, node.offset + 1, end), ctx)
    if here.form.kind == "append":
        return _as_append(out, ctx) if ctx.chain else single(to_delta(out, ctx), ctx)
    return out


def _ordered_by_time(node: Sort, ctx: Lowering, here: Physical) -> Rel:
    first = node.order[0]
    t = node.input.fields[first.index].type
    if first.descending or t.time_attribute is None:
        raise FlinkDdlError.of(
            "FD644",
            "a stream can be sorted by an ascending time attribute only",
            node.span,
            help="add a LIMIT, or leave ORDER BY to whoever reads the result",
        )
    rel = lower_node(here.inputs[0], ctx)
    return drop_late(rel, first.index, ctx) if rel.watermark else rel
