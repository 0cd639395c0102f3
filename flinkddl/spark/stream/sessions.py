"""Session windows whose rows are kept until the session is closed: rows with their bounds, and late rows.

Spark's ``session_window`` groups the rows; where rows can be late it takes them all, wide enough that none is dropped,
and the fold by arrival says which Flink drops and which sessions the others make.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.spark.base import group, select
from flinkddl.spark.context import SEQUENCE, WATERMARK, WINDOW
from flinkddl.spark.job import StateCall
from flinkddl.spark.lateness import END, START, TIME, fold
from flinkddl.spark.rowtime import millis, without_null
from flinkddl.spark.stream.aggregate import key_columns
from flinkddl.spark.stream.base import ONE_KEY, explode, with_one_key
from flinkddl.spark.stream.kinds import IMAGES, KEY, inputs
from flinkddl.sqltypes import quote, spark_type

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flinkddl.plan.nodes import Window
    from flinkddl.plan.physical import Physical
    from flinkddl.spark.context import Lowering, Rel
    from flinkddl.spark.job import Named

    Untimed = Callable[[Rel, int, Lowering], Rel]


def refuse_proctime(window: Window) -> None:
    """Raise FD645 for a window over processing time out of a chain: Spark closes windows by event time alone."""
    if window.proctime:
        help = "SET 'flinkddl.execution.state' = 'chain' runs it in one or says why not; or window over event time"
        message = "a window over processing time closes in a chain of operators by key alone, which this query is not"
        raise FlinkDdlError.of("FD645", message, window.span, help)


def session_rows(
    here: Physical, window: Window, keys: Sequence[int], ctx: Lowering, untimed: Untimed = without_null
) -> Rel:
    """Lower the input to its rows by session, in append mode: beside its fields the step has START and END in ms.

    ``untimed`` says what becomes of rows without a time.
    """
    refuse_proctime(window)
    (rel,) = inputs(here, ctx)
    rel, late = untimed(rel, window.time, ctx), rel.watermark
    time = millis(rel.sql(window.time))
    by: list[Named] = [(WINDOW, f"session_window({rel.sql(window.time)}, {_gap(window, time, late)})")]
    by += key_columns(rel, keys)
    if not keys:  # Spark has no session without another key
        rel, by = with_one_key(rel, ctx), [*by, (f"{KEY}0", ONE_KEY)]
    tail: list[Named] = [(TIME, time), (SEQUENCE, SEQUENCE), *((WATERMARK, WATERMARK),) * late]
    items = [(f"c{i}", quote(c)) for i, c in enumerate(rel.columns)] + tail
    members = ", ".join(f"'{n}', {sql}" for n, sql in items)
    row = f"named_struct({members})"
    types = [spark_type(f.type) for f in rel.fields] + ["BIGINT"] * len(tail)
    row_type = f"STRUCT<{','.join(f'{n}:{t}' for (n, _), t in zip(items, types, strict=True))}>"
    call = StateCall("final", "aggregate", ("1L", SEQUENCE, f"named_struct('array:0', named_struct('v', {row}))"))
    step = group(rel.step, by, [(IMAGES, call)], ctx, "sessions", "SESSION: rows kept until the session is closed")
    kept = f"CAST({IMAGES}.n.`array:0` AS ARRAY<{row_type}>)"
    each = (fold(kept, row_type, window.size_ms, late=late), (START, END, "__r"))
    step = explode(step, [(WINDOW, WINDOW)], each, ctx, "folded")
    bounds: list[Named] = [(WINDOW, WINDOW), (START, START), (END, END)]
    rows = ("transform(__r, (__e, __i) -> named_struct('p', __i, 'e', __e))", ("__p", "__row"))
    step = explode(step, bounds, rows, ctx, "session_rows")
    named: list[Named] = [(c, f"__row.c{i}") for i, c in enumerate(rel.columns)]
    # where a row joins two sessions, Flink appends the earlier one to the later one
    step = select(step, [*named, *bounds, (SEQUENCE, "CAST(__p AS BIGINT)")], ctx, "session_row")
    return rel.with_(step=step, kind="append", key=(), watermark=False, windowed=True, sequence=True)


def _gap(window: Window, time: str, late: bool) -> str:
    """Return the gap as Spark takes it; for a row behind the watermark it reaches beyond it, so that it is kept."""
    if not late:
        return f"'{window.size_ms} milliseconds'"
    beyond = f"greatest({window.size_ms}L, coalesce({WATERMARK} - {time} + 2L, 0L))"
    return f"CAST(concat({beyond}, ' milliseconds') AS INTERVAL)"
