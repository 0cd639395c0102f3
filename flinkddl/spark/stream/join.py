"""Regular joins.

- Both sides append, inner, with equalities: Spark's stream-stream join; its state is the rows, as in Flink.
- Otherwise ``flinkddl.retract_<kind>``: both sides in one GROUP BY over the join key, each as a multiset of its live
  rows; the change of the join comes out. State follows live rows, whatever the number of updates.
- ``flinkddl.join.strategy = bilinear``: inner joins of deltas as Spark's stream-stream join with ``w = wl * wr``; state
  keeps every change.

A condition beyond the equalities is a filter above an inner join. For the other kinds it decides what matches: the
matching pairs are counted per row in a second operator (``presence``), which adds the rows that match nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from flinkddl.plan.nodes import Join
from flinkddl.plan.rex import Call, InputRef, conjunction, conjuncts
from flinkddl.spark.base import Want, extend, names_of, select, where
from flinkddl.spark.context import SEQUENCE, WEIGHT, WINDOW, Rel
from flinkddl.spark.expressions import condition_to_spark
from flinkddl.spark.job import JoinStep, StateCall, UnionAll
from flinkddl.spark.rowtime import is_rowtime, untimed
from flinkddl.spark.stream.base import explode, group, lower_node, lowers, members, struct
from flinkddl.spark.stream.kinds import KEY, arrival, family, single, to_delta, weight
from flinkddl.spark.stream.ttl import hinted_ttl, must_forget
from flinkddl.sqltypes import quote, spark_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flinkddl.plan.nodes import Field, JoinKind
    from flinkddl.plan.rex import Rex
    from flinkddl.spark.context import Lowering
    from flinkddl.spark.job import Named
    from flinkddl.sqltypes import DataType


@lowers(Join)
def lower_join(node: Join, ctx: Lowering, want: Want) -> Rel:
    """Lower a regular join by the kinds of its inputs."""
    left = to_delta(lower_node(node.left, ctx), ctx)
    right = to_delta(lower_node(node.right, ctx), ctx)
    return join(left, right, node, ctx, want)


def join(left: Rel, right: Rel, node: Join, ctx: Lowering, want: Want) -> Rel:
    """Join two relations of kind ``append`` or ``delta``."""
    keys = () if node.null_aware else node.keys
    safe = node.null_safe if keys else ()
    rest = residual(node.condition, keys, len(left.fields))
    appends = left.kind == right.kind == "append"
    bilinear = ctx.config.flinkddl_join_strategy == "BILINEAR"
    if node.kind == "inner" and keys and (appends or bilinear) and not must_forget(ctx, *node.ttl, span=node.span):
        out = native(left, right, keys, ctx, safe)
    elif rest is None:
        out = multiset(left, right, node.kind, keys, ctx, node.ttl, safe=safe)
        return grown(plain(out, node, ctx, want), appends, node.kind, ctx)
    else:
        out = multiset(left, right, "inner", keys, ctx, node.ttl, safe=safe)
    if rest is not None:
        out = out.with_(step=_matching(out, rest, node, ctx))
    if node.kind != "inner":
        out = presence(left, right, out, node.kind, ctx, node.ttl)
    return grown(plain(out, node, ctx, want), appends, node.kind, ctx)


def grown(rel: Rel, appends: bool, kind: JoinKind, ctx: Lowering) -> Rel:
    """Inner and semi joins of append rows never take a row back: their result is append, as in Flink."""
    return single(rel, ctx) if appends and kind in ("inner", "semi") else rel


def residual(condition: Rex, keys: Sequence[tuple[int, int]], left: int) -> Rex | None:
    """Return what the condition says beyond the key equalities; None when nothing."""
    pairs = {(a, b + left) for a, b in keys}

    def is_key(c: Rex) -> bool:
        match c:
            case Call(function="=" | "IS NOT DISTINCT FROM", args=(InputRef(index=a), InputRef(index=b))):
                return (a, b) in pairs or (b, a) in pairs
        return False

    rest = tuple(c for c in conjuncts(condition) if not is_key(c) and not _is_true(c))
    return conjunction(rest) if rest else None


def _is_true(c: Rex) -> bool:
    return getattr(c, "value", None) is True


def _matching(out: Rel, rest: Rex, node: Join, ctx: Lowering) -> str:
    text = condition_to_spark(rest, out.columns, ctx.zone)
    # NOT IN: a comparison with NULL is unknown, and unknown keeps the row out
    text = f"coalesce({text}, true)" if node.null_aware else text
    return where(out.step, text, ctx, "join_condition", "Join: condition beyond the equalities")


def plain(rel: Rel, node: Join, ctx: Lowering, want: Want) -> Rel:
    """Give the result the node's names and, where asked for, a sequence."""
    fields = tuple(replace(f, type=have.type) for f, have in zip(node.fields, rel.fields, strict=True))
    columns = names_of(fields)
    named: list[Named] = list(zip(columns, map(quote, rel.columns[: len(fields)]), strict=True))
    named += [(WEIGHT, WEIGHT)] * (rel.kind == "delta")
    named += [(SEQUENCE, arrival(rel))] * want.sequence + [(WINDOW, WINDOW)] * rel.windowed
    step = select(rel.step, named, ctx, "joined")
    return rel.with_(step=step, columns=columns, fields=fields, sequence=want.sequence)


