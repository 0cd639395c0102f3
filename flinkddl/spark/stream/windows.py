"""Event-time windows: the window columns of a TVF, aggregates, Top-N, deduplication and joins per window.

In append mode every window comes out once, when the watermark passes its end. In a query that also has updating
operators (Spark has one output mode a query) windows come out early and are corrected; the final table is the same.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from flinkddl import sqltypes as T
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.plan.nodes import Deduplicate, Field, Join, Rank, WindowAggregate, WindowJoin, WindowTableFunction
from flinkddl.plan.nodes.forms import PLAIN, is_native, needs_order
from flinkddl.plan.rex import SortKey
from flinkddl.spark.base import Want, extend, names_of, project, same, select, where
from flinkddl.spark.context import SEQUENCE, WINDOW, Rel
from flinkddl.spark.expressions import condition_to_spark
from flinkddl.spark.lateness import drop_late_windows, late_possible
from flinkddl.spark.rowtime import never_null
from flinkddl.spark.stream.aggregate import accumulate, grouped, key_text, native_calls
from flinkddl.spark.stream.base import ONE_KEY, explode, group, lower_node, lowers, members, with_one_key
from flinkddl.spark.stream.join import join, multiset, plain, presence, residual
from flinkddl.spark.stream.kinds import KEY, PAIR, single, to_delta
from flinkddl.spark.stream.ranking import lower_deduplicate, lower_rank, places, top
from flinkddl.spark.stream.sessions import END, START, refuse_proctime, session_rows
from flinkddl.sqltypes import Root, quote

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flinkddl.plan.nodes import Node, Window
    from flinkddl.spark.context import Lowering
    from flinkddl.spark.job import Named


def window_text(window: Window, rel: Rel, ctx: Lowering) -> str:
    """Return Spark's window expression over the time column."""
    time = rel.sql(window.time)
    t = rel.fields[window.time].type
    refuse_proctime(window)
    size = f"'{window.size_ms} milliseconds'"
    match window.kind:
        case "SESSION":
            return f"session_window({time}, {size})"
        case "TUMBLE":
            slide = window.size_ms
        case _:
            slide = window.slide_ms or window.size_ms
    offset = window.offset_ms % slide
    if t.root is Root.TIMESTAMP_LTZ and ctx.zone != "UTC":
        offset = (offset - zone_offset_ms(ctx.zone)) % slide
    return f"window({time}, {size}, '{slide} milliseconds', '{offset} milliseconds')"


def zone_offset_ms(zone: str) -> int:
    """Return the standard offset of a zone in ms: windows over TIMESTAMP_LTZ align to the session zone's wall clock."""
    from datetime import UTC, datetime
    from zoneinfo import ZoneInfo

    offset = datetime(2024, 1, 1, tzinfo=UTC).astimezone(ZoneInfo(zone)).utcoffset()
    return int(offset.total_seconds() * 1000) if offset else 0


def assigned(rel: Rel, window: Window, ctx: Lowering) -> Rel:
    """Add ``__window`` to each row; a row of HOP or CUMULATE comes once per window."""
    step = extend(rel, [(WINDOW, window_text(window, rel, ctx))], ctx, "windows", f"{window.kind} window")
    out = rel.with_(step=step, windowed=True)
    if window.kind != "CUMULATE":
        return out
    # all windows of one size that end a step apart; those of the row's own max-size bucket belong to it
    size, shift = window.size_ms * 1000, window.offset_ms * 1000
    step_us = (window.slide_ms or window.size_ms) * 1000
    own = f"floor((unix_micros({rel.sql(window.time)}) - {shift}L) / {size}L)"
    theirs = f"floor((unix_micros({WINDOW}.end) - {shift}L - {step_us}L) / {size}L)"
    return out.with_(step=where(out.step, f"{own} = {theirs}", ctx, "cumulate", "windows of the row's own bucket"))


def bounds(window: Window, zoned: bool, ctx: Lowering, grouped: bool, column: str = WINDOW) -> dict[str, str]:
    """Return texts over the column of Spark's window: start, end (plain timestamps) and time (an instant, end - 1 ms).

    ``zoned``: the time column is TIMESTAMP_LTZ, whose windows show the session zone's wall clock. Where the window is
    ``grouped``, ``window_time`` keeps the watermark for a second window; Spark's is end - 1 us.
    """
    end = f"{column}.end"
    start = f"{column}.start"
    if window.kind == "CUMULATE":
        size, shift = window.size_ms * 1000, window.offset_ms * 1000
        step_us = (window.slide_ms or window.size_ms) * 1000
        bucket = f"CAST(floor((unix_micros({end}) - {shift}L - {step_us}L) / {size}L) AS BIGINT)"
        start = f"timestamp_micros({bucket} * {size}L + {shift}L)"

    time = f"window_time({column})" if grouped else f"({end} - INTERVAL '0.001' SECOND)"
    return _properties(start, end, time, zoned, ctx)


