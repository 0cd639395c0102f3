"""Regular joins.

- Both sides append, inner, with equalities, and not by key: Spark's stream-stream join; its state is the rows.
- Otherwise ``flinkddl.retract_<kind>``: both sides in one GROUP BY over the join key, each as a multiset of its live
  rows; the change of the join comes out. State follows live rows, whatever the number of updates.
- Two ways of one table that meet: the same, so that the table is read once (``plan/sharing.py``).
- ``flinkddl.join.strategy = bilinear``: inner joins of deltas as Spark's stream-stream join with ``w = wl * wr``; state
  keeps every change.

A condition beyond the equalities is a filter above an inner join. For the other kinds it decides what matches: by key
the join tests it itself and counts each row's matches (``stage_<kind>if``). Otherwise the matching pairs are counted
per row in a second operator (``padding``), which adds the rows that match nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.plan.conditions import deterministic
from flinkddl.plan.nodes import Join
from flinkddl.plan.rex import Call, InputRef, all_of, conjuncts
from flinkddl.plan.stateforms import INSIDE, PAIRS
from flinkddl.spark.base import carried, extend, group, names_of, select, where
from flinkddl.spark.context import SEQUENCE, WEIGHT, WINDOW, Rel
from flinkddl.spark.expressions import Place, condition_to_spark, user_functions
from flinkddl.spark.job import JoinStep, StateCall, UnionAll, flows
from flinkddl.spark.rowtime import is_rowtime, untimed
from flinkddl.spark.stream.base import explode, lowers, members, struct
from flinkddl.spark.stream.fanout import united
from flinkddl.spark.stream.fires import TIME, Within
from flinkddl.spark.stream.kinds import KEY, arrival, family, inputs, single, weight, weighted
from flinkddl.spark.ttl import hinted_ttl, must_forget
from flinkddl.sqltypes import comparable, quote, spark_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flinkddl.plan.nodes import Field, IntervalJoin, JoinKind, Node, WindowJoin
    from flinkddl.plan.physical import Physical
    from flinkddl.plan.rex import Rex
    from flinkddl.spark.context import Lowering
    from flinkddl.spark.job import Named
    from flinkddl.spark.stream.fires import Fires
    from flinkddl.sqltypes import DataType

PAIR = "__pair"


@dataclass(frozen=True)
class Sides:
    """Two relations of kind ``append`` or ``delta``, and the equalities (left, right) that pair their rows.

    ``safe`` says for each of them whether NULL equals NULL in it; ``ttl`` are hints in ms; ``windowed``: the rows of
    each window for themselves, once; ``fires``: so in a chain, with timers of its own.
    """

    left: Rel
    right: Rel
    keys: Sequence[tuple[int, int]]
    safe: Sequence[bool] = ()
    ttl: tuple[int | None, int | None] = (None, None)
    windowed: bool = False
    fires: Fires | Within | None = None

    @property
    def both(self) -> tuple[Rel, Rel]:
        """Left, right."""
        return self.left, self.right

    @property
    def append(self) -> bool:
        """Whether neither takes rows back."""
        return self.left.kind == self.right.kind == "append"

    @property
    def window(self) -> list[Named]:
        """The window that rows carry along."""
        return [(WINDOW, WINDOW)] * self.windowed

    @property
    def turned(self) -> Sides:
        """The same with right as left."""
        keys, fires = [(b, a) for a, b in self.keys], self.fires and self.fires.turned
        return replace(self, left=self.right, right=self.left, keys=keys, ttl=self.ttl[::-1], fires=fires)


@lowers(Join)
def lower_join(node: Join, ctx: Lowering, here: Physical) -> Rel:
    """Lower a regular join by the kinds of its inputs."""
    keys = () if node.null_aware else node.keys
    left, right = inputs(here, ctx)
    return join(Sides(left, right, keys, node.null_safe if keys else (), node.ttl), node, ctx, here)


def join(sides: Sides, node: Join | IntervalJoin | WindowJoin, ctx: Lowering, here: Physical) -> Rel:
    """Join two relations, blind to time; what is planned as append has no row that is taken back."""
    rest = residual(node.condition, sides.keys, len(sides.left.fields))
    bilinear = ctx.config.flinkddl_join_strategy == "BILINEAR"
    inside = rest is not None and node.kind != "inner" and _tests(rest, sides, ctx)
    own = node.kind == "inner" and bool(sides.keys) and (sides.append or bilinear)
    own = own and not (sides.windowed or here.shares or ctx.chain) and not must_forget(ctx, *sides.ttl, span=node.span)
    if own and here.paired and not bilinear and _both_flow(sides, ctx):
        ctx.used.add(PAIRS)
        own = False
    if own:
        out = native(sides, ctx)
    elif rest is not None and inside:
        ctx.used |= set() if sides.fires else {INSIDE}
        out = multiset(sides, node.kind, ctx, _marked(sides, node, rest, ctx))
    else:
        out = multiset(sides, node.kind if rest is None else "inner", ctx)
    if rest is not None and not inside:
        _refuse_counting(sides, node)
        text = _text(rest, out.columns, node, ctx)
        out = out.with_(step=where(out.step, text, ctx, "join_condition", "Join: condition beyond the equalities"))
        out = padding(sides, out, node.kind, ctx) if node.kind != "inner" else out
    out = plain(out, ctx, here)
    return single(out, ctx) if here.form.kind == "append" else out


def _both_flow(sides: Sides, ctx: Lowering) -> bool:
    """Whether both are streams: with a finished relation Spark's own join keeps nothing."""
    streams = flows(ctx.steps)
    return all(streams[rel.step] for rel in sides.both)


