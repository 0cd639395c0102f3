"""Changes folded into the table they leave: what every scan of a bounded run ends with.

Where order of arrival counts, a row is as old as its last change: Flink drops an update that changes nothing when it
normalises an upsert source, and takes any other row out and puts it in again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.spark.base import generate, group, same, select
from flinkddl.spark.batch.base import over, where
from flinkddl.spark.context import DELETED, SEQUENCE, VERSION, WEIGHT, Rel
from flinkddl.sqltypes import comparable, quote

if TYPE_CHECKING:
    from flinkddl.spark.context import Lowering
    from flinkddl.spark.job import Named


def finished(rel: Rel, ctx: Lowering) -> Rel:
    """Return an append relation as it is, an upsert one as its newest rows, a delta as rows by their weights."""
    match rel.kind:
        case "upsert":
            return _newest(rel, ctx)
        case "delta":
            return _weighed(rel, ctx)
        case _:
            return rel


def _newest(rel: Rel, ctx: Lowering) -> Rel:
    """Keep the newest row of each key unless it is a deletion."""
    step = _changes(rel, ctx) if rel.sequence else rel.step
    keys = [(rel.columns[i], rel.sql(i)) for i in rel.key]
    rest = [c for i, c in enumerate(rel.columns) if i not in rel.key]
    row = f"struct({', '.join(map(quote, [*rest, DELETED]))})"
    aggs: list[Named] = [("__newest", f"max_by({row}, {VERSION})")]
    aggs += [(SEQUENCE, "max(__changed)")] * rel.sequence
    newest = group(step, keys, aggs, ctx, f"{rel.step}_newest", "newest row per key")
    live = where(rel.with_(step=newest), f"NOT __newest.{quote(DELETED)}", ctx, f"{rel.step}_live")
    columns: list[Named] = [(c, f"__newest.{quote(c)}" if c in rest else quote(c)) for c in rel.columns]
    columns += [(SEQUENCE, SEQUENCE)] * rel.sequence
    flat = select(live.step, columns, ctx, f"{rel.step}_table")
    return rel.with_(step=flat, kind="append", key=())


def _changes(rel: Rel, ctx: Lowering) -> str:
    """Add ``__changed``: the row's place in the order of arrival where it differs from the one before, else NULL."""
    partition = [rel.sql(i) for i in rel.key]
    told = [c for c, f in zip(rel.columns, rel.fields, strict=True) if comparable(f.type)]
    now = f"struct({', '.join(map(quote, [*told, DELETED]))})"
    before = f"lag({now}) {over(partition, [VERSION])}"
    changed = SEQUENCE
    if len(told) == len(rel.columns):
        # the lag of the first row is NULL, which no struct equals
        changed = f"CASE WHEN {now} IS DISTINCT FROM {before} THEN {SEQUENCE} END"
    columns = [*same(rel.columns), *((r, r) for r in rel.reserved), ("__changed", changed)]
    return select(rel.step, columns, ctx, f"{rel.step}_changes")


def _weighed(rel: Rel, ctx: Lowering) -> Rel:
    """Repeat each row as often as its weights add up to; its copies are its latest insertions."""
    keys = same(rel.columns)
    aggs: list[Named] = [("__count", f"CAST(sum({WEIGHT}) AS INT)")]
    copies = "array_repeat(0L, __count)"
    if rel.sequence:
        aggs.append(("__at", f"sort_array(collect_list(IF({WEIGHT} > 0, {SEQUENCE}, NULL)), false)"))
        copies = "slice(__at, 1, __count)"
    summed = group(rel.step, keys, aggs, ctx, f"{rel.step}_sum", "inserts less deletes")
    live = where(rel.with_(step=summed), "__count > 0", ctx, f"{rel.step}_live")
    copied = generate(live.step, keys, (f"explode({copies})", (SEQUENCE,)), ctx, f"{rel.step}_table")
    return rel.with_(step=copied, kind="append", key=())
