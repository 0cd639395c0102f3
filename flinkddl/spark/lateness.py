"""Late rows: which relations may hold rows behind the watermark, and the filters that drop them.

With the default ``scan.watermark.emit.strategy`` (every 200 ms) a bounded topic is read before the first watermark, so
nothing is late. With ``on-event`` the watermark moves after every record, and event-time operators drop rows behind
it: then each row carries the watermark it met (``__wm``), and operators drop by it. Sessions with late rows are folded
in order of arrival, as Flink's merging windows do it: a row behind the watermark is dropped unless it falls into a
session that is still open, and a row next to a closed session opens a new one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.spark.base import where
from flinkddl.spark.context import WATERMARK
from flinkddl.spark.rowtime import millis

if TYPE_CHECKING:
    from flinkddl.spark.context import Lowering, Rel

TIME, START, END = "__t", "__ws", "__we"
"""Columns, in ms: the time of a row, the bounds of its window."""


def drop_late(rel: Rel, time: int, ctx: Lowering) -> Rel:
    """Drop rows whose time is not beyond the watermark they met."""
    return _dropped(rel, f"{millis(rel.sql(time))} > {WATERMARK}", ctx)


def drop_late_windows(rel: Rel, end: str, ctx: Lowering) -> Rel:
    """Drop rows whose window (``end``: text of its end) was closed by the watermark they met."""
    return _dropped(rel, f"{millis(end)} - 1 > {WATERMARK}", ctx)


def _dropped(rel: Rel, on_time: str, ctx: Lowering) -> Rel:
    step = where(rel.step, f"{WATERMARK} IS NULL OR {on_time}", ctx, "on_time", "late rows are dropped")
    return rel.with_(step=step, watermark=False)


def fold(rows: str, row_type: str, gap: int, *, late: bool) -> str:
    """Return ``ARRAY<STRUCT<s, e, r: ARRAY<row>>>`` of sorted ``rows``: structs with ``__t`` and, if late, ``__wm``."""
    sessions = f"ARRAY<STRUCT<s:BIGINT,e:BIGINT,r:ARRAY<{row_type}>>>"
    return f"aggregate({rows}, CAST(array() AS {sessions}), (a, x) -> {_merge(gap, late)})"


def _merge(gap: int, late: bool) -> str:
    """Return the fold step: sessions ``a``, row ``x``. A merged window that is closed already drops the row."""
    end = f"x.{TIME} + {gap}L"
    live = f"(x.{WATERMARK} IS NULL OR w.e - 1 > x.{WATERMARK})" if late else "TRUE"
    near = f"({live} AND w.s <= {end} AND w.e >= x.{TIME})"
    start = f"aggregate(m, x.{TIME}, (b, w) -> least(b, w.s))"
    stop = f"aggregate(m, {end}, (b, w) -> greatest(b, w.e))"
    rows = "concat(flatten(transform(array_sort(m, (l, r) -> CAST(sign(r.s - l.s) AS INT)), w -> w.r)), array(x))"
    merged = f"named_struct('s', {start}, 'e', {stop}, 'r', {rows})"
    closed = f"x.{WATERMARK} IS NOT NULL AND n.e - 1 <= x.{WATERMARK}" if late else "FALSE"
    keep = f"IF({closed}, a, concat(filter(a, w -> NOT {near}), array(n)))"
    # Spark SQL has no LET: a lambda over a one-element array binds the name
    bound = f"transform(array({merged}), n -> {keep})[0]"
    return f"transform(array(filter(a, w -> {near})), m -> {bound})[0]"
