"""Scans: a source's raw records become the table's columns, for batch and streaming alike.

A connector's module gives physical and raw metadata columns; here follow, as in Flink, the casts of metadata to their
declared types, the computed columns, the folding of changes in batch mode, and the watermark in streaming mode.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from flinkddl.connectors import connector
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.options.installed import usable
from flinkddl.plan.clocks import WALL
from flinkddl.plan.rex import InputRef
from flinkddl.spark import job as J
from flinkddl.spark.base import same, select, where
from flinkddl.spark.context import DELETED, SENDER, SEQUENCE, TICK, VERSION, WEIGHT, Lowering, Rel, unique_names
from flinkddl.spark.expressions import to_spark
from flinkddl.spark.partitions import NAMED_SOURCES, idle_ms, is_timed, most_partitions
from flinkddl.spark.rowtime import is_rowtime, millis
from flinkddl.sqltypes import quote, spark_type

if TYPE_CHECKING:
    from flinkddl.plan.clocks import Timing
    from flinkddl.plan.nodes import Scan

_END = "2199-01-01"  # later than any row, earlier than the row of the control stream
_RESERVED_TYPES = {WEIGHT: "INT", VERSION: "BIGINT", DELETED: "BOOLEAN", SEQUENCE: "BIGINT", SENDER: "BIGINT"}


def lower_scan(node: Scan, ctx: Lowering, sequence: bool = False) -> Rel:
    """Lower a scan to its changes; ``sequence`` asks for ``__seq``, the order of arrival. Raises FD651.

    In a bounded run ``spark.batch`` folds the changes into the table they leave.
    """
    rel = _all_columns(node, _rows(node, ctx, sequence), ctx)
    if ctx.timing is not None and ctx.timing.tells(node):  # readers tell the time themselves
        return _watermarked(node, _readers(node, rel, ctx), ctx)
    return _readers(node, _watermarked(node, rel, ctx) if ctx.streaming else rel, ctx)


def _rows(node: Scan, ctx: Lowering, sequence: bool) -> Rel:
    """Return what the connector makes of a table: its physical and raw metadata columns. Raises FD248, FD651, FD668."""
    name = node.options.connector
    module = connector(name).read
    if not module:
        raise FlinkDdlError.of("FD651", f"connector '{name}' cannot be read from", node.span)
    with usable(name):
        rel: Rel = import_module(module).rows(node, ctx, sequence)
    wanted = sum(c.kind != "computed" for c in node.table.columns)
    if (len(rel.columns), rel.sequence) != (wanted, sequence):
        order = ", and not the order of arrival that was asked for" if sequence and not rel.sequence else ""
        message = f"connector '{name}' gives {len(rel.columns)} of {wanted} columns of '{node.table.path}'{order}"
        raise FlinkDdlError.of("FD668", message, node.span, 'read README, "Add a connector": what rows() returns')
    return rel


def _readers(node: Scan, rel: Rel, ctx: Lowering) -> Rel:
    """Read a topic with ``scan.parallelism`` tasks at most, each a share of its partitions, as Flink's readers do.

    Spark's own ``minPartitions`` would rather cut a partition in pieces, whose records could overtake each other.
    """
    if not node.options.of_topics or not (most := node.options["scan.parallelism"]):
        return rel
    name = ctx.fresh(f"{node.table.path.name}_readers")
    return rel.with_(step=ctx.add(J.Coalesce(name=name, input=rel.step, tasks=most, note="scan.parallelism")).name)


def _all_columns(node: Scan, raw: Rel, ctx: Lowering) -> Rel:
    """Return every field of the scan: metadata cast, computed columns added, the rowtime as Spark's TIMESTAMP."""
    names = unique_names(f.name for f in node.fields)
    kept = [i for i, c in enumerate(node.table.columns) if c.kind != "computed"]
    texts = {i: quote(raw.columns[n]) for n, i in enumerate(kept)}
    rel = raw
    casts = {i: rex for i, rex in node.metadata if not isinstance(rex, InputRef)}
    if casts:
        texts |= {i: to_spark(rex, _by_field(raw, kept, len(names)), ctx.zone) for i, rex in casts.items()}
        rel = _select(rel, {names[i]: texts[i] for i in kept}, f"{node.table.path.name}_metadata", ctx)
        texts = {i: quote(names[i]) for i in kept}
        raw = rel.with_(columns=tuple(names[i] for i in kept))
    columns = _by_field(raw, kept, len(names))
    texts |= {i: to_spark(rex, columns, ctx.zone) for i, rex in node.computed}
    timed = [is_rowtime(f.type) for f in node.fields]
    final = {name: f"CAST({texts[i]} AS TIMESTAMP)" if timed[i] else texts[i] for i, name in enumerate(names)}
    if node.computed or any(timed) or tuple(final) != rel.columns:
        rel = _select(rel, final, f"{node.table.path.name}_table", ctx)
    key = tuple(kept[k] for k in raw.key)
    return rel.with_(columns=names, fields=node.fields, key=key)


