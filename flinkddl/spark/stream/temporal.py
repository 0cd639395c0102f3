"""Joins by time: interval joins, temporal joins on versioned tables, lookup joins.

- Interval join: Spark's stream-stream join with the bounds on the two watermarked columns, so that state is dropped
  once the watermark has passed it; in a query in update mode an ordinary join by the same condition.
- Temporal join in append mode: each left row meets the versions that are not newer; the newest of these is taken when
  the watermark passes the row's time, as in Flink. In a chain an operator by key holds rows until then, with timers of
  its own (``fires.py``), and lets go of versions that no row can want. In another query in update mode a row comes out
  at once with the newest version so far and is corrected when a better one arrives late: both sides in one order per
  key, the last version carried down.
- Lookup join: a join of the stream with the table as each batch finds it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.plan.nodes import Filter, IntervalJoin, LookupJoin, Project, Scan, TemporalJoin
from flinkddl.plan.nodes.forms import PLAIN, How
from flinkddl.plan.physical import decide
from flinkddl.spark.base import carried, conform, extend, group, names_of, project, same, select, where
from flinkddl.spark.context import AFTER, DELETED, SEQUENCE, VERSION, WEIGHT, Rel
from flinkddl.spark.expressions import condition_to_spark, to_spark
from flinkddl.spark.job import HOW, JoinStep, Keeps, StateCall, UnionAll
from flinkddl.spark.made import is_made, lookup_made
from flinkddl.spark.rowtime import millis
from flinkddl.spark.stream.aggregate import key_text
from flinkddl.spark.stream.base import explode, lower_node, lowers, members, struct, with_one_key
from flinkddl.spark.stream.fires import TIME, Within
from flinkddl.spark.stream.join import Sides, common, equal, join, plain, renamed, spread, struct_type
from flinkddl.spark.stream.kinds import KEY, arrival, inputs, to_delta, weight
from flinkddl.spark.ttl import must_forget
from flinkddl.sqltypes import quote, spark_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flinkddl.plan.physical import Physical
    from flinkddl.spark.context import Lowering
    from flinkddl.spark.job import Named


def interval(milliseconds: int) -> str:
    """Return a day-time interval literal, of which Spark can tell how far a state reaches back."""
    sign = "-" if milliseconds < 0 else ""
    whole, part = divmod(abs(milliseconds), 1000)
    return f"INTERVAL '{sign}{whole}.{part:03d}' SECOND"


@lowers(IntervalJoin)
def lower_interval_join(node: IntervalJoin, ctx: Lowering, here: Physical) -> Rel:
    """Lower an interval join."""
    left, right = inputs(here, ctx)
    sides = Sides(left, right, node.keys)
    if ctx.timing is not None:
        times = millis(left.sql(node.left_time)), millis(right.sql(node.right_time))
        within = Within(times, node.lower_ms, node.upper_ms, ctx.timing.below(node))
        return join(replace(sides, fires=within), node, ctx, here)
    kept = node.proctime and must_forget(ctx, span=node.span)  # no watermark ever empties Spark's own
    if not sides.append or kept or (ctx.output_mode == "update" and node.kind != "inner"):
        return join(sides, node, ctx, here)
    if node.proctime and node.kind != "inner":
        message = f"a {node.kind.upper()} interval join over processing time is not available on a stream"
        raise FlinkDdlError.of(
            "FD475", message, node.span, "join on event time, or leave out the bounds: a regular join"
        )
    one, two = renamed(sides, ctx)
    on = [equal(one, two, a, b) for a, b in node.keys]
    if not node.keys:  # Spark has no join of streams without an equality
        one, two, on = with_one_key(one, ctx, "__onel"), with_one_key(two, ctx, "__oner"), ["__onel = __oner"]
    columns = (*one.columns, *two.columns)
    if not node.proctime:
        a, b = one.sql(node.left_time), two.sql(node.right_time)
        on += [f"{a} >= {b} + {interval(node.lower_ms)}", f"{a} <= {b} + {interval(node.upper_ms)}"]
    on.append(condition_to_spark(node.condition, columns, ctx.zone))
    name, how, note = ctx.fresh("interval_join"), HOW[node.kind], "IntervalJoin, Spark's own"
    keeps: Keeps = "for ever" if node.proctime else "until the watermark"
    ctx.add(JoinStep(name=name, left=one.step, right=two.step, on=" AND ".join(on), how=how, keeps=keeps, note=note))
    return plain(Rel(name, columns, (*one.fields, *two.fields)), ctx, here)


# ---- versions ----------------------------------------------------------------------------------------------------


def lower_versions(here: Physical, ctx: Lowering) -> Rel:
    """Lower a versioned table to all its versions: kind ``upsert``, a row per change, nothing folded."""
    match node := here.node:
        case Scan():
            rel = _as_versions(lower_node(here, ctx), ctx)
        case Project():
            below = lower_versions(here.inputs[0], ctx)
            exprs = [to_spark(e, below.columns, ctx.zone) for e in node.exprs]
            rel = project(below, node.fields, exprs, ctx, "project_versions")
        case Filter():
            below = lower_versions(here.inputs[0], ctx)
            passes = condition_to_spark(node.condition, below.columns, ctx.zone)
            gone = f"{DELETED} OR NOT coalesce({passes}, false)"
            rel = below.with_(step=extend(below, [(DELETED, gone)], ctx, "filter_versions"))
        case _ if node.versioned:
            rel = _as_versions(lower_node(here.inputs[0], ctx), ctx)
        case _:
            message = f"a {node.name} has no versions that a temporal join could read"
            raise FlinkDdlError.of("FD641", message, node.span)
    return conform(rel, node.fields, ctx)


def _as_versions(rel: Rel, ctx: Lowering) -> Rel:
    if rel.kind == "upsert":
        return rel
    gone = f"{WEIGHT} < 0" if rel.kind == "delta" else "false"
    named: list[Named] = [(c, quote(c)) for c in rel.columns]
    named += [(VERSION, arrival(rel)), (DELETED, gone), (SEQUENCE, arrival(rel))]
    return rel.with_(step=select(rel.step, named, ctx, "versions"), kind="upsert", sequence=True)


@lowers(TemporalJoin)
def lower_temporal_join(node: TemporalJoin, ctx: Lowering, here: Physical) -> Rel:
    """Lower FOR SYSTEM_TIME AS OF."""
    if node.right_time is None:
        message = "a temporal join on processing time needs a table that can be looked up"
        raise FlinkDdlError.of("FD649", message, node.span, "join a jdbc table, or use an event-time column")
    left = to_delta(lower_node(here.inputs[0], ctx), ctx)
    sides = Sides(left, lower_versions(here.inputs[1], ctx), node.keys)
    lower = _fired if ctx.timing is not None else _final if here.form.kind == "append" else _corrected
    return _picked(node, sides, lower(node, sides, node.right_time, ctx), ctx, here)


def _keys(node: TemporalJoin, rel: Rel, other: Rel, side: int) -> list[Named]:
    out: list[Named] = []
    for i, pair in enumerate(node.keys):
        own, theirs = pair[side], pair[1 - side]
        out.append((f"{KEY}{i}", common(rel.sql(own), rel.fields[own].type, other.fields[theirs].type)))
    return out


@dataclass(frozen=True)
class _Met:
    """A step whose rows have met their version: texts of the left fields, and of the version."""

    step: str
    rows: Sequence[str]
    best: str


def _final(node: TemporalJoin, sides: Sides, right_time: int, ctx: Lowering) -> _Met:
    """Append mode: (row, older version) pairs and each row alone, grouped by row; the newest version wins."""
    left, right = sides.both
    n = len(left.fields)
    rows: list[Named] = [(f"__l{i}", left.sql(i)) for i in range(n)]
    rows += [("__ls", _known(SEQUENCE) if left.sequence else "0L")]
    rows += [(f"__k{k}", sql) for k, (_, sql) in enumerate(_keys(node, left, right, 0))]
    row_step = select(left.step, rows, ctx, "rows")
    version = f"named_struct('d', {DELETED}, 'r', {struct(map(quote, right.columns))})"
    version_type = _version_type(right)
    stamp = f"named_struct('t', {right.sql(right_time)}, 's', {_known(VERSION)})"
    versions = [("__at", right.sql(right_time)), ("__stamp", stamp), ("__version_row", version)]
    versions += [(f"__m{k}", sql) for k, (_, sql) in enumerate(_keys(node, right, left, 1))]
    version_step = select(right.step, versions, ctx, "versions")
    on = [f"__k{k} = __m{k}" for k in range(len(node.keys))] + [f"__at <= __l{node.left_time}"]
    met = JoinStep(
        name=ctx.fresh("older_versions"),
        left=row_step,
        right=version_step,
        on=" AND ".join(on),
        how="inner",
        keeps="until the watermark",
        note="TemporalJoin: versions not newer than the row",
    )
    ctx.add(met)
    keep = [(c, c) for c, _ in rows[: n + 1]]
    hits = select(
        met.name, [*keep, ("__stamp", "__stamp"), ("__v", f"CAST(__version_row AS {version_type})")], ctx, "hits"
    )
    stamp_type = f"STRUCT<t: {spark_type(right.fields[right_time].type)}, s: BIGINT>"
    nothing = [("__stamp", f"CAST(NULL AS {stamp_type})"), ("__v", f"CAST(NULL AS {version_type})")]
    alone = select(row_step, [*keep, *nothing], ctx, "alone")
    both = ctx.add(UnionAll(name=ctx.fresh("rows_and_versions"), parts=(alone, hits), note="TemporalJoin")).name
    newest = [("__best", "max_by(__v, __stamp)"), ("__copies", "count_if(__v IS NULL)")]
    step = group(
        both, keep, newest, ctx, "as_of", "TemporalJoin: the newest version, when the watermark passes the row"
    )
    return _Met(step, [f"__l{i}" for i in range(n)], "__best")


def _known(came: str) -> str:
    """Return an order that is never NULL, as Spark's join has it in its state."""
    return f"coalesce({came}, 0L)"


