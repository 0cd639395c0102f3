"""GROUP BY: keys, grouping sets, group windows and aggregates of one SELECT become Project, Expand and Aggregate.

Every expression above the aggregate was resolved over the FROM clause; here each is matched against the keys, whole
expressions first. What is neither key nor aggregate is refused, as in Flink.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, product
from typing import TYPE_CHECKING

from sqlglot import exp

from flinkddl import sqltypes as T
from flinkddl.diagnostics import FlinkDdlError, each
from flinkddl.plan import make
from flinkddl.plan.builder import subqueries
from flinkddl.plan.builder.placeholders import (
    AggRef,
    GroupingRef,
    GroupWindowRef,
    SubqueryRef,
    WindowPropertyRef,
    rewrite,
)
from flinkddl.plan.nodes import Expand, Field, Window, WindowAggregate
from flinkddl.plan.rex import AggCall, Call, InputRef, Literal, OuterRef, Rex

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flinkddl.plan.builder.base import NameScope
    from flinkddl.plan.builder.placeholders import Parts
    from flinkddl.plan.nodes import Node

_SET = Field("$e", T.BIGINT.not_null())
_PROPERTY_NAMES = {"start": "window_start", "end": "window_end", "time": "rowtime", "proctime": "proctime"}


@dataclass(frozen=True)
class Keys:
    """The distinct key expressions and, per grouping set, the positions of its keys."""

    exprs: tuple[Rex, ...]
    sets: tuple[tuple[int, ...], ...]
    window: GroupWindowRef | None = None

    @property
    def simple(self) -> bool:
        """Whether there is one set of all keys."""
        return len(self.sets) == 1


def group(node: Node, tree: exp.Expression | None, parts: Parts, scope: NameScope) -> Node:
    """Aggregate ``node`` and rewrite ``parts`` over the result."""
    keys = _keys(tree, scope)
    node, calls = _inputs(node, keys, parts)
    if keys.window is not None:
        return _windowed(node, keys, keys.window, calls, parts)
    if keys.simple or not any(keys.sets):
        return _aggregate(node, keys, calls, parts)
    return _expanded(node, keys, calls, parts)


def look(tree: exp.Expression | None, scope: NameScope) -> None:
    """Resolve the keys of a GROUP BY clause for their mistakes alone. Raises FlinkDdlError with all of them."""
    inner = scope.within("GROUP BY")
    each([partial(_sets, e, inner, []) for e in (_elements(tree) if tree is not None else ())])


def has_keys(tree: exp.Expression | None) -> bool:
    """Whether a GROUP BY clause names any key at all; without one an aggregate may see no rows."""
    if tree is None:
        return False
    return any(not isinstance(e, exp.Tuple) or e.expressions for e in _elements(tree))


def _elements(tree: exp.Expression) -> list[exp.Expression]:
    elements = list(tree.expressions)
    for name in ("grouping_sets", "cube", "rollup"):
        extra = tree.args.get(name)
        elements += extra if isinstance(extra, list) else []
    return elements


# ---- keys --------------------------------------------------------------------------------------------------------


def _keys(tree: exp.Expression | None, scope: NameScope) -> Keys:
    if tree is None:
        return Keys((), ((),))
    inner = scope.within("GROUP BY")
    elements = _elements(tree)
    exprs: list[Rex] = []
    alternatives = [_sets(e, inner, exprs) for e in elements]
    sets = tuple(tuple(sorted({i for part in choice for i in part})) for choice in product(*alternatives))
    windows = [i for i, e in enumerate(exprs) if isinstance(e, GroupWindowRef)]
    if not windows:
        return Keys(tuple(exprs), sets)
    window = exprs[windows[0]]
    assert isinstance(window, GroupWindowRef)
    if len(windows) > 1 or len(sets) > 1:
        raise FlinkDdlError.of(
            "FD503",
            "a group window stands alone in GROUP BY, without a second one or grouping sets",
            window.span,
            "use the window table function TUMBLE(TABLE t, DESCRIPTOR(ts), size) instead",
        )
    rest = tuple(e for i, e in enumerate(exprs) if i != windows[0])
    return Keys(rest, (tuple(range(len(rest))),), window)


def _sets(node: exp.Expression, scope: NameScope, exprs: list[Rex]) -> list[tuple[int, ...]]:
    """Return the alternatives that one GROUP BY element stands for, as positions in ``exprs``."""
    match node:
        case exp.GroupingSets():
            return [s for e in node.expressions for s in _sets(e, scope, exprs)]
        case exp.Cube():
            items = [_one(e, scope, exprs) for e in node.expressions]
            sizes = range(len(items), -1, -1)
            return _distinct(chosen for n in sizes for chosen in combinations(items, n))
        case exp.Rollup():
            items = [_one(e, scope, exprs) for e in node.expressions]
            return _distinct(items[:n] for n in range(len(items), -1, -1))
        case _:
            return [_one(node, scope, exprs)]


def _distinct(sets: Iterable[Iterable[tuple[int, ...]]]) -> list[tuple[int, ...]]:
    """One ROLLUP or CUBE holds a set once, however often it names a key (Calcite's SqlValidatorUtil.rollup, cube)."""
    return list(dict.fromkeys(tuple(sorted({i for part in parts for i in part})) for parts in sets))


def _one(node: exp.Expression, scope: NameScope, exprs: list[Rex]) -> tuple[int, ...]:
    items = node.expressions if isinstance(node, exp.Tuple) else [node]
    return tuple(_position(scope.value(i), exprs) for i in items)


def _position(rex: Rex, exprs: list[Rex]) -> int:
    if rex not in exprs:
        exprs.append(rex)
    return exprs.index(rex)


# ---- the projection below ----------------------------------------------------------------------------------------


def _inputs(node: Node, keys: Keys, parts: Parts) -> tuple[Node, list[AggCall]]:
    """Project keys and arguments below the aggregate. Under grouping sets, arguments get columns of their own."""
    exprs: list[Rex] = list(keys.exprs)
    fixed = 0 if keys.simple else len(exprs)
    if keys.window is not None:
        exprs.append(keys.window.time)
        fixed = len(exprs)  # the time column stays a time attribute, an argument becomes a plain timestamp

    def place(rex: Rex) -> int:
        for i in range(fixed, len(exprs)):
            if exprs[i] == rex:
                return i
        exprs.append(rex)
        return len(exprs) - 1

    calls = [ref.use.call(place) for ref in parts.found(AggRef)]
    node, values = subqueries.attach(node, exprs)
    names = [node.fields[e.index].name if isinstance(e, InputRef) else f"$f{i}" for i, e in enumerate(values)]
    return make.project(node, values, names), calls


def _aggregate(node: Node, keys: Keys, calls: list[AggCall], parts: Parts) -> Node:
    out = make.aggregate(node, range(len(keys.exprs)), calls, span=calls[0].span if calls else None)
    if keys.simple:
        _map(parts, keys, out, _groupings(parts, keys, (0,), make.TRUE))
        return out
    # several sets without a key: one total, which stands there even without rows, given out once a set
    ids = tuple(_group_ids(keys))
    copies = Expand(input=out, keys=(), sets=keys.sets, masks=ids, fields=(*out.fields, _SET))
    _map(parts, keys, out, _groupings(parts, keys, ids, InputRef(_SET.type, len(out.fields))))
    return copies


def _expanded(node: Node, keys: Keys, calls: list[AggCall], parts: Parts) -> Node:
    """Aggregate over one copy of each row per grouping set; ``$e`` tells the sets apart, equal ones by GROUP_ID."""
    count, width = len(keys.exprs), len(node.fields)
    places = tuple(range(count))
    always = {i for i in places if all(i in s for s in keys.sets)}
    fields = (
        Field(f.name, f.type.with_nullable(f.type.nullable or (i < count and i not in always)))
        for i, f in enumerate(node.fields)
    )
    masks = tuple(
        (id_ << count) + sum(1 << (count - 1 - i) for i in places if i not in s)
        for s, id_ in zip(keys.sets, _group_ids(keys), strict=True)
    )
    expand = Expand(input=node, keys=places, sets=keys.sets, masks=masks, fields=(*fields, _SET))
    out = make.aggregate(expand, (*places, width), calls)
    _map(parts, keys, out, _groupings(parts, keys, masks, InputRef(_SET.type, count)), first=count + 1)
    return out


def _groupings(parts: Parts, keys: Keys, masks: tuple[int, ...], mask: Rex) -> dict[Rex, Rex]:
    return {r: _grouping_value(r, keys, masks, mask) for r in parts.found(GroupingRef)}


def _group_ids(keys: Keys) -> list[int]:
    """GROUP_ID() per set: how many equal ones stand before it (Calcite rewrites these to a UNION ALL, by number)."""
    return [keys.sets[:n].count(s) for n, s in enumerate(keys.sets)]


def _grouping_value(ref: GroupingRef, keys: Keys, masks: tuple[int, ...], mask: Rex) -> Rex:
    """GROUPING(a, b): one bit an argument, 1 where the key is rolled up; GROUP_ID(): a CASE over the set's mask."""
    if ref.function == "GROUP_ID":
        values = _group_ids(keys)
    else:
        positions = [_key_of(a, keys, ref) for a in ref.args]
        bits = [1 << n for n in reversed(range(len(positions)))]
        values = [sum(b for b, p in zip(bits, positions, strict=True) if p not in s) for s in keys.sets]
    if len(set(values)) == 1:
        return Literal(ref.type, values[0])
    args: list[Rex] = []
    for m, value in zip(masks, values, strict=True):
        args += [make.equal(mask, Literal(T.BIGINT.not_null(), m)), Literal(ref.type, value)]
    return Call(ref.type, "CASE", (*args[:-2], args[-1]), span=ref.span)


def _key_of(arg: Rex, keys: Keys, ref: GroupingRef) -> int:
    if arg not in keys.exprs:
        raise FlinkDdlError.of("FD454", f"the argument of {ref.function} must be a GROUP BY expression", ref.span)
    return keys.exprs.index(arg)


def _windowed(node: Node, keys: Keys, window: GroupWindowRef, calls: list[AggCall], parts: Parts) -> Node:
    asked = parts.found(WindowPropertyRef)
    for a in asked:
        if a.window != window:
            raise FlinkDdlError.of(
                "FD503",
                "the group window function repeats other arguments than the one in GROUP BY",
                a.span,
                "write exactly the same time column and intervals in both",
            )
    types = {a.property: a.type for a in asked}
    below = make.aggregate(node, range(len(keys.exprs)), calls)
    out = WindowAggregate(
        input=node,
        window=_definition(window, len(keys.exprs)),
        keys=below.keys,
        aggs=below.aggs,
        properties=tuple(types),
        legacy=True,
        fields=(*below.fields, *(Field(_PROPERTY_NAMES[p], t) for p, t in types.items())),
        span=window.span,
    )
    values = _groupings(parts, keys, (0,), make.TRUE)
    first = len(below.fields)
    values |= {a: InputRef(types[a.property], first + out.properties.index(a.property), a.span) for a in asked}
    _map(parts, keys, out, values)
    return out


def _definition(window: GroupWindowRef, time: int) -> Window:
    """Return a group window over the time column at field ``time``. HOP is written (slide, size)."""
    count = 2 if window.kind == "HOP" else 1
    *slide, size = window.sizes[:count]
    return Window(
        kind=window.kind,  # type: ignore[arg-type]  # one of the three literals
        time=time,
        size_ms=size,
        slide_ms=slide[0] if slide else None,
        offset_ms=sum(window.sizes[count:]),
        proctime=window.time.type.time_attribute == "PROCTIME",
        span=window.span,
    )


# ---- above the aggregate -----------------------------------------------------------------------------------------


def _map(parts: Parts, keys: Keys, out: Node, values: dict[Rex, Rex], first: int | None = None) -> None:
    """Rewrite all expressions of ``parts`` over the aggregate's output; ``first`` is the field of its first call."""
    uses = [ref.use for ref in parts.found(AggRef)]
    start = len(keys.exprs) if first is None else first

    def change(rex: Rex) -> Rex | None:
        if rex in keys.exprs:
            i = keys.exprs.index(rex)
            return InputRef(out.fields[i].type, i, getattr(rex, "span", None))
        if isinstance(rex, AggRef):
            i = start + uses.index(rex.use)
            return InputRef(out.fields[i].type, i, rex.use.span)
        if isinstance(rex, SubqueryRef):
            operands = tuple(rewrite(o, change) for o in rex.operands)
            return replace(rex, operands=operands, plan=subqueries.map_outer(rex.plan, outwards))
        if isinstance(rex, GroupingRef | WindowPropertyRef) and rex in values:
            return values[rex]
        if isinstance(rex, InputRef | GroupWindowRef | WindowPropertyRef):
            raise _not_grouped(rex)
        return None

    def outwards(ref: OuterRef) -> Rex:
        inner = change(InputRef(ref.type, ref.index, ref.span))
        assert isinstance(inner, InputRef)
        return replace(ref, index=inner.index)

    parts.rewrite(change)


def _not_grouped(rex: Rex) -> FlinkDdlError:
    span = getattr(rex, "span", None)
    if isinstance(rex, WindowPropertyRef | GroupWindowRef):
        return FlinkDdlError.of(
            "FD503",
            "a group window function needs the matching group window in GROUP BY",
            span,
            "add the TUMBLE, HOP or SESSION call with the same arguments to GROUP BY",
        )
    text = span.text if span is not None else "a column"
    return FlinkDdlError.of(
        "FD454", f"expression '{text}' is not being grouped", span, "add it to GROUP BY or put it into an aggregate"
    )