def _refuse_counting(sides: Sides, node: Join | IntervalJoin | WindowJoin) -> None:
    """Raise FD677 where rows that match nothing would have to be counted apart from when it fires."""
    if sides.fires is not None and node.kind != "inner":
        message = f"in a chain a {node.kind} join by time tests no Python functions, time of day or RAND()"
        raise FlinkDdlError.of("FD677", message, node.span, "compute it below the window")


def residual(condition: Rex, keys: Sequence[tuple[int, int]], left: int) -> Rex | None:
    """Return what the condition says beyond the key equalities; None when nothing."""
    pairs = {(a, b + left) for a, b in keys}

    def is_key(c: Rex) -> bool:
        match c:
            case Call(function="=" | "IS NOT DISTINCT FROM", args=(InputRef(index=a), InputRef(index=b))):
                return (a, b) in pairs or (b, a) in pairs
        return False

    rest = all_of(c for c in conjuncts(condition) if not is_key(c))
    return None if getattr(rest, "value", None) is True else rest


def _tests(rest: Rex, sides: Sides, ctx: Lowering) -> bool:
    """Whether the join can test a condition itself, which Python workers and the time of a batch are no part of."""
    by_key = INSIDE in ctx.newer and ctx.keyed and ctx.output_mode == "update" and not sides.windowed
    return by_key and deterministic(rest) and not user_functions(rest)


def _text(rest: Rex, columns: Sequence[str], node: Node, ctx: Lowering) -> str:
    text = condition_to_spark(rest, columns, ctx.zone)
    # NOT IN: a comparison with NULL is unknown, and unknown keeps the row out
    return f"coalesce({text}, true)" if isinstance(node, Join) and node.null_aware else text


def _marked(sides: Sides, node: Join | IntervalJoin | WindowJoin, rest: Rex, ctx: Lowering) -> str:
    """Return a condition as Condition.java takes it: over a variable of a lambda function, a struct of both rows."""
    letters = "rl" if node.kind == "right" else "lr"  # which is a left join of the sides turned
    both = list(zip(letters, (rel.fields for rel in sides.both), strict=True))
    places = [Place(f"{PAIR}.{letter}.c{i}") for letter, fields in both for i in range(len(fields))]
    types = ", ".join(f"{letter}: {struct_type(fields)}" for letter, fields in sorted(both, key=lambda b: b[0]))
    return f"exists(array(CAST(NULL AS STRUCT<{types}>)), {PAIR} -> {_text(rest, places, node, ctx)})"


def plain(rel: Rel, ctx: Lowering, here: Physical) -> Rel:
    """Give the result the node's names and, where asked for, a sequence."""
    fields = carried(here.node.fields, rel)
    columns = names_of(fields)
    named: list[Named] = list(zip(columns, map(quote, rel.columns[: len(fields)]), strict=True))
    named += [(WEIGHT, WEIGHT)] * (rel.kind == "delta")
    named += [(SEQUENCE, arrival(rel))] * here.asked.sequence + [(WINDOW, WINDOW)] * rel.windowed
    step = select(rel.step, named, ctx, "joined")
    return rel.with_(step=step, columns=columns, fields=fields, sequence=here.asked.sequence)


def renamed(sides: Sides, ctx: Lowering) -> tuple[Rel, Rel]:
    """Rename both sides so that no column is in both, without watermarks on plain values."""
    out = []
    for letter, rel in zip("lr", sides.both, strict=True):
        columns = tuple(f"__{letter}{i}" for i in range(len(rel.fields)))
        named: list[Named] = list(zip(columns, map(quote, rel.columns), strict=True))
        named += [(f"__w{letter}", WEIGHT)] * (rel.kind == "delta")
        step = select(rel.step, named, ctx, {"l": "left", "r": "right"}[letter])
        out.append(rel.with_(step=step, columns=columns))
    return out[0], out[1]