def session_bounds(zoned: bool, ctx: Lowering) -> dict[str, str]:
    """Return the same texts over START and END."""
    start, end, time = (f"timestamp_millis({ms})" for ms in (START, END, f"{END} - 1L"))
    return _properties(start, end, time, zoned, ctx)


def _properties(start: str, end: str, time: str, zoned: bool, ctx: Lowering) -> dict[str, str]:
    def wall(sql: str) -> str:
        sql = f"from_utc_timestamp({sql}, '{ctx.zone}')" if zoned and ctx.zone != "UTC" else sql
        return f"CAST({sql} AS TIMESTAMP_NTZ)"

    now = "current_timestamp()"
    return {"start": wall(start), "end": wall(end), "time": time, "rowtime": time, "proctime": now}


@lowers(WindowTableFunction)
def lower_window_table_function(node: WindowTableFunction, ctx: Lowering, want: Want) -> Rel:
    """Lower a TVF without an aggregate right above: rows with window_start, window_end, window_time."""
    if node.window.kind == "SESSION":
        return _sessions(node, ctx, want)
    rel = to_delta(lower_node(node.input, ctx, replace(want, latest=False)), ctx)
    rel = assigned(rel, node.window, ctx)
    texts = bounds(node.window, _zoned(rel, node.window), ctx, grouped=False)
    n = len(rel.fields)
    columns = names_of(node.fields)
    own = [(c, quote(o)) for c, o in zip(columns[:n], rel.columns, strict=True)]
    named: list[Named] = [
        *own,
        *zip(columns[n:], (texts[p] for p in ("start", "end", "time")), strict=True),
        *same(rel.reserved),
    ]
    added = tuple(node.fields[n:])
    fields = (*(replace(f, type=rel.fields[i].type) for i, f in enumerate(node.fields[:n])), *added)
    return rel.with_(step=select(rel.step, named, ctx, "windowed"), columns=columns, fields=fields, key=())


def _sessions(node: WindowTableFunction, ctx: Lowering, want: Want) -> Rel:
    """Append mode: the rows of a session come out with its bounds when the watermark passes its end."""
    if ctx.output_mode == "update":
        message = "SESSION without an aggregate over it is not available in a query with updating operators"
        raise FlinkDdlError.of("FD646", message, node.span)
    rel = session_rows(node.input, node.window, node.window.partition_keys, ctx)
    n = len(rel.fields)
    texts = session_bounds(_zoned(rel, node.window), ctx)
    columns = names_of(node.fields)
    values = [*map(quote, rel.columns), *(texts[p] for p in ("start", "end", "time"))]
    named: list[Named] = [*zip(columns, values, strict=True), *same(rel.reserved)]
    fields = (*(replace(f, type=rel.fields[i].type) for i, f in enumerate(node.fields[:n])), *node.fields[n:])
    return rel.with_(step=select(rel.step, named, ctx, "windowed"), columns=columns, fields=fields)


def _zoned(rel: Rel, window: Window) -> bool:
    return rel.fields[window.time].type.root is Root.TIMESTAMP_LTZ


@lowers(WindowAggregate)
def lower_window_aggregate(node: WindowAggregate, ctx: Lowering, want: Want) -> Rel:
    """Lower GROUP BY over a window: keys, aggregates, window properties."""
    ordered = want.sequence or any(needs_order(c) for c in node.aggs)
    late = not node.window.proctime and late_possible(node.input)
    if late and node.window.kind == "SESSION" and node.windowed_input is None and ctx.output_mode == "append":
        return _late_sessions(node, ctx)
    rel = to_delta(lower_node(node.input, ctx, Want(sequence=ordered, watermark=late)), ctx)
    if node.windowed_input is not None and rel.watermark:
        rel = drop_late_windows(rel, rel.sql(node.windowed_input[1]), ctx)
    if node.windowed_input is not None and not rel.windowed:
        return _by_bounds(node, rel, node.windowed_input, ctx, want)
    window = WINDOW
    zoned = False
    if node.windowed_input is None:
        zoned = _zoned(rel, node.window)
        rel = never_null(rel, node.window.time, ctx)
        if node.window.kind == "SESSION":
            window = window_text(node.window, rel, ctx)
        else:
            rel = assigned(rel, node.window, ctx)
            rel = drop_late_windows(rel, f"{WINDOW}.end", ctx) if rel.watermark else rel
    keys = [(WINDOW, window), *((f"{KEY}{i}", key_text(rel, k)) for i, k in enumerate(node.keys))]
    if node.window.kind == "SESSION" and not node.keys:
        rel = with_one_key(rel, ctx)  # Spark has no session without another key
        keys.append((f"{KEY}0", ONE_KEY))
    if ctx.output_mode == "append":
        return _once(rel, keys, node, zoned, ctx)
    return _early(rel, keys, node, zoned, ctx, want)


