"""Event-time windows in a chain of stages: an operator by key that gives a window out once, by timers of its own.

What tells it the time are rows (``plan/clocks.py``): nothing here hangs on Spark's watermark, nor on its window
function. The bounds of a window are columns in ms as the wall clock shows them: of a TIMESTAMP_LTZ the session zone's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.plan.nodes.forms import needs_order
from flinkddl.plan.nodes.values import plain
from flinkddl.plan.stateforms import SLICES
from flinkddl.spark.base import carried, extend, group, names_of, same, select, where
from flinkddl.spark.context import WATERMARK, Rel
from flinkddl.spark.job import StateCall
from flinkddl.spark.lateness import END, START, drop_late_windows
from flinkddl.spark.rowtime import millis, never_null, without_null
from flinkddl.spark.stream.aggregate import accumulators, key_columns
from flinkddl.spark.stream.base import explode, members
from flinkddl.spark.stream.fires import fires, instant, wall, wall_zone
from flinkddl.spark.stream.kinds import IMAGES, ONE_GROUP, inputs
from flinkddl.spark.stream.ranking import place_args
from flinkddl.sqltypes import quote

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from flinkddl.plan.nodes import Rank, Window, WindowAggregate, WindowTableFunction
    from flinkddl.plan.physical import Physical
    from flinkddl.spark.context import Lowering
    from flinkddl.spark.job import Named
    from flinkddl.spark.stream.calls import Finish


def windowed_rows(node: WindowTableFunction, ctx: Lowering, here: Physical) -> Rel:
    """Lower a table function without an aggregate right above: rows with window_start, window_end, window_time."""
    (rel,) = inputs(here, ctx)
    rel = rel if node.window.proctime else without_null(rel, node.window.time, ctx)
    zone = wall_zone(node, ctx)
    step = _bounds(rel, node.window, zone, ctx)
    texts = _properties(node.window, zone)
    columns = names_of(node.fields)
    values = [*map(quote, rel.columns), *(texts[p] for p in ("start", "end", "time"))]
    step = select(step, [*zip(columns, values, strict=True), *same(rel.reserved)], ctx, "windowed")
    return rel.with_(step=step, columns=columns, fields=carried(node.fields, rel))


def fired(node: WindowAggregate, ctx: Lowering, here: Physical) -> Rel:
    """Lower GROUP BY over a window: each window comes out once, in the batch in which its time comes."""
    (rel,) = inputs(here, ctx)
    if node.sessions:
        return _sessions(rel, node, ctx, told=node.requires(here.asked)[0].sequence)
    zone = wall_zone(node, ctx)
    if node.windowed_input is None:
        if SLICES in ctx.newer and _shares(rel, node, zone):
            ctx.used.add(SLICES)
            return _slices(rel, node, ctx)
        rel = _timely(rel, node.window, ctx)
        step = _bounds(rel, node.window, zone, ctx)
    else:
        bounds = zip((START, END), (millis(rel.sql(i)) for i in node.windowed_input), strict=True)
        step = extend(rel, list(bounds), ctx, "bounds", "the window's")
    rel = rel.with_(step=step)
    if rel.watermark:
        rel = drop_late_windows(rel, f"timestamp_millis({instant(END, zone)})", ctx)
    args, finishes = accumulators(rel, node.aggs)
    call = fires(node, END, ctx).held(StateCall("retract", "", args))
    keys: list[Named] = [(START, START), (END, END), *key_columns(rel, node.keys)]
    step = group(rel.step, keys, [(IMAGES, call)], ctx, "window_aggregate", _note(node))
    step = where(step, f"{IMAGES}.n IS NOT NULL", ctx, "fired")
    values = [*(quote(k) for k, _ in keys[2:]), *(f(f"{IMAGES}.n") for f in finishes)]
    return _rows(step, node, values, _properties(node.window, zone), ctx)


def _timely(rel: Rel, window: Window, ctx: Lowering) -> Rel:
    """Fail at a row without a time; processing time is never NULL."""
    return rel if window.proctime else never_null(rel, window.time, ctx)


def _time(rel: Rel, window: Window) -> str:
    """Return a row's time. As processing time that is its batch's: it is logged, and never before what was told."""
    return "current_timestamp()" if window.proctime else rel.sql(window.time)


def _note(node: WindowAggregate) -> str:
    return f"{node.window.kind} aggregate, once a window"


def _rows(step: str, node: WindowAggregate, values: list[str], texts: Mapping[str, str], ctx: Lowering) -> Rel:
    """Return what has fired: ``values`` are its keys and aggregates, ``texts`` the properties of its window."""
    columns, n = names_of(node.fields), len(node.keys)
    row = [*values, *(texts[p] for p in node.properties)]
    fields = (*plain(node.fields[:n]), *node.fields[n:])
    return Rel(select(step, list(zip(columns, row, strict=True)), ctx, "fired_windows"), columns, fields)


def _sessions(rel: Rel, node: WindowAggregate, ctx: Lowering, *, told: bool) -> Rel:
    """Lower sessions, which rows make and merge in the state of their key: their bounds come out with them.

    ``told``: checkpoints know of the order of rows. Elsewhere earlier versions took them by time; they kept the same.
    """
    assert ctx.timing is not None
    rel = _timely(rel, node.window, ctx)
    args, finishes = accumulators(rel, node.aggs)
    met = WATERMARK if rel.watermark else "CAST(NULL AS BIGINT)"
    args = (*args, millis(_time(rel, node.window)), f"{node.window.size_ms}L", met)
    told_args, other = (args, ()) if told else ((args[0], "0L", *args[2:]), args)
    kind = "sessionlist" if any(map(needs_order, node.aggs)) else "session"
    call = StateCall("retract", kind, told_args, clocks=ctx.timing.below(node), other_args=other)
    return _with_bounds(rel, node, call, finishes, ctx, ("session_aggregate", _note(node), "sessions"))


def best(rel: Rel, node: Rank, ctx: Lowering) -> Rel:
    """Lower a window's Top-N: its places come out once; of each only the best rows so far are kept."""
    assert node.window is not None
    end = millis(rel.sql(node.window[1]))
    call = fires(node, end, ctx).held(StateCall("retract", "top", place_args(rel, node)))
    keys = key_columns(rel, node.partition) or ONE_GROUP
    note = f"Rank {node.start}..{node.end}, once a window"
    step = group(rel.step, keys, [("__rows", call)], ctx, "window_top", note)
    step = explode(step, [], ("__rows", ("__k", "__o", "__n")), ctx, "places")
    columns = names_of(node.fields)
    row = [*members("__n", len(rel.fields)), *["__k"] * node.with_rank]
    step = select(step, list(zip(columns, row, strict=True)), ctx, "window_top_rows")
    return Rel(step, columns, carried(node.fields, rel))


