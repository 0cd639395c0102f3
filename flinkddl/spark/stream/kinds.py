"""Conversions between the kinds of relations, as the planner places them.

- ``append`` to ``delta``: weight 1.
- ``upsert`` to ``images`` (Flink's ChangelogNormalize): ``flinkddl.retract_latest`` keeps the newest row per key, of a
  table the columns that are read, and knows the one it gave out before; an update that changes nothing gives nothing.
- ``images`` to ``delta``: the old row with weight -1, the new one with 1.
- ``images`` to ``upsert``: the new row, or a deletion where there is none. No state.
- ``delta`` to ``images`` by a sink's key (Flink's SinkUpsertMaterializer): the last row of that key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.functions.core import string
from flinkddl.plan.stateforms import BLENDS, NARROWS
from flinkddl.spark.base import extend, group, names_of, same, select, where
from flinkddl.spark.context import AFTER, BEFORE, DELETED, SEQUENCE, UNTOLD, VERSION, WEIGHT, Rel
from flinkddl.spark.job import StateCall
from flinkddl.spark.stream.base import choose, explode, lower_node, members, struct, without_sequence
from flinkddl.sqltypes import Root, comparable, quote, spark_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from flinkddl.plan.decoded import Parts
    from flinkddl.plan.nodes import Field
    from flinkddl.plan.physical import Physical
    from flinkddl.spark.context import Lowering
    from flinkddl.spark.job import Family, Named
    from flinkddl.sqltypes import DataType

IMAGES = "__pair"
KEY = "__key"
TURN = "__turn"
BY_TURN = "CAST(NULL AS BIGINT)"
"""``UNTOLD`` as a sink of a chain has always had it, whose checkpoints know it so."""
ONE_GROUP: list[Named] = [(f"{KEY}0", "0")]
"""The key of a GROUP BY without keys: a constant keeps it out of Spark's global aggregate, a row for no input."""


def weight(rel: Rel) -> str:
    """Return the weight of a row as BIGINT text, for ``append`` and ``delta``."""
    return f"CAST({WEIGHT} AS BIGINT)" if rel.kind == "delta" else "1L"


def arrival(rel: Rel) -> str:
    """Return the arrival order of a row as BIGINT text; NULL where the relation has none.

    Of NULL an operator counts its groups' turns: in each batch such rows are later than all that came before.
    """
    return SEQUENCE if rel.sequence else UNTOLD


def in_turn(rel: Rel, ctx: Lowering) -> tuple[Rel, str]:
    """Give each change when it came, as BIGINT text: its arrival order, or NULL, for which the operator counts.

    Without a chain that is a column: once it was the micro-batch's time, and the checkpoint knows it by its name.
    """
    if rel.sequence:
        return rel, SEQUENCE
    if ctx.chain:
        return rel, BY_TURN
    return rel.with_(step=extend(rel, [(TURN, UNTOLD)], ctx, "in_turn")), TURN


def family(ctx: Lowering) -> Family:
    """Return which of our functions fit the output mode: changes, or all at once when a window fires."""
    return "final" if ctx.output_mode == "append" else "retract"


def inputs(here: Physical, ctx: Lowering) -> list[Rel]:
    """Lower the inputs of an operator that reads rows with weights."""
    return [to_delta(lower_node(i, ctx), ctx) for i in here.inputs]


def to_delta(rel: Rel, ctx: Lowering, *, many: bool = False) -> Rel:
    """Bring a relation to ``append`` or ``delta``: rows that operators with weights can read.

    ``many``: each of them becomes several next, which in a chain it cannot on one of two ways.
    """
    match rel.kind:
        case "append" | "delta":
            return rel
        case "upsert":
            return to_delta(normalise(rel, ctx), ctx, many=many)
    old = struct(map(quote, rel.before_columns))
    new = struct(map(quote, rel.columns))
    n = len(rel.fields)
    keep = _tail(rel)
    both = ((BEFORE, ("-1", old)), (AFTER, ("1", new)))
    told = ("changes", "old row taken back, new row given")
    rows = choose(rel.step, keep, (both, (WEIGHT, "__row")), ctx, told, parts=not (many and ctx.chain))
    columns = (*zip(rel.columns, members("__row", n), strict=True), (WEIGHT, WEIGHT), *keep)
    return rel.with_(step=select(rows, columns, ctx, "delta"), kind="delta")


def normalise(rel: Rel, ctx: Lowering) -> Rel:
    """Bring an ``upsert`` relation to ``images``: a row of a later batch is newer, whatever its version.

    What others are made of, too, is normalised once, before it is projected and with its order of arrival.
    """
    if rel in ctx.newest:
        return ctx.newest[rel]
    if rel in ctx.whole:
        return without_sequence(normalise(ctx.whole[rel], ctx), ctx)
    if rel.step in ctx.later:
        ctx.used.add(BLENDS)
        ctx.newest[rel] = ctx.later[rel.step]().with_(fields=rel.fields, key=rel.key)
        return ctx.newest[rel]
    told, first, kept = ("normalise", "ChangelogNormalize: newest row per key"), len(ctx.steps), _kept(rel, ctx)
    change = (DELETED, f"named_struct('arrived', {VERSION})")
    step = newest(_picked(rel, kept, ctx), keyed(rel, rel.key), change, ctx, told, kept.values())
    order = f"{IMAGES}.s.arrived" if rel.sequence else None
    images = unpack(step, rel.fields, ctx, rel.key, order, list(kept))
    if ctx.merged:
        ctx.newest[rel] = images
    for made in ctx.steps[first:] if rel in ctx.tables else ():  # not of the place that needs them first
        ctx.owners[made.name] = ctx.tables[rel]
    return images