def _late_sessions(node: WindowAggregate, ctx: Lowering) -> Rel:
    """Append mode, rows may be late: the aggregate of each session that the fold by arrival makes."""
    rel = session_rows(node.input, node.window, node.window.partition_keys or node.keys, ctx, never_null)
    keys: list[Named] = [(WINDOW, WINDOW), *((f"{KEY}{i}", key_text(rel, k)) for i, k in enumerate(node.keys))]
    keys += [(START, START), (END, END)]
    return _once(rel, keys, node, _zoned(rel, node.window), ctx, session_bounds(_zoned(rel, node.window), ctx))


def _once(
    rel: Rel,
    keys: list[Named],
    node: WindowAggregate,
    zoned: bool,
    ctx: Lowering,
    texts: Mapping[str, str] | None = None,
) -> Rel:
    """Append mode: each window comes out when the watermark passes its end."""
    note = f"{node.window.kind} aggregate, once a window"
    if rel.kind == "append" and all(is_native(c) for c in node.aggs):
        aggs, values = native_calls(rel, node.aggs)
        step = group(rel.step, keys, aggs or [("__a0", "count(1)")], ctx, "window_aggregate", note)
    else:
        step, finishes = accumulate(rel, keys, node.aggs, ctx, "window_aggregate", note)
        step = where(step, f"{PAIR}.n IS NOT NULL", ctx, "fired")
        values = [f(f"{PAIR}.n") for f in finishes]
    texts = texts or bounds(node.window, zoned, ctx, grouped=True)
    columns = names_of(node.fields)
    names = [quote(k) for k, _ in keys[1 : len(node.keys) + 1]]
    row = [*names, *values, *(texts[p] for p in node.properties)]
    named: list[Named] = [*zip(columns, row, strict=True), (WINDOW, WINDOW)]
    fields = tuple(f if i >= len(names) else _unmarked(f) for i, f in enumerate(node.fields))
    return Rel(select(step, named, ctx, "fired_windows"), columns, fields, windowed=True)


def _unmarked(f: Field) -> Field:
    return replace(f, type=f.type.as_attribute(None))


def _early(rel: Rel, keys: list[Named], node: WindowAggregate, zoned: bool, ctx: Lowering, want: Want) -> Rel:
    """Update mode: a window comes out with each batch that touches it, as a change of its row."""
    if node.window.kind == "SESSION":
        raise FlinkDdlError.of(
            "FD646", "SESSION in a query with updating operators is not available on a stream", node.span
        )
    inner = (Field(WINDOW, T.TIMESTAMP(3)), *node.fields[: len(node.keys) + len(node.aggs)])
    note = f"{node.window.kind} aggregate, early and corrected"
    out = grouped(rel, keys, node.aggs, inner, ctx, want.sequence, "window_aggregate", note)
    n = len(out.fields)

    def row(names: tuple[str, ...]) -> list[str]:
        texts = bounds(node.window, zoned, ctx, grouped=False, column=quote(names[0]))
        return [*map(quote, names[1:n]), *(texts[p] for p in node.properties)]

    fields = tuple(f if i >= n - 1 else _unmarked(f) for i, f in enumerate(node.fields))
    key = (*range(len(node.keys)), *range(n - 1, len(node.fields)))
    return project(out, fields, row(out.columns), ctx, "window_rows", old=row(out.old_columns)).with_(key=key)


def _by_bounds(node: WindowAggregate, rel: Rel, window: tuple[int, int], ctx: Lowering, want: Want) -> Rel:
    """A second aggregate over windowed rows whose window is only in its columns."""
    if ctx.output_mode == "append":
        raise FlinkDdlError.of("FD647", "Spark has lost the window that this aggregate groups by", node.span)
    keys = [(f"{KEY}{i}", key_text(rel, k)) for i, k in enumerate((*window, *node.keys))]
    inner = (*(rel.fields[k] for k in window), *node.fields[: len(node.keys) + len(node.aggs)])
    out = grouped(rel, keys, node.aggs, inner, ctx, want.sequence, "window_aggregate", "aggregate per window")
    n = len(out.fields)

    def row(names: tuple[str, ...]) -> list[str]:
        start, end = quote(names[0]), quote(names[1])
        texts = {"start": start, "end": end, "time": f"CAST({end} - INTERVAL '0.001' SECOND AS TIMESTAMP)"}
        return [*map(quote, names[2:n]), *(texts.get(p, "current_timestamp()") for p in node.properties)]

    key = (*range(len(node.keys)), *range(n - 2, len(node.fields)))
    fields = tuple(f if i >= n - 2 else _unmarked(f) for i, f in enumerate(node.fields))
    return project(out, fields, row(out.columns), ctx, "window_rows", old=row(out.old_columns)).with_(key=key)