def sides(left: Rel, right: Rel, ctx: Lowering) -> tuple[Rel, Rel]:
    """Rename both sides so that no column is in both, without watermarks on plain values."""
    out = []
    for letter, rel in (("l", left), ("r", right)):
        columns = tuple(f"__{letter}{i}" for i in range(len(rel.fields)))
        named: list[Named] = list(zip(columns, map(quote, rel.columns), strict=True))
        named += [(f"__w{letter}", WEIGHT)] * (rel.kind == "delta")
        step = select(rel.step, named, ctx, {"l": "left", "r": "right"}[letter])
        out.append(rel.with_(step=step, columns=columns))
    return out[0], out[1]


def native(left: Rel, right: Rel, keys: Sequence[tuple[int, int]], ctx: Lowering, safe: Sequence[bool] = ()) -> Rel:
    """Spark's own stream-stream inner join; over deltas the weights multiply."""
    one, two = sides(left, right, ctx)
    on = " AND ".join(_equal(one, two, a, b, *safe[i : i + 1]) for i, (a, b) in enumerate(keys))
    step = ctx.add(
        JoinStep(
            name=ctx.fresh("join"),
            left=one.step,
            right=two.step,
            on=on,
            how="inner",
            keeps="for ever",
            note="Join, Spark's own",
        )
    ).name
    rel = Rel(step, (*one.columns, *two.columns), (*one.fields, *two.fields))
    if left.kind == right.kind == "append":
        return rel
    weights = [f"__w{s}" for s, side in (("l", left), ("r", right)) if side.kind == "delta"]
    rel = rel.with_(step=extend(rel, [(WEIGHT, " * ".join(weights))], ctx, "weights"))
    return rel.with_(kind="delta")


def _equal(left: Rel, right: Rel, a: int, b: int, null_safe: bool = False) -> str:
    own, other = left.fields[a].type, right.fields[b].type
    return f"{common(left.sql(a), own, other)} {'<=>' if null_safe else '='} {common(right.sql(b), other, own)}"