def native(sides: Sides, ctx: Lowering) -> Rel:
    """Spark's own stream-stream inner join; over deltas the weights multiply."""
    one, two = renamed(sides, ctx)
    on = " AND ".join(equal(one, two, a, b, *sides.safe[i : i + 1]) for i, (a, b) in enumerate(sides.keys))
    name, note = ctx.fresh("join"), "Join, Spark's own"
    ctx.add(JoinStep(name=name, left=one.step, right=two.step, on=on, how="inner", keeps="for ever", note=note))
    rel = Rel(name, (*one.columns, *two.columns), (*one.fields, *two.fields))
    if sides.append:
        return rel
    weights = [f"__w{s}" for s, side in zip("lr", sides.both, strict=True) if side.kind == "delta"]
    rel = rel.with_(step=extend(rel, [(WEIGHT, " * ".join(weights))], ctx, "weights"))
    return rel.with_(kind="delta")


def equal(left: Rel, right: Rel, a: int, b: int, null_safe: bool = False) -> str:
    """Return that two fields are equal."""
    own, other = left.fields[a].type, right.fields[b].type
    return f"{common(left.sql(a), own, other)} {'<=>' if null_safe else '='} {common(right.sql(b), other, own)}"


def multiset(sides: Sides, kind: JoinKind, ctx: Lowering, condition: str = "") -> Rel:
    """Both sides in one group per key; gives ``__l*`` and ``__r*`` columns with weights."""
    if kind == "right":
        out = multiset(sides.turned, "left", ctx, condition)
        n = len(sides.right.fields)
        columns, fields = out.columns, out.fields
        return out.with_(columns=(*columns[n:], *columns[:n]), fields=(*fields[n:], *fields[:n]))
    step = _tagged(sides, ctx)
    by = [(f"{KEY}{i}", f"{KEY}{i}") for i in range(max(1, len(sides.keys)))]
    args, what = ("__w", "__match", "__l", "__r"), f"{kind}if" if condition else kind
    call = StateCall(family(ctx), what, args, hinted_ttl(ctx, *sides.ttl), condition=condition)
    call = sides.fires.held(call) if sides.fires else call
    note = f"Join {kind}: live rows of both sides per key"
    step = group(step, [*sides.window, *by, ("__salt", "__salt")], [("__rows", call)], ctx, f"{kind}_join", note)
    step = explode(step, sides.window, ("__rows", ("__a", "__b", WEIGHT)), ctx, "pairs")
    nl, nr = len(sides.left.fields), 0 if kind in ("semi", "anti") else len(sides.right.fields)
    columns = (*(f"__l{i}" for i in range(nl)), *(f"__r{i}" for i in range(nr)))
    values = (*members("__a", nl), *members("__b", nr))
    step = select(step, [*zip(columns, values, strict=True), (WEIGHT, WEIGHT), *sides.window], ctx, "rows")
    return Rel(step, columns, (*sides.left.fields, *sides.right.fields[:nr]), "delta", windowed=sides.windowed)


def _tagged(sides: Sides, ctx: Lowering) -> str:
    """UNION ALL of both sides as (key columns, salt, matchable, weight, l struct, r struct)."""
    types = [struct_type(rel.fields) for rel in sides.both]
    parts = []
    for side, rel in enumerate(sides.both):
        own = [rel.sql(k[side]) for k in sides.keys]
        other = [sides.both[1 - side].fields[k[1 - side]].type for k in sides.keys]
        mine = [rel.fields[k[side]].type for k in sides.keys]
        tested = [k for i, k in enumerate(own) if not any(sides.safe[i : i + 1])]
        timed = sides.fires.times[side : side + 1] if isinstance(sides.fires, Within) else ()
        match = " AND ".join(f"{k} IS NOT NULL" for k in (*tested, *timed)) or "true"
        row = struct(map(quote, rel.columns))
        rows = [f"CAST(NULL AS {t})" for t in types]
        rows[side] = f"CAST({row} AS {types[side]})"
        # rows that can match nothing are spread: they share no state
        salt = f"IF({match}, 0L, {spread(rel)})" if own or timed else "0L"
        named: list[Named] = [
            (f"{KEY}{i}", common(sql, a, b)) for i, (sql, a, b) in enumerate(zip(own, mine, other, strict=True))
        ] or [(f"{KEY}0", "0")]
        named += [("__salt", salt), ("__match", match), ("__w", weight(rel)), ("__l", rows[0]), ("__r", rows[1])]
        named += [(TIME, t) for t in timed]
        parts.append(select(rel.step, [*named, *sides.window], ctx, ("left", "right")[side]))
    return united("both_sides", parts, "Join: both sides by key", ctx)