def _by_field(raw: Rel, kept: list[int], count: int) -> tuple[str, ...]:
    at = dict(zip(kept, raw.columns, strict=True))
    return tuple(at.get(i, "") for i in range(count))


def _select(rel: Rel, columns: dict[str, str], prefix: str, ctx: Lowering) -> Rel:
    return rel.with_(step=select(rel.step, [*columns.items(), *same(rel.reserved)], ctx, prefix))


def _watermarked(node: Scan, rel: Rel, ctx: Lowering) -> Rel:
    if ctx.timing is not None and ctx.timing.tells(node):
        return _timed(node, rel, ctx.timing, ctx)
    if node.watermark is None:
        return rel
    column = rel.columns[node.watermark.index]
    if node.watermark.delay_ms is None:
        raise FlinkDdlError.of(
            "FD656",
            f"the watermark of '{column}' is no constant delay behind it, which is all that Spark can keep",
            node.table.watermark.span if node.table.watermark else node.span,
            help=f"write WATERMARK FOR {column} AS {column} - INTERVAL '..' SECOND, over a computed column if need be",
        )
    several = most_partitions(node, ctx)
    idle = idle_ms(node, ctx.config) if several and not ctx.bounded else 0
    if several:
        ctx.settings[NAMED_SOURCES] = "true"
    marked = J.WithWatermark(
        name=ctx.fresh(f"{node.table.path.name}_watermark"),
        input=_with_control(node, rel, column, ctx, ticks=idle > 0) if ctx.bounded or idle else rel.step,
        column=column,
        delay=f"{node.watermark.delay_ms} milliseconds",
        partitions=several,
        idle_ms=idle,
        note=f"WATERMARK FOR {column}{_merged(node, several, idle, ctx)}",
    )
    rel = rel.with_(step=ctx.add(marked).name)
    step = guarded(rel, column, ctx, (TICK,) * (idle > 0))
    if ctx.bounded or idle:
        # The filter names the rowtime itself: one on another column would be pushed below the watermark.
        condition = f"({quote(column)} IS NULL OR {quote(column)} < TIMESTAMP '{_END}')"
        condition += f" AND NOT coalesce({TICK}, false)" if idle else ""
        step = where(step, condition, ctx, f"{node.table.path.name}_rows")
    rel = rel.with_(step=step)
    return _select(rel, {c: quote(c) for c in rel.columns}, f"{node.table.path.name}_real", ctx) if idle else rel