def _slices(rel: Rel, node: WindowAggregate, ctx: Lowering) -> Rel:
    """Lower HOP and CUMULATE windows of which rows are kept by slices; their bounds come out with them."""
    assert ctx.timing is not None
    rel = _timely(rel, node.window, ctx)
    window = node.window
    size, slide = window.size_ms, window.slide_ms or window.size_ms
    time, base = _base(rel, window, "")
    if window.kind == "HOP":
        end, windows = f"{base} + {size}L", ("hop", slide, size // slide)
    else:
        end, windows = f"{base} + (({time} - {base}) div {slide}L + 1L) * {slide}L", ("cumulate", slide, size)
    args, finishes = accumulators(rel, node.aggs)
    call = StateCall("retract", "slices", (*args, base, end), clocks=ctx.timing.below(node), windows=windows)
    note = f"{_note(node)}, of slices of {slide} ms"
    return _with_bounds(rel, node, call, finishes, ctx, ("window_aggregate", note, "windows"))


def _with_bounds(
    rel: Rel,
    node: WindowAggregate,
    call: StateCall,
    finishes: Sequence[Finish],
    ctx: Lowering,
    told: tuple[str, str, str],
) -> Rel:
    """Group by what knows its windows itself, whose bounds (instants, ms) come out with each."""
    by, note, windows = told
    keys, zone = key_columns(rel, node.keys), wall_zone(node, ctx)
    step = group(rel.step, keys or ONE_GROUP, [(IMAGES, call)], ctx, by, note)
    bounds: list[Named] = [(START, wall(f"{IMAGES}.s", zone)), (END, wall(f"{IMAGES}.e", zone))]
    step = select(step, [*same(k for k, _ in keys), *bounds, (IMAGES, f"{IMAGES}.r")], ctx, windows)
    values = [*(quote(k) for k, _ in keys), *(f(f"{IMAGES}.n") for f in finishes)]
    return _rows(step, node, values, _properties(node.window, zone), ctx)


_SHARED = frozenset({"COUNT", "SUM", "AVG", "STDDEV_POP", "STDDEV_SAMP", "VAR_POP", "VAR_SAMP"})


def _shares(rel: Rel, node: WindowAggregate, zone: str) -> bool:
    """Whether windows are made of slices, as Flink's are: of what keeps a number a call, on a clock without shifts."""
    window = node.window
    if window.kind not in ("HOP", "CUMULATE") or zone or rel.watermark or window.size_ms % (window.slide_ms or 1):
        return False
    known = _SHARED | ({"MIN", "MAX"} if rel.kind == "append" else set())
    return all(call.function in known and not call.distinct for call in node.aggs)


def _base(rel: Rel, window: Window, zone: str) -> tuple[str, str]:
    """Return a row's time and the start of its newest window, in ms."""
    sql = _time(rel, window)
    time = millis(f"from_utc_timestamp(CAST({sql} AS TIMESTAMP), '{zone}')" if zone else sql)
    apart = window.slide_ms or window.size_ms if window.kind == "HOP" else window.size_ms
    return time, f"({time} - pmod({time} - {window.offset_ms}L, {apart}L))"


def _bounds(rel: Rel, window: Window, zone: str, ctx: Lowering) -> str:
    """Add START and END to each row, which comes once a window; returns the step's name."""
    size, slide = window.size_ms, window.slide_ms or window.size_ms
    time, base = _base(rel, window, zone)
    if window.kind == "TUMBLE":
        bounds: list[Named] = [(START, base), (END, f"{base} + {size}L")]
        return extend(rel, bounds, ctx, "windows", "TUMBLE window")
    if window.kind == "HOP":
        each = f"named_struct('s', {base} - __i * {slide}L, 'e', {base} - __i * {slide}L + {size}L)"
        rows = f"transform(sequence(0L, {-(-size // slide) - 1}L), __i -> {each})"
        rows = f"filter({rows}, __w -> __w.e > {time})" if size % slide else rows
    else:
        each = f"named_struct('s', {base}, 'e', {base} + __i * {slide}L)"
        rows = f"transform(sequence(({time} - {base}) div {slide}L + 1L, {size // slide}L), __i -> {each})"
    kept = same((*rel.columns, *rel.before_columns, *rel.reserved))
    return explode(rel.step, kept, (rows, (START, END)), ctx, "windows", f"{window.kind} windows")


def _properties(window: Window, zone: str) -> Mapping[str, str]:
    """Return texts over START and END: start and end (plain timestamps), time (an instant, end - 1 ms, or now)."""
    start, end = (f"CAST(timestamp_millis({ms}) AS TIMESTAMP_NTZ)" for ms in (START, END))
    time = "current_timestamp()" if window.proctime else f"timestamp_millis({instant(END, zone)} - 1L)"
    return {"start": start, "end": end, "time": time, "rowtime": time, "proctime": "current_timestamp()"}