def _kept(rel: Rel, ctx: Lowering) -> dict[int, str]:
    """Return what is kept of a row, by the places of its fields: all that is there, of a table what is read of it."""
    parts = ctx.narrow.get(rel.step)
    if parts is None:
        return {i: rel.sql(i) for i in range(len(rel.fields))}
    ctx.used.add(NARROWS)
    there = ((i, f) for i, f in enumerate(rel.fields) if f.name in parts)
    return {i: _part(rel.sql(i), f.type, parts[f.name]) for i, f in there}


def _picked(rel: Rel, kept: Iterable[int], ctx: Lowering) -> Rel:
    """Leave columns out that are not kept: of a projection to the others each step is the same, and in a chain one."""
    columns = [rel.columns[i] for i in kept]
    if len(columns) == len(rel.columns):
        return rel
    return rel.with_(step=select(rel.step, same((*columns, *rel.reserved)), ctx, "read"))


def _part(value: str, type: DataType, parts: Parts | None) -> str:
    """Return a value with the fields inside it that are read; without the others, not even as NULL."""
    if parts is None or type.root is not Root.ROW:
        return value
    inside = [
        (f.name, _part(f"{value}.{quote(f.name)}", f.type, parts[f.name])) for f in type.fields if f.name in parts
    ]
    items = ", ".join(f"{string(name)}, {sql}" for name, sql in inside)
    return f"IF({value} IS NULL, NULL, named_struct({items}))"


def keyed(rel: Rel, key: tuple[int, ...]) -> list[Named]:
    """Return the columns of a key."""
    return [(f"{KEY}{i}", rel.sql(k)) for i, k in enumerate(key)]


def newest(
    rel: Rel,
    by: Sequence[Named],
    change: tuple[str, str],
    ctx: Lowering,
    told: tuple[str, str],
    row: Iterable[str] | None = None,
) -> str:
    """Add the GROUP BY that keeps the newest row of each key; ``change``: texts of whether it is gone, its version.

    ``told`` are the prefix of the step's name and its note; ``row`` is what of a row is kept, by default all of it.
    """
    entry = f"named_struct('o', {change[1]}, 'r', {struct(map(quote, rel.columns) if row is None else row)})"
    return group(rel.step, by, [(IMAGES, StateCall("retract", "latest", (change[0], entry)))], ctx, *told)


def unpack(
    step: str,
    fields: tuple[Field, ...],
    ctx: Lowering,
    key: tuple[int, ...],
    sequence: str | None = None,
    there: Sequence[int] | None = None,
) -> Rel:
    """Turn a ``IMAGES`` column STRUCT<o: row, n: row> into a ``images`` relation; drops keys without a change.

    ``there`` are the fields that its rows have, by default all; nobody reads the others.
    """
    step = where(step, f"{IMAGES} IS NOT NULL", ctx, "changed")
    columns = names_of(fields)
    rel = Rel(step, columns, fields, "images", key, sequence is not None)
    places = {i: n for n, i in enumerate(range(len(fields)) if there is None else there)}

    def row(which: str) -> list[str]:
        values = members(f"{IMAGES}.{which}", len(places))
        nulls = (f"CAST(NULL AS {spark_type(f.type)})" for f in fields)
        return [values[places[i]] if i in places else null for i, null in enumerate(nulls)]

    named: list[Named] = list(zip(columns, row("n"), strict=True))
    named += zip(rel.before_columns, row("o"), strict=True)
    named += [(BEFORE, f"{IMAGES}.o IS NOT NULL"), (AFTER, f"{IMAGES}.n IS NOT NULL")]
    named += [(SEQUENCE, sequence)] if sequence else []
    return rel.with_(step=select(step, named, ctx, "pair"))


def drop_unchanged(rel: Rel, ctx: Lowering, note: str = "") -> Rel:
    """Drop pairs whose old and new row are equal, or where neither is there."""
    if not all(comparable(f.type) for f in rel.fields):
        return rel.with_(step=where(rel.step, f"{BEFORE} OR {AFTER}", ctx, "changed", note))
    pairs = zip(rel.before_columns, rel.columns, strict=True)
    equal = " AND ".join(f"{quote(o)} <=> {quote(n)}" for o, n in pairs) or "true"
    condition = f"({BEFORE} OR {AFTER}) AND NOT ({BEFORE} AND {AFTER} AND {equal})"
    return rel.with_(step=where(rel.step, condition, ctx, "changed", note))