def _timed(node: Scan, rel: Rel, timing: Timing, ctx: Lowering) -> Rel:
    """Tell the time beside a table's rows, in a chain: event time of each sender, whatever becomes of the rows.

    Input that ends tells it at its end: Flink tells it every 200 ms, and reads a short topic before the first time.
    Processing time is told by each batch; while no rows come the control stream makes one where a window ends.
    """
    clock, wall, name = timing.of(node), timing.wall_of(node), node.table.path.name
    declared = node.watermark if clock is not None else None
    column = rel.columns[declared.index] if declared is not None else ""
    ends, awaited = ctx.bounded and declared is not None, wall is not None and not ctx.bounded
    end = f"{quote(column)} >= TIMESTAMP '{_END}'"
    watermark = J.PASSED if declared is None else millis(to_spark(declared.expression, rel.columns, ctx.zone))
    if ends:  # what ends the input has this column alone
        watermark = f"IF({end}, {millis(quote(column))}, NULL)"
    if awaited and declared is not None:  # what asks for a batch has none
        watermark = f"IF({TICK}, NULL, {watermark})"
    event = f"WATERMARK FOR {column}: rows tell it, {'each partition its own' if rel.sender else 'one for the table'}"
    notes = [event] * (declared is not None) + ["PROCTIME: each batch tells it"] * (wall is not None)
    told = J.WithTime(
        name=ctx.fresh(f"{name}_time"),
        input=_with_control(node, rel, column, ctx, awaited) if ends or awaited else rel.step,
        columns=(*rel.columns, *(c for c in rel.reserved if c != SENDER), *(TICK,) * awaited),
        clock=WALL if clock is None else clock,
        watermark=watermark,
        sender=f"coalesce({SENDER}, 0L)" if rel.sender else "0L",
        senders=0 if rel.sender else 1,
        every=timing.every,
        shift=timing.shift,
        idle_ms=0 if ctx.bounded or declared is None else idle_ms(node, ctx.config),
        wall=wall,
        note="; ".join(notes),
    )
    rel = rel.with_(step=ctx.add(told).name, sender=False)
    if ends:
        rel = rel.with_(step=where(rel.step, f"{quote(column)} IS NULL OR NOT {end}", ctx, f"{name}_rows"))
    if awaited:
        rel = rel.with_(step=where(rel.step, f"NOT coalesce({TICK}, false)", ctx, f"{name}_rows"))
        rel = _select(rel, {c: quote(c) for c in rel.columns}, f"{name}_real", ctx)
    return rel


def _merged(node: Scan, several: int, idle: int, ctx: Lowering) -> str:
    """Return what EXPLAIN says of the partitions of a table whose watermark counts."""
    if not several:
        return ": one for all partitions, rows of one that lags behind can be late" if is_timed(node, ctx) else ""
    silent = f"one without records for {idle} ms does not count" if idle else "one without records holds all back"
    return f": one a partition (a scan each, up to {several}), the least holds; {silent}"


def guarded(rel: Rel, column: str, ctx: Lowering, extra: tuple[str, ...] = ()) -> str:
    """Tie every column to the rowtime, so that no filter on it is pushed below the watermark.

    Spark pushes what does not name the rowtime. Rows that a WHERE or a join key drops would then not move the watermark
    (Flink's moves at the source), and the row at the end of input, which has no other column, would never arrive.
    """
    real = f"coalesce({quote(column)} < TIMESTAMP '{_END}', true)"
    names = (*rel.columns, *rel.reserved, *extra)
    named = [(c, quote(c) if c == column else f"IF({real}, {quote(c)}, NULL)") for c in names]
    return select(rel.step, named, ctx, "guarded", "filters stay above")


def _with_control(node: Scan, rel: Rel, column: str, ctx: Lowering, ticks: bool) -> str:
    """Add the control stream, whose rows only move the watermark.

    At the end of bounded input one far-future row closes every window; ``ticks`` move that of an idle partition on.
    """
    types = dict(zip(rel.columns, (spark_type(f.type) for f in rel.fields), strict=True))
    types |= {c: _RESERVED_TYPES[c] for c in rel.reserved}
    types |= {TICK: "BOOLEAN"} if ticks else {}
    idle = ctx.timing is None
    moves = "moves the watermark of an idle partition on" if idle else "asks for a batch where a window ends"
    control = J.Read(
        name=ctx.fresh(f"{node.table.path.name}_end"),
        format=J.CONTROL,
        options={"rowtime": column},
        streaming=True,
        schema=", ".join(f"{quote(c)} {t}" for c, t in types.items()),
        note=moves if ticks else "end of input",
    )
    columns = tuple((c, "false" if c == TICK else quote(c)) for c in types)
    ordered = J.Select(name=ctx.fresh(f"{rel.step}_all"), input=rel.step, columns=columns)
    parts = (ctx.add(ordered).name, ctx.add(control).name)
    return ctx.add(J.UnionAll(name=ctx.fresh(f"{rel.step}_and_end"), parts=parts)).name