def _corrected(node: TemporalJoin, sides: Sides, right_time: int, ctx: Lowering) -> _Met:
    """Update mode: rows and versions of a key in order of time, the last version carried down to the rows."""
    left, right = sides.both
    row_type, version_type = struct_type(left.fields), struct_type(right.fields)
    parts = []
    for side, (rel, other, at) in enumerate(((left, right, node.left_time), (right, left, right_time))):
        own = struct(map(quote, rel.columns))
        version = f"named_struct('v', named_struct('d', {DELETED}, 'r', CAST({own} AS {version_type})))"
        row = f"CAST({own} AS {row_type})" if side == 0 else f"CAST(NULL AS {row_type})"
        carried = f"CAST(NULL AS STRUCT<v: STRUCT<d: BOOLEAN, r: {version_type}>>)" if side == 0 else version
        stamp = f"named_struct('a0', unix_micros(CAST({key_text(rel, at)} AS TIMESTAMP)), 'a1', {1 - side})"
        entry = f"named_struct('o', {stamp}, 'r', named_struct('l', {row}), 'a', named_struct('last:0', {carried}))"
        named = [*_keys(node, rel, other, side), ("__w", weight(left) if side == 0 else "1L")]
        named += [("__s", VERSION if side else arrival(rel)), ("__entry", entry)]
        parts.append(select(rel.step, named, ctx, ("rows", "versions")[side]))
    both = ctx.add(UnionAll(name=ctx.fresh("timeline"), parts=tuple(parts), note="TemporalJoin")).name
    keys = [(f"{KEY}{i}", f"{KEY}{i}") for i in range(len(node.keys))]
    call = StateCall("retract", "over", ("__w", "__s", "true", "CAST(NULL AS BIGINT)", "__entry"))
    step = group(both, keys, [("__rows", call)], ctx, "as_of", "TemporalJoin: last version carried down, corrected")
    step = explode(step, [], ("__rows", ("__r", "__x", WEIGHT)), ctx, "changes")
    step = where(step, "__r.l IS NOT NULL", ctx, "left_rows")
    return _Met(step, members("__r.l", len(left.fields)), "__x.`last:0`")