def to_upsert(rel: Rel, ctx: Lowering) -> Rel:
    """Bring a ``images`` relation to ``upsert``: one record per change, and no more than one per key and batch."""
    n = len(rel.fields)
    row = f"IF({AFTER}, {struct(map(quote, rel.columns))}, {struct(map(quote, rel.before_columns))})"
    step = select(rel.step, [("__row", row), (DELETED, f"NOT {AFTER}"), *_tail(rel)], ctx, "record")
    record = [(VERSION, SEQUENCE if rel.sequence else "0L"), (DELETED, DELETED), *_tail(rel)]
    columns = [*zip(rel.columns, members("__row", n), strict=True), *record]
    return rel.with_(step=select(step, columns, ctx, "upsert"), kind="upsert")


def _tail(rel: Rel) -> list[Named]:
    return list(same(c for c in rel.reserved if c not in (BEFORE, AFTER)))


def to_images(rel: Rel, key: tuple[int, ...], ctx: Lowering) -> Rel:
    """Bring any relation to ``images`` by a key: the row that came last among the live ones of that key.

    Of changes without an order of arrival those of a later batch came later.
    """
    if rel.kind == "upsert" and set(rel.key) == set(key):
        return normalise(rel, ctx)
    rel, order = in_turn(to_delta(rel, ctx), ctx)
    row = struct(map(quote, rel.columns))
    calls = f"named_struct('last:0', named_struct('v', {row}))"
    latest = StateCall("retract", "aggregate", (weight(rel), order, calls))
    note = "SinkUpsertMaterializer: last row per key"
    step = group(rel.step, keyed(rel, key), [(IMAGES, latest)], ctx, "materialise", note)
    step = where(step, f"{IMAGES} IS NOT NULL", ctx, "changed")
    bare = f"named_struct('o', {IMAGES}.o.`last:0`, 'n', {IMAGES}.n.`last:0`, 's', {IMAGES}.s)"
    step = select(step, [(IMAGES, bare)], ctx, "last")
    return unpack(step, rel.fields, ctx, key, f"{IMAGES}.s" if rel.sequence else None)


def last_changes(rel: Rel, key: tuple[int, ...], ctx: Lowering) -> Rel:
    """Bring any relation to ``images`` by a key on which its rows race: the last change of a key says what it is.

    Flink without SinkUpsertMaterializer: a row that leaves a key deletes it, even where another row has it too.
    """
    rel = weighted(to_delta(rel, ctx), ctx)
    change = (f"{WEIGHT} < 0", f"named_struct('arrived', {arrival(rel)}, 'a1', {weight(rel)})")
    told = ("last_change", "sink without materializer: last change per key")
    return unpack(newest(rel, keyed(rel, key), change, ctx, told), rel.fields, ctx, key)


def first_rows(rel: Rel, key: tuple[int, ...], ctx: Lowering, *, unequal_fails: bool) -> Rel:
    """Bring append rows to ``images`` by a sink's key: the row that came first stays (ON CONFLICT DO NOTHING).

    ``unequal_fails`` (DO ERROR): another row of the same key fails the job.
    """
    keys, note = keyed(rel, key), f"sink: ON CONFLICT DO {'ERROR' if unequal_fails else 'NOTHING'}"
    if not unequal_fails:
        change = ("false", f"named_struct('darrived', {arrival(rel)})")
        return unpack(newest(rel, keys, change, ctx, ("first", note)), rel.fields, ctx, key)
    rows = f"named_struct('darray:0', named_struct('v', {struct(map(quote, rel.columns))}))"
    call = StateCall("retract", "aggregate", ("1L", arrival(rel), rows))
    step = where(group(rel.step, keys, [(IMAGES, call)], ctx, "first", note), f"{IMAGES} IS NOT NULL", ctx, "changed")
    text = "Primary key constraint violation: multiple distinct records with the same primary key detected"
    one = f"IF(size({IMAGES}.n.`darray:0`) > 1, raise_error('{text}'), get({IMAGES}.n.`darray:0`, 0))"
    bare = f"named_struct('o', get({IMAGES}.o.`darray:0`, 0), 'n', {one})"
    return unpack(select(step, [(IMAGES, bare)], ctx, "only"), rel.fields, ctx, key)


def weighted(rel: Rel, ctx: Lowering) -> Rel:
    """Bring an ``append`` or ``delta`` relation to ``delta``."""
    if rel.kind == "delta":
        return rel
    return rel.with_(step=extend(rel, [(WEIGHT, "1")], ctx, "weighted"), kind="delta")


def single(rel: Rel, ctx: Lowering) -> Rel:
    """Bring a relation whose weights are all positive, as in append mode, to ``append``: a row per unit of weight."""
    if rel.kind != "delta":
        return rel
    keep = [(c, quote(c)) for c in rel.reserved if c != WEIGHT]
    copies = f"array_repeat({struct(map(quote, rel.columns))}, CAST({WEIGHT} AS INT))"
    out = rel.with_(kind="append")
    return out.with_(step=explode(rel.step, keep, (copies, rel.columns), ctx, "copies"))
