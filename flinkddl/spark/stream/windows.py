"""Event-time windows: the window columns of a TVF, aggregates, Top-N, deduplication and joins per window.

In append mode every window comes out once, when the watermark passes its end. In a query that also has updating
operators (Spark has one output mode a query) windows come out early and are corrected; the final table is the same.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from flinkddl import sqltypes as T
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.plan.nodes import Deduplicate, Field, Rank, WindowAggregate, WindowJoin, WindowTableFunction
from flinkddl.plan.nodes.forms import is_native
from flinkddl.plan.nodes.values import plain
from flinkddl.spark.base import carried, extend, group, names_of, project, same, select, where
from flinkddl.spark.context import SEQUENCE, UNKNOWN, WINDOW, Rel
from flinkddl.spark.lateness import END, START, drop_late_windows
from flinkddl.spark.rowtime import millis, never_null
from flinkddl.spark.stream.aggregate import Grouping, accumulate, grouped, key_columns, native_calls
from flinkddl.spark.stream.base import ONE_KEY, explode, lower_node, lowers, members, with_one_key
from flinkddl.spark.stream.fired import best, fired, windowed_rows
from flinkddl.spark.stream.fires import fires
from flinkddl.spark.stream.join import Sides, join
from flinkddl.spark.stream.kinds import IMAGES, KEY, inputs, to_delta
from flinkddl.spark.stream.ranking import first_of, lower_deduplicate, lower_rank, places, top
from flinkddl.spark.stream.sessions import refuse_proctime, session_rows
from flinkddl.sqltypes import Root, quote

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from flinkddl.plan.nodes import Window
    from flinkddl.plan.physical import Physical
    from flinkddl.spark.context import Lowering
    from flinkddl.spark.job import Named

    Texts = Callable[..., Mapping[str, str]]


def window_text(window: Window, rel: Rel, ctx: Lowering) -> str:
    """Return Spark's window expression over the time column."""
    time = rel.sql(window.time)
    t = rel.fields[window.time].type
    refuse_proctime(window)
    size, slide = f"'{window.size_ms} milliseconds'", window.slide_ms or window.size_ms
    if window.kind == "SESSION":
        return f"session_window({time}, {size})"
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
    own = f"floor((unix_micros({rel.sql(window.time)}) - {window.offset_ms * 1000}L) / {window.size_ms * 1000}L)"
    same = f"{own} = {_bucket(window, f'{WINDOW}.end')}"
    return out.with_(step=where(out.step, same, ctx, "cumulate", "windows of the row's own bucket"))


def _bucket(window: Window, end: str) -> str:
    """Return the number of the max-size bucket of a CUMULATE window that ends so."""
    size, shift, step = (ms * 1000 for ms in (window.size_ms, window.offset_ms, window.slide_ms or window.size_ms))
    return f"floor((unix_micros({end}) - {shift}L - {step}L) / {size}L)"


def bounds(window: Window, zoned: bool, ctx: Lowering, grouped: bool, column: str = WINDOW) -> dict[str, str]:
    """Return texts over the column of Spark's window: start, end (plain timestamps) and time (an instant, end - 1 ms).

    ``zoned``: the time column is TIMESTAMP_LTZ, whose windows show the session zone's wall clock. Where the window is
    ``grouped``, ``window_time`` keeps the watermark for a second window; Spark's is end - 1 us.
    """
    end = f"{column}.end"
    start = f"{column}.start"
    if window.kind == "CUMULATE":
        bucket = f"CAST({_bucket(window, end)} AS BIGINT)"
        start = f"timestamp_micros({bucket} * {window.size_ms * 1000}L + {window.offset_ms * 1000}L)"
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
def lower_window_table_function(node: WindowTableFunction, ctx: Lowering, here: Physical) -> Rel:
    """Lower a TVF without an aggregate right above: rows with window_start, window_end, window_time."""
    sessions = node.window.kind == "SESSION"
    if ctx.timing is not None or (node.window.proctime and not sessions):
        return windowed_rows(node, ctx, here)
    if sessions and ctx.output_mode == "update":
        message = "SESSION without an aggregate over it is not available in a query with updating operators"
        raise FlinkDdlError.of("FD646", message, node.span)
    if sessions:  # append mode: the rows of a session come out when the watermark passes its end
        rel = session_rows(here, node.window, node.window.partition_keys, ctx)
        texts = session_bounds(_zoned(rel, node.window), ctx)
    else:
        rel = assigned(inputs(here, ctx)[0], node.window, ctx)
        texts = bounds(node.window, _zoned(rel, node.window), ctx, grouped=False)
    columns = names_of(node.fields)
    values = [*map(quote, rel.columns), *(texts[p] for p in ("start", "end", "time"))]
    step = select(rel.step, [*zip(columns, values, strict=True), *same(rel.reserved)], ctx, "windowed")
    return rel.with_(step=step, columns=columns, fields=carried(node.fields, rel))