def _fired(node: TemporalJoin, sides: Sides, right_time: int, ctx: Lowering) -> _Met:
    """In a chain: rows wait in the state of their key until their time comes, beside the versions that may hold."""
    assert ctx.timing is not None
    rows, versions = _waiting(node, sides, ctx), _holding(node, sides, right_time, ctx)
    both = ctx.add(UnionAll(name=ctx.fresh("timeline"), parts=(rows, versions), note="TemporalJoin")).name
    args = ("__w", "__match", "__l", "__r", TIME, "__s")
    call = StateCall("retract", "temporalinner", args, clocks=ctx.timing.below(node))
    by = [(c, c) for c in (*(f"{KEY}{i}" for i in range(len(node.keys))), "__salt")]
    step = group(both, by, [("__rows", call)], ctx, "as_of", "TemporalJoin: the newest version when a row's time comes")
    step = explode(step, [], ("__rows", ("__a", "__b", WEIGHT)), ctx, "as_of_time")
    return _Met(step, members("__a", len(sides.left.fields)), "__b")


def _waiting(node: TemporalJoin, sides: Sides, ctx: Lowering) -> str:
    """Return left rows as ``temporalinner`` takes them; those without a key meet no version, and are spread."""
    left, right = sides.both
    keys, row, time = _keys(node, left, right, 0), struct(map(quote, left.columns)), millis(left.sql(node.left_time))
    keyed = " AND ".join(f"{sql} IS NOT NULL" for _, sql in keys) or "true"
    named = [*keys, ("__salt", f"IF({keyed}, 0L, {spread(left)})"), ("__match", f"{time} IS NOT NULL")]
    named += [("__w", weight(left)), ("__l", f"CAST({row} AS {struct_type(left.fields)})")]
    named += [("__r", f"CAST(NULL AS {_version_type(right)})"), (TIME, time), ("__s", "0L")]
    return select(left.step, named, ctx, "rows")