def spread(rel: Rel) -> str:
    """Return a number that is the same for equal rows; Spark has none for a MAP, a MULTISET or a VARIANT."""
    kept = [c for c, f in zip(rel.columns, rel.fields, strict=True) if comparable(f.type)]
    return f"xxhash64({struct(map(quote, kept))})"


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


def padding(sides: Sides, pairs: Rel, kind: JoinKind, ctx: Lowering) -> Rel:
    """Outer, semi and anti joins from their matching pairs: rows of a side counted against their matches."""
    if kind in ("semi", "anti"):
        return _by_matches(sides, 0, pairs, kind, ctx)
    parts = [weighted(pairs, ctx)]
    parts += [_by_matches(sides, n, pairs, kind, ctx) for n in (0, 1) if kind in (("left", "right")[n], "full")]
    fields = (*sides.left.fields, *sides.right.fields)
    names = [f"__c{i}" for i in range(len(fields))]
    tail = [(WEIGHT, f"CAST({WEIGHT} AS BIGINT)"), *sides.window]
    steps = [select(p.step, [*zip(names, map(quote, p.columns), strict=True), *tail], ctx, "part") for p in parts]
    step = ctx.add(UnionAll(name=ctx.fresh("outer_join"), parts=tuple(steps), note="Join: pairs and padded rows")).name
    return Rel(step, tuple(names), fields, "delta", windowed=sides.windowed)


def _by_matches(sides: Sides, n: int, pairs: Rel, kind: JoinKind, ctx: Lowering) -> Rel:
    """Rows of a side that have matches (semi) or have none, padded by an outer join: the change of their counts."""
    rel, other = sides.both[n], sides.both[1 - n]
    names = [f"__v{i}" for i in range(len(rel.fields))]

    def alive(which: str) -> str:
        hits = f"coalesce(__pair.{which}.`sum:1`, 0L)"
        return f"IF({hits} {'!=' if kind == 'semi' else '='} 0L, coalesce(__pair.{which}.`sum:0`, 0L), 0L)"

    kept = [
        (c, f"CAST({c} AS {spark_type(f.type)})" if is_rowtime(f.type) else c)
        for c, f in zip(names, rel.fields, strict=True)
    ]
    change = (WEIGHT, f"{alive('n')} - {alive('o')}")
    step = select(_match_counts(sides, n, pairs, names, ctx), [*kept, change, *sides.window], ctx, "change")
    step = where(step, f"{WEIGHT} != 0", ctx, "changed")
    nulls = [] if kind in ("semi", "anti") else [f"CAST(NULL AS {spark_type(f.type)})" for f in other.fields]
    pads = [(f"__{'qp'[n]}{i}", null) for i, null in enumerate(nulls)]
    named = [*pads, *((c, c) for c in names)] if n else [*((c, c) for c in names), *pads]
    step = select(step, [*named, (WEIGHT, WEIGHT), *sides.window], ctx, "padded")
    return Rel(step, tuple(c for c, _ in named), rel.fields, "delta", windowed=sides.windowed)


def _match_counts(sides: Sides, n: int, pairs: Rel, names: Sequence[str], ctx: Lowering) -> str:
    """Add the counts of each row of a side and of its matches, before and after, where one of them was touched."""
    rel = sides.both[n]
    first = n * len(sides.left.fields)
    own = [*zip(names, map(quote, rel.columns), strict=True), ("__m", weight(rel)), ("__j", "0L")]
    same = zip(names, map(quote, pairs.columns[first : first + len(names)]), strict=True)
    hits = [*same, ("__m", "0L"), ("__j", weight(pairs))]
    name, note = ctx.fresh("matches"), "Join: each row beside its matches"
    given = ((rel.step, own, "own"), (pairs.step, hits, "hits"))
    parts = tuple(select(step, [*named, *sides.window], ctx, prefix) for step, named, prefix in given)
    step = ctx.add(UnionAll(name=name, parts=parts, note=note)).name
    by = [*sides.window, *((c, untimed(c, f.type)) for c, f in zip(names, rel.fields, strict=True))]
    # weight 1: the group itself never vanishes, its two sums say everything
    sums = ("1L", "0L", "named_struct('sum:0', __m, 'sum:1', __j)")
    counts = StateCall(family(ctx), "aggregate", sums, hinted_ttl(ctx, sides.ttl[n]))
    step = group(step, by, [("__pair", counts)], ctx, "presence", "Join: rows and their matches")
    return where(step, "__pair IS NOT NULL", ctx, "touched")