def multiset(
    left: Rel,
    right: Rel,
    kind: JoinKind,
    keys: Sequence[tuple[int, int]],
    ctx: Lowering,
    ttl: tuple[int | None, int | None] = (None, None),
    windowed: bool = False,
    safe: Sequence[bool] = (),
) -> Rel:
    """Both sides in one group per key; gives ``__l*`` and ``__r*`` columns with weights.

    ``safe`` says for each key whether NULL equals NULL in it.
    """
    if kind == "right":
        out = multiset(right, left, "left", [(b, a) for a, b in keys], ctx, ttl[::-1], windowed, safe)
        n = len(right.fields)
        columns, fields = out.columns, out.fields
        return out.with_(columns=(*columns[n:], *columns[:n]), fields=(*fields[n:], *fields[:n]))
    window = [(WINDOW, WINDOW)] * windowed
    step = _tagged(left, right, keys, ctx, windowed, safe)
    named = [*window, *((f"{KEY}{i}", f"{KEY}{i}") for i in range(max(1, len(keys)))), ("__salt", "__salt")]
    call = StateCall(family(ctx), kind, ("__w", "__match", "__l", "__r"), hinted_ttl(ctx, *ttl))
    step = group(step, named, [("__rows", call)], ctx, f"{kind}_join", f"Join {kind}: live rows of both sides per key")
    step = explode(step, window, "__rows", ("__a", "__b", WEIGHT), ctx, "pairs")
    nl, nr = len(left.fields), 0 if kind in ("semi", "anti") else len(right.fields)
    columns = (*(f"__l{i}" for i in range(nl)), *(f"__r{i}" for i in range(nr)))
    values = (*members("__a", nl), *members("__b", nr))
    step = select(step, [*zip(columns, values, strict=True), (WEIGHT, WEIGHT), *window], ctx, "rows")
    fields = (*left.fields, *right.fields[:nr])
    return Rel(step, columns, fields, "delta", windowed=windowed)


def _tagged(
    left: Rel,
    right: Rel,
    keys: Sequence[tuple[int, int]],
    ctx: Lowering,
    windowed: bool,
    safe: Sequence[bool],
) -> str:
    """UNION ALL of both sides as (key columns, salt, matchable, weight, l struct, r struct)."""
    types = [struct_type(left.fields), struct_type(right.fields)]
    parts = []
    for side, rel in enumerate((left, right)):
        own = [rel.sql(k[side]) for k in keys]
        other = [(left, right)[1 - side].fields[k[1 - side]].type for k in keys]
        mine = [rel.fields[k[side]].type for k in keys]
        tested = [k for i, k in enumerate(own) if not any(safe[i : i + 1])]
        match = " AND ".join(f"{k} IS NOT NULL" for k in tested) or "true"
        row = struct(map(quote, rel.columns))
        rows = [f"CAST(NULL AS {types[0]})", f"CAST(NULL AS {types[1]})"]
        rows[side] = f"CAST({row} AS {types[side]})"
        # rows that can match nothing are spread: they share no state
        salt = f"IF({match}, 0L, xxhash64({row}))" if own else "0L"
        named: list[Named] = [
            (f"{KEY}{i}", common(sql, a, b)) for i, (sql, a, b) in enumerate(zip(own, mine, other, strict=True))
        ] or [(f"{KEY}0", "0")]
        named += [("__salt", salt), ("__match", match), ("__w", weight(rel)), ("__l", rows[0]), ("__r", rows[1])]
        named += [(WINDOW, WINDOW)] * windowed
        parts.append(select(rel.step, named, ctx, ("left", "right")[side]))
    return ctx.add(UnionAll(name=ctx.fresh("both_sides"), parts=tuple(parts), note="Join: both sides by key")).name


def struct_type(fields: Sequence[Field]) -> str:
    """Return the Spark type of a row as ``struct`` makes it."""
    items = ", ".join(f"c{i}: {spark_type(f.type)}" for i, f in enumerate(fields))
    return f"STRUCT<{items}>" if items else "STRUCT<none: BOOLEAN>"


def common(sql: str, own: DataType, other: DataType) -> str:
    """Return a join key in the type that both sides share; a rowtime is its plain timestamp."""
    sql = untimed(sql, own)
    a, b = spark_type(own.as_attribute(None)), spark_type(other.as_attribute(None))
    if a == b or "DECIMAL" in a + b:
        return f"CAST({sql} AS DECIMAL(38,10))" if a != b else sql
    order = ["TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE"]
    if a in order and b in order:
        return f"CAST({sql} AS {max(a, b, key=order.index)})"
    return sql