def _holding(node: TemporalJoin, sides: Sides, right_time: int, ctx: Lowering) -> str:
    """Return versions as ``temporalinner`` takes them, without those that have no key or no time: none meets them."""
    left, right = sides.both
    keys, time = _keys(node, right, left, 1), millis(right.sql(right_time))
    there = " AND ".join(f"{sql} IS NOT NULL" for sql in (time, *(sql for _, sql in keys)))
    version = f"named_struct('d', {DELETED}, 'r', {struct(map(quote, right.columns))})"
    named = [*keys, ("__salt", "0L"), ("__match", "true"), ("__w", "1L")]
    named += [("__l", f"CAST(NULL AS {struct_type(left.fields)})")]
    named += [("__r", f"CAST({version} AS {_version_type(right)})"), (TIME, time), ("__s", VERSION)]
    return select(where(right.step, there, ctx, "timed_versions"), named, ctx, "versions")


def _version_type(right: Rel) -> str:
    return f"STRUCT<d: BOOLEAN, r: {struct_type(right.fields)}>"


def _picked(node: TemporalJoin, sides: Sides, met: _Met, ctx: Lowering, here: Physical) -> Rel:
    """Rows beside their version: dropped by an inner join, padded by a left join where nothing holds."""
    n, m = (len(rel.fields) for rel in sides.both)
    once = ctx.timing is not None and here.form.kind == "append"
    columns = (*(f"__a{i}" for i in range(n)), *(f"__b{i}" for i in range(m)))
    values = [*met.rows, *members(f"{met.best}.r", m)]
    times = WEIGHT if here.form.kind == "delta" else "__copies"
    tail = [("__gone", f"coalesce({met.best}.d, true)"), *same([times] * (not once))]
    step = select(met.step, [*zip(columns, values, strict=True), *tail], ctx, "met")
    holds = f"(NOT __gone AND coalesce({condition_to_spark(node.condition, columns, ctx.zone)}, false))"
    if node.kind == "inner":
        step = where(step, holds, ctx, "matched")
    padded = [(c, c if i < n else f"IF({holds}, {c}, NULL)") for i, c in enumerate(columns)]
    if once:
        step = select(step, padded, ctx, "as_of_rows")
    elif here.form.kind == "delta":
        step = select(step, [*padded, (WEIGHT, WEIGHT)], ctx, "as_of_rows")
    else:
        copies = [("__copies", "array_repeat(named_struct('one', 1), CAST(__copies AS INT))")]
        step = select(step, [*padded, *copies], ctx, "as_of_rows")
        step = explode(step, [(c, c) for c in columns], ("__copies", ("__one",)), ctx, "copies")
    return plain(Rel(step, columns, (*sides.left.fields, *sides.right.fields), here.form.kind), ctx, here)


@lowers(LookupJoin)
def lower_lookup_join(node: LookupJoin, ctx: Lowering, here: Physical) -> Rel:
    """Lower a lookup join: the table is read anew with every batch, as a finished relation."""
    (left,) = inputs(here, ctx)
    if is_made(node.table):
        return lookup_made(node, left, ctx)
    streaming, ctx.streaming = ctx.streaming, False
    try:
        right = lower_node(decide(node.table, PLAIN, How())[0], ctx)
    finally:
        ctx.streaming = streaming
    n = len(left.fields)
    names = names_of(node.fields)
    one = select(left.step, [*((c, left.sql(i)) for i, c in enumerate(names[:n])), *_reserved(left)], ctx, "stream")
    added = [(f"__t{i}", right.sql(i)) for i in range(len(right.fields))]
    two = select(right.step, added, ctx, "looked_up")
    columns = (*names[:n], *(c for c, _ in added))
    on = condition_to_spark(node.condition, columns, ctx.zone)
    name, note = ctx.fresh("lookup_join"), "LookupJoin: the table as this batch finds it"
    step = ctx.add(JoinStep(name=name, left=one, right=two, on=on, how=HOW[node.kind], note=note)).name
    named = [*zip(names, map(quote, columns), strict=True), *_reserved(left)]
    fields = carried(node.fields, left.with_(fields=(*left.fields, *right.fields)))
    return left.with_(step=select(step, named, ctx, "with_lookup"), columns=names, fields=fields)


def _reserved(rel: Rel) -> list[Named]:
    return [(c, quote(c)) for c in rel.reserved if c != AFTER]