@lowers(Rank)
def lower_any_rank(node: Rank, ctx: Lowering, want: Want) -> Rel:
    """Lower a Top-N, per window or over all rows."""
    if node.window is None:
        return lower_rank(node, ctx, want)
    return _top(_on_time(node.input, node.window, ctx, Want(sequence=True)), node, ctx)


def _on_time(node: Node, window: tuple[int, int] | None, ctx: Lowering, want: Want = PLAIN) -> Rel:
    """Lower an input that carries its window; rows that came after their window was closed are dropped."""
    rel = to_delta(lower_node(node, ctx, replace(want, watermark=late_possible(node))), ctx)
    if rel.watermark and window is not None:
        return drop_late_windows(rel, rel.sql(window[1]), ctx)
    return rel


@lowers(Deduplicate)
def lower_any_deduplicate(node: Deduplicate, ctx: Lowering, want: Want) -> Rel:
    """Lower a deduplication; per window the first or last row by time, as a Top-1."""
    if node.window is None:
        return lower_deduplicate(node, ctx, want)
    rel = _on_time(node.input, node.window, ctx, Want(sequence=True))
    order = (SortKey(node.order, descending=node.keep_last, nulls_first=not node.keep_last),)
    if node.keep_last:
        rel = _newest_first(rel, ctx)
    rank = Rank(
        fields=node.fields,
        input=node.input,
        partition=node.keys,
        order=order,
        start=1,
        end=1,
        with_rank=False,
        window=node.window,
    )
    return _top(rel, rank, ctx)


def _newest_first(rel: Rel, ctx: Lowering) -> Rel:
    """Turn arrival around: on equal time the later row wins keep-last."""
    if not rel.sequence:
        return rel
    return rel.with_(step=extend(rel, [(SEQUENCE, f"-{SEQUENCE}")], ctx, "newest_first"))


def _top(rel: Rel, node: Rank, ctx: Lowering) -> Rel:
    if ctx.output_mode == "update":
        return top(rel, node, ctx)
    if not rel.windowed:
        raise FlinkDdlError.of("FD647", "Spark has lost the window that this Top-N ranks in", node.span)
    keys = [(WINDOW, WINDOW), *((f"{KEY}{i}", key_text(rel, k)) for i, k in enumerate(node.partition))]
    step = places(rel, keys, node, ctx, "window_top", f"Rank {node.start}..{node.end}, once a window")
    step = explode(step, [(WINDOW, WINDOW)], "__rows", ("__k", "__o", "__n"), ctx, "places")
    n = len(rel.fields)
    columns = names_of(node.fields)
    row = [*members("__n", n), *(["__k"] if node.with_rank else [])]
    step = select(step, [*zip(columns, row, strict=True), (WINDOW, WINDOW)], ctx, "window_top_rows")
    fields = tuple(replace(f, type=rel.fields[i].type) if i < n else f for i, f in enumerate(node.fields))
    return Rel(step, columns, fields, windowed=True)


@lowers(WindowJoin)
def lower_window_join(node: WindowJoin, ctx: Lowering, want: Want) -> Rel:
    """Lower a join of two windowed inputs: both sides of a window and key meet in one group."""
    left = _on_time(node.left, node.left_window, ctx)
    right = _on_time(node.right, node.right_window, ctx)
    keys = _with_window(node)
    regular = Join(
        fields=node.fields,
        left=node.left,
        right=node.right,
        kind=node.kind,
        condition=node.condition,
        keys=keys,
        span=node.span,
    )
    if ctx.output_mode == "update":
        return join(left, right, regular, ctx, want)
    if not (left.windowed and right.windowed):
        raise FlinkDdlError.of("FD647", "Spark has lost the window that this join is over", node.span)
    rest = residual(node.condition, keys, len(left.fields))
    if rest is None:
        return single(plain(multiset(left, right, node.kind, keys, ctx, windowed=True), regular, ctx, want), ctx)
    out = multiset(left, right, "inner", keys, ctx, windowed=True)
    out = out.with_(step=where(out.step, condition_to_spark(rest, out.columns, ctx.zone), ctx, "join_condition"))
    if node.kind != "inner":
        out = presence(left, right, out, node.kind, ctx)
    return single(plain(out, regular, ctx, want), ctx)


def _with_window(node: WindowJoin) -> tuple[tuple[int, int], ...]:
    bounds = zip(node.left_window, node.right_window, strict=True)
    return tuple(dict.fromkeys((*node.keys, *bounds)))
