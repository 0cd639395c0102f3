"""Batch lowering of windows: window TVFs and aggregates over them, and legacy group windows.

A window is computed as two BIGINT columns, ``__ws`` and ``__we``: milliseconds of the wall clock in the session zone
for TIMESTAMP_LTZ time attributes, as Flink aligns windows; sources of the arithmetic are Flink's TimeWindow,
SliceAssigners and the session merge, where windows that only touch are one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from flinkddl.plan.nodes import WindowAggregate, WindowTableFunction
from flinkddl.plan.nodes.forms import Traits
from flinkddl.spark.base import extend, generate, group, names_of, project, same, select
from flinkddl.spark.batch import sessions, text
from flinkddl.spark.batch.base import lower_node, lowers, where
from flinkddl.spark.context import SEQUENCE, WATERMARK, Rel
from flinkddl.spark.lateness import END, START, TIME, drop_late_windows
from flinkddl.spark.rowtime import millis, never_null, without_null
from flinkddl.sqltypes import quote

if TYPE_CHECKING:
    from flinkddl.plan.nodes import Field, Window
    from flinkddl.spark.context import Lowering
    from flinkddl.spark.job import Named


@lowers(WindowTableFunction)
def lower_window_tvf(node: WindowTableFunction, ctx: Lowering, asked: Traits) -> Rel:
    """Add window_start, window_end and window_time; a row in several windows becomes several rows."""
    late = node.window.kind == "SESSION" and node.input.late
    asked = replace(asked, sequence=asked.sequence or late, watermark=asked.watermark or late)
    rel = lower_node(node.input, ctx, asked)
    rel = without_null(rel, node.window.time, ctx)
    step = assign(rel, node.window, node.window.partition_keys, ctx, late)
    bounds = [_property(p, f, ctx) for p, f in zip(("start", "end", "time"), node.fields[-3:], strict=True)]
    exprs = [rel.sql(i) for i in range(len(rel.fields))] + bounds
    return project(rel.with_(step=step), node.fields, exprs, ctx, "window_tvf", f"{node.window.kind} window")


@lowers(WindowAggregate)
def lower_window_aggregate(node: WindowAggregate, ctx: Lowering, asked: Traits) -> Rel:
    """Aggregate per window; rows that arrive behind the watermark count only in windows that are still open."""
    late = not node.window.proctime and node.input.late
    session = node.sessions
    ordered = any(text.needs_order(c) for c in node.aggs)
    rel = lower_node(node.input, ctx, Traits(sequence=ordered or (late and session), watermark=late))
    if node.windowed_input is not None:
        rel = drop_late_windows(rel, rel.sql(node.windowed_input[1]), ctx) if late else rel
        step = _carried(rel, node.windowed_input, ctx)
    else:
        rel = (without_null if ctx.config.batch else never_null)(rel, node.window.time, ctx)
        by = node.window.partition_keys or (node.keys if node.legacy else ())
        step = assign(rel, node.window, by, ctx, late, session and ordered)
        if late and not session:
            open_windows = f"{WATERMARK} IS NULL OR {END} - 1 > {WATERMARK}"
            step = where(rel.with_(step=step), open_windows, ctx, "on_time", "late rows are dropped").step
    if node.window.proctime:
        now = text.clock_millis("current_timestamp()", ctx)
        step = where(rel.with_(step=step), f"{END} <= {now}", ctx, "closed", "an open window gives nothing").step
    return _grouped(node, rel.with_(step=step), ctx, asked, SEQUENCE if ordered else None)


def _grouped(node: WindowAggregate, rel: Rel, ctx: Lowering, asked: Traits, order: str | None) -> Rel:
    columns = names_of(node.fields)
    keys = [(columns[i], rel.sql(k)) for i, k in enumerate(node.keys)]
    at = len(keys)
    known = text.constants(node.input)
    calls = zip(columns[at:], node.aggs, strict=False)
    aggs: list[Named] = [(name, text.aggregate(call, rel, ctx, order, known)) for name, call in calls]
    by = [*keys, (START, START), (END, END)]
    step = group(rel.step, by, aggs or [("__rows", "count(1)")], ctx, "window_aggregate", "WindowAggregate")
    named = [quote(c) for c in columns[: at + len(node.aggs)]]
    tail = node.fields[len(named) :]
    exprs = named + [_property(p, f, ctx) for p, f in zip(node.properties, tail, strict=True)]
    selected: list[Named] = list(zip(columns, exprs, strict=True))
    # windows come out in the order of their ends
    selected += [(SEQUENCE, END)] * asked.sequence
    return Rel(select(step, selected, ctx, "windows"), columns, node.fields, sequence=asked.sequence)


def _property(kind: str, field: Field, ctx: Lowering) -> str:
    match kind:
        case "start":
            return text.from_clock_millis(START, field.type, ctx)
        case "end":
            return text.from_clock_millis(END, field.type, ctx)
        case "time" | "rowtime":
            return text.from_clock_millis(f"{END} - 1", field.type, ctx)
        case _:
            return "current_timestamp()"


def _carried(rel: Rel, bounds: tuple[int, int], ctx: Lowering) -> str:
    """Add START and END from fields that hold the window already."""
    named = [(n, millis(rel.sql(i))) for n, i in zip((START, END), bounds, strict=True)]
    return extend(rel, named, ctx, "windowed")


def assign(rel: Rel, window: Window, keys: tuple[int, ...], ctx: Lowering, late: bool, ordered: bool = False) -> str:
    """Add START and END (ms of the wall clock) per row and window; returns the step. No time may be NULL."""
    timed = rel.with_(step=extend(rel, [(TIME, text.column_clock_millis(rel, window.time, ctx))], ctx, "timed"))
    if window.kind == "SESSION":
        return sessions.assign(timed, window, keys, ctx, late, ordered)
    size, slide, offset = window.size_ms, window.slide_ms or window.size_ms, window.offset_ms
    match window.kind:
        case "TUMBLE":
            start = _floor(TIME, size, offset)
            return extend(timed, [(START, start), (END, f"{start} + {size}L")], ctx, "tumble")
        case "HOP":
            last = _floor(TIME, slide, offset)
            starts = f"sequence({last}, {TIME} - {size - 1}L, -{slide}L)"
            if slide > size:
                starts = f"filter(array({last}), s -> s > {TIME} - {size}L)"
            bounds = f"transform({starts}, s -> struct(s, s + {size}L))"
        case _:
            start = _floor(TIME, size, offset)
            first = f"{_floor(TIME, slide, offset)} + {slide}L"
            bounds = f"transform(sequence({first}, {start} + {size}L, {slide}L), e -> struct({start}, e))"
    kept = same((*timed.columns, *timed.reserved))
    return generate(timed.step, kept, (f"inline({bounds})", (START, END)), ctx, window.kind.lower())


def _floor(time: str, size: int, offset: int) -> str:
    shifted = f"{time} - {offset}L" if offset > 0 else f"{time} + {-offset}L" if offset < 0 else time
    return f"({time} - pmod({shifted}, {size}L))"