def _zoned(rel: Rel, window: Window) -> bool:
    return rel.fields[window.time].type.root is Root.TIMESTAMP_LTZ


@lowers(WindowAggregate)
def lower_window_aggregate(node: WindowAggregate, ctx: Lowering, here: Physical) -> Rel:
    """Lower GROUP BY over a window: keys, aggregates, window properties."""
    if ctx.timing is not None:
        return fired(node, ctx, here)
    once = here.form.kind == "append"
    if once and node.sessions and here.inputs[0].asked.watermark:
        return _late_sessions(node, ctx, here)
    (rel,) = inputs(here, ctx)
    if node.windowed_input is not None and rel.watermark:
        rel = drop_late_windows(rel, rel.sql(node.windowed_input[1]), ctx)
    if node.windowed_input is not None and not rel.windowed:
        return _by_bounds(node, rel, node.windowed_input, ctx, here)
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
    keys = [(WINDOW, window), *key_columns(rel, node.keys)]
    if node.window.kind == "SESSION" and not node.keys:
        rel = with_one_key(rel, ctx)  # Spark has no session without another key
        keys.append((f"{KEY}0", ONE_KEY))
    if once:
        return _once(rel, keys, node, bounds(node.window, zoned, ctx, grouped=True), ctx)
    return _early(rel, keys, node, zoned, ctx, here)


def _late_sessions(node: WindowAggregate, ctx: Lowering, here: Physical) -> Rel:
    """Append mode, rows may be late: the aggregate of each session that the fold by arrival makes."""
    rel = session_rows(here, node.window, node.window.partition_keys or node.keys, ctx, never_null)
    keys = [(WINDOW, WINDOW), *key_columns(rel, node.keys), (START, START), (END, END)]
    return _once(rel, keys, node, session_bounds(_zoned(rel, node.window), ctx), ctx)


def _once(rel: Rel, keys: list[Named], node: WindowAggregate, texts: Mapping[str, str], ctx: Lowering) -> Rel:
    """Append mode: each window comes out when the watermark passes its end; ``texts`` are its properties."""
    note = f"{node.window.kind} aggregate, once a window"
    if rel.kind == "append" and all(is_native(c) for c in node.aggs):
        aggs, values = native_calls(rel, node.aggs)
        step = group(rel.step, keys, aggs or [("__a0", "count(1)")], ctx, "window_aggregate", note)
    else:
        step, finishes = accumulate(rel, Grouping(keys, node.aggs, note), ctx)
        step = where(step, f"{IMAGES}.n IS NOT NULL", ctx, "fired")
        values = [f(f"{IMAGES}.n") for f in finishes]
    columns, n = names_of(node.fields), len(node.keys)
    row = [*(quote(k) for k, _ in keys[1 : n + 1]), *values, *(texts[p] for p in node.properties)]
    named: list[Named] = [*zip(columns, row, strict=True), (WINDOW, WINDOW)]
    fields = (*plain(node.fields[:n]), *node.fields[n:])
    return Rel(select(step, named, ctx, "fired_windows"), columns, fields, windowed=True)


def _early(rel: Rel, keys: list[Named], node: WindowAggregate, zoned: bool, ctx: Lowering, here: Physical) -> Rel:
    """Update mode: a window comes out with each batch that touches it, as a change of its row."""
    if node.window.kind == "SESSION":
        raise FlinkDdlError.of(
            "FD646", "SESSION in a query with updating operators is not available on a stream", node.span
        )
    inner = (Field(WINDOW, T.TIMESTAMP(3)), *node.fields[: len(node.keys) + len(node.aggs)])
    note = f"{node.window.kind} aggregate, early and corrected"
    out = grouped(rel, Grouping(keys, node.aggs, note), inner, ctx, here)

    def texts(window: str) -> Mapping[str, str]:
        return bounds(node.window, zoned, ctx, grouped=False, column=window)

    return _window_rows(out, node, 1, texts, ctx)


def _window_rows(out: Rel, node: WindowAggregate, first: int, texts: Texts, ctx: Lowering) -> Rel:
    """Return changes by window, whose ``first`` columns say which, with the properties that ``texts`` makes of them."""
    n = len(out.fields)

    def row(names: tuple[str, ...]) -> list[str]:
        of = texts(*map(quote, names[:first]))
        return [*map(quote, names[first:n]), *(of.get(p, "current_timestamp()") for p in node.properties)]

    fields = (*plain(node.fields[: n - first]), *node.fields[n - first :])
    return project(out, fields, [*row(out.columns), *row(out.before_columns)], ctx, "window_rows")


