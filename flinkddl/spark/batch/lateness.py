"""Late rows in bounded runs: the watermark that each row met, computed from the rows before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.spark.base import extend
from flinkddl.spark.batch.base import over, where
from flinkddl.spark.context import SEQUENCE, SEQUENCE_STEP, WATERMARK
from flinkddl.spark.expressions import to_spark
from flinkddl.spark.rowtime import millis

if TYPE_CHECKING:
    from flinkddl.plan.nodes import Scan
    from flinkddl.spark.context import Lowering, Rel


def add_watermark(node: Scan, rel: Rel, ctx: Lowering) -> Rel:
    """Add ``__wm``: the largest watermark expression (ms) among the rows that arrived before this one.

    Flink takes the least of all partitions, and how far each has been read is a race. So where there are several,
    nothing is late: no row is lost that Flink might have kept.
    """
    assert node.watermark is not None
    time = millis(to_spark(node.watermark.expression, rel.columns, ctx.zone))
    before = over((), [SEQUENCE], "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING")
    partition = f"{SEQUENCE} % {SEQUENCE_STEP}"
    alone = f"min({partition}) OVER () = max({partition}) OVER ()"
    watermark = f"CASE WHEN {alone} THEN max({time}) {before} END"
    step = extend(rel, [(WATERMARK, watermark)], ctx, "watermarked", "emit strategy on-event")
    return rel.with_(step=step, watermark=True)


def drop_overtaken(rel: Rel, time: int, partition: list[str], ctx: Lowering) -> Rel:
    """Drop rows whose time is not beyond the last time that was computed for their key when they came.

    So do OVER frames with a lower bound: a row behind the watermark still counts when its key saw no later time that
    the watermark had passed already.
    """
    own = millis(rel.sql(time))
    before = over(partition, [SEQUENCE], "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING")
    earlier = f"collect_list({own}) {before}"
    rel = rel.with_(step=extend(rel, [("__earlier", earlier)], ctx, "earlier"))
    computed = f"exists(__earlier, e -> e >= {own} AND e <= {WATERMARK})"
    keep = f"{WATERMARK} IS NULL OR NOT {computed}"
    return where(rel, keep, ctx, "on_time", "late rows are dropped").with_(watermark=False)
