"""Late rows: which relations may hold rows behind the watermark, and the filters that drop them.

With the default ``scan.watermark.emit.strategy`` (every 200 ms) a bounded topic is read before the first watermark, so
nothing is late. With ``on-event`` the watermark moves after every record, and event-time operators drop rows behind
it: then each row carries the watermark it met (``__wm``), and operators drop by it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.spark.base import where
from flinkddl.spark.context import WATERMARK
from flinkddl.spark.rowtime import millis

if TYPE_CHECKING:
    from flinkddl.spark.context import Lowering, Rel


def drop_late(rel: Rel, time: int, ctx: Lowering) -> Rel:
    """Drop rows whose time is not beyond the watermark they met."""
    return _dropped(rel, f"{millis(rel.sql(time))} > {WATERMARK}", ctx)


def drop_late_windows(rel: Rel, end: str, ctx: Lowering) -> Rel:
    """Drop rows whose window (``end``: text of its end) was closed by the watermark they met."""
    return _dropped(rel, f"{millis(end)} - 1 > {WATERMARK}", ctx)


def _dropped(rel: Rel, on_time: str, ctx: Lowering) -> Rel:
    step = where(rel.step, f"{WATERMARK} IS NULL OR {on_time}", ctx, "on_time", "late rows are dropped")
    return rel.with_(step=step, watermark=False)