def _by_bounds(node: WindowAggregate, rel: Rel, window: tuple[int, int], ctx: Lowering, here: Physical) -> Rel:
    """A second aggregate over windowed rows whose window is only in its columns."""
    if here.form.kind == "append":
        raise FlinkDdlError.of("FD647", "Spark has lost the window that this aggregate groups by", node.span)
    keys = key_columns(rel, (*window, *node.keys))
    inner = (*(rel.fields[k] for k in window), *node.fields[: len(node.keys) + len(node.aggs)])
    out = grouped(rel, Grouping(keys, node.aggs, "aggregate per window"), inner, ctx, here)

    def texts(start: str, end: str) -> Mapping[str, str]:
        return {"start": start, "end": end, "time": f"CAST({end} - INTERVAL '0.001' SECOND AS TIMESTAMP)"}

    return _window_rows(out, node, 2, texts, ctx)


@lowers(Rank)
def lower_any_rank(node: Rank, ctx: Lowering, here: Physical) -> Rel:
    """Lower a Top-N, per window or over all rows."""
    if node.window is None:
        return lower_rank(node, ctx, here)
    return _top(_on_time(here.inputs[0], node.window, ctx), node, ctx, here)


def _on_time(input: Physical, window: tuple[int, int], ctx: Lowering) -> Rel:
    """Lower an input that carries its window; rows that came after their window was closed are dropped."""
    rel = to_delta(lower_node(input, ctx), ctx)
    return drop_late_windows(rel, rel.sql(window[1]), ctx) if rel.watermark else rel


@lowers(Deduplicate)
def lower_any_deduplicate(node: Deduplicate, ctx: Lowering, here: Physical) -> Rel:
    """Lower a deduplication; per window the first or last row by time, as a Top-1."""
    if node.window is None:
        return lower_deduplicate(node, ctx, here)
    rel = _on_time(here.inputs[0], node.window, ctx)
    rank = replace(first_of(node), window=node.window)
    return _top(_newest_first(rel, ctx) if node.keep_last else rel, rank, ctx, here)


def _newest_first(rel: Rel, ctx: Lowering) -> Rel:
    """Turn arrival around, known or not: on equal time the later row wins keep-last."""
    if not rel.sequence:
        return rel
    return rel.with_(step=extend(rel, [(SEQUENCE, f"-coalesce({SEQUENCE}, {UNKNOWN})")], ctx, "newest_first"))


def _top(rel: Rel, node: Rank, ctx: Lowering, here: Physical) -> Rel:
    if ctx.timing is not None:
        return best(rel, node, ctx)
    if here.form.kind != "append":
        return top(rel, node, ctx)
    if not rel.windowed:
        raise FlinkDdlError.of("FD647", "Spark has lost the window that this Top-N ranks in", node.span)
    step = places(rel, node, ctx, [(WINDOW, WINDOW)])
    step = explode(step, [(WINDOW, WINDOW)], ("__rows", ("__k", "__o", "__n")), ctx, "places")
    columns = names_of(node.fields)
    row = [*members("__n", len(rel.fields)), *(["__k"] if node.with_rank else [])]
    step = select(step, [*zip(columns, row, strict=True), (WINDOW, WINDOW)], ctx, "window_top_rows")
    return Rel(step, columns, carried(node.fields, rel), windowed=True)


@lowers(WindowJoin)
def lower_window_join(node: WindowJoin, ctx: Lowering, here: Physical) -> Rel:
    """Lower a join of two windowed inputs: both sides of a window and key meet in one group."""
    windows = (node.left_window, node.right_window)
    left, right = (_on_time(i, w, ctx) for i, w in zip(here.inputs, windows, strict=True))
    if ctx.timing is not None:
        keys = tuple(dict.fromkeys((*node.keys, *zip(*windows, strict=True))))
        end = millis(f"{KEY}{keys.index((windows[0][1], windows[1][1]))}")
        return join(Sides(left, right, keys, fires=fires(node, end, ctx)), node, ctx, here)
    once = ctx.output_mode == "append"
    if once and not (left.windowed and right.windowed):
        raise FlinkDdlError.of("FD647", "Spark has lost the window that this join is over", node.span)
    keys = tuple(dict.fromkeys((*node.keys, *zip(*windows, strict=True))))
    return join(Sides(left, right, keys, windowed=once), node, ctx, here)