def presence(
    left: Rel,
    right: Rel,
    pairs: Rel,
    kind: JoinKind,
    ctx: Lowering,
    ttl: tuple[int | None, int | None] = (None, None),
) -> Rel:
    """Outer, semi and anti joins from their matching pairs: rows of a side counted against their matches."""
    nl, nr = len(left.fields), len(right.fields)
    if kind in ("semi", "anti"):
        return _lonely(left, pairs, range(nl), kind == "semi", (), ctx, ttl[0])
    parts = [pairs if pairs.kind == "delta" else pairs.with_(step=extend(pairs, [(WEIGHT, "1")], ctx, "weighted"))]
    if kind in ("left", "full"):
        pad = [f"CAST(NULL AS {spark_type(f.type)})" for f in right.fields]
        parts.append(_lonely(left, pairs, range(nl), False, ((), pad), ctx, ttl[0]))
    if kind in ("right", "full"):
        pad = [f"CAST(NULL AS {spark_type(f.type)})" for f in left.fields]
        parts.append(_lonely(right, pairs, range(nl, nl + nr), False, (pad, ()), ctx, ttl[1]))
    names = [f"__c{i}" for i in range(nl + nr)]
    tail = [(WEIGHT, f"CAST({WEIGHT} AS BIGINT)"), *((WINDOW, WINDOW),) * pairs.windowed]
    steps = [select(p.step, [*zip(names, map(quote, p.columns), strict=True), *tail], ctx, "part") for p in parts]
    step = ctx.add(UnionAll(name=ctx.fresh("outer_join"), parts=tuple(steps), note="Join: pairs and padded rows")).name
    return Rel(step, tuple(names), (*left.fields, *right.fields), "delta", windowed=pairs.windowed)


def _lonely(
    side: Rel,
    pairs: Rel,
    places: range,
    matched: bool,
    pads: Sequence[Sequence[str]],
    ctx: Lowering,
    ttl: int | None = None,
) -> Rel:
    """Rows of a side that have matches (``matched``) or have none, padded: counts per row, then their change."""
    names = [f"__v{i}" for i in range(len(places))]
    window = [(WINDOW, WINDOW)] * pairs.windowed
    own = [*zip(names, map(quote, side.columns), strict=True), ("__m", weight(side)), ("__j", "0L"), *window]
    hit = [
        *zip(names, (quote(pairs.columns[i]) for i in places), strict=True),
        ("__m", "0L"),
        ("__j", weight(pairs)),
        *window,
    ]
    union = UnionAll(
        name=ctx.fresh("matches"),
        parts=(select(side.step, own, ctx, "own"), select(pairs.step, hit, ctx, "hits")),
        note="Join: each row beside its matches",
    )
    step = ctx.add(union).name
    plain = [(n, untimed(n, f.type)) for n, f in zip(names, side.fields, strict=True)]
    # weight 1: the group itself never vanishes, its two sums say everything
    sums = ("1L", "0L", "named_struct('sum:0', __m, 'sum:1', __j)")
    counts = StateCall(family(ctx), "aggregate", sums, hinted_ttl(ctx, ttl))
    step = group(step, [*window, *plain], [("__pair", counts)], ctx, "presence", "Join: rows and their matches")
    step = where(step, "__pair IS NOT NULL", ctx, "touched")

    def alive(which: str) -> str:
        hits = f"coalesce(__pair.{which}.`sum:1`, 0L)"
        return f"IF({hits} {'!=' if matched else '='} 0L, coalesce(__pair.{which}.`sum:0`, 0L), 0L)"

    kept = [
        (n, f"CAST({n} AS {spark_type(f.type)})" if is_rowtime(f.type) else n)
        for n, f in zip(names, side.fields, strict=True)
    ]
    step = select(step, [*kept, (WEIGHT, f"{alive('n')} - {alive('o')}"), *window], ctx, "change")
    step = where(step, f"{WEIGHT} != 0", ctx, "changed")
    before, after = pads or ((), ())
    columns = (*(f"__p{i}" for i in range(len(before))), *names, *(f"__q{i}" for i in range(len(after))))
    named = [*zip(columns, (*before, *names, *after), strict=True), (WEIGHT, WEIGHT), *window]
    return Rel(select(step, named, ctx, "padded"), columns, side.fields, "delta", windowed=pairs.windowed)
