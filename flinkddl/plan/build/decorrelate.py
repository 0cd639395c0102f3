"""Correlated subqueries: conditions on the outer query are pulled up to where a join can hold them.

A condition rises through projections (its columns are carried along), joins and filters. Through an aggregate, a
LIMIT or a window function only equalities rise: the inner side becomes a grouping or partition key.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from flinkddl import sqltypes as T
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.plan import make
from flinkddl.plan.nodes import Aggregate, Field, Filter, Join, Node, Over, Project, Rank, Sort, Unnest
from flinkddl.plan.build.placeholders import has, walk_all
from flinkddl.plan.rex import AggCall, Call, InputRef, Literal, OuterRef, Rex, conjuncts, transform

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from flinkddl.diagnostics import Span
    from flinkddl.plan.context import Context


@dataclass(frozen=True)
class Free:
    """A plan without outer references and the conditions that tie it to the outer query.

    ``conditions`` mix OuterRefs with InputRefs over ``node``; ``value`` is the index of the value asked for (of the
    first, where several were); ``empty`` what stands for it when no row matches, None for NULL.
    """

    node: Node
    conditions: tuple[Rex, ...] = ()
    value: int = 0
    empty: Rex | None = None


def expressions_of(node: Node) -> Iterator[Rex]:
    """Yield the expressions that a node itself holds."""
    for f in fields(node):
        yield from _rexes(getattr(node, f.name))


def _rexes(value: Any) -> Iterator[Rex]:
    if isinstance(value, Rex):
        yield value
    elif isinstance(value, tuple):
        for v in value:
            yield from _rexes(v)


def correlated(node: Node) -> bool:
    """Whether the plan refers to a query around it."""
    return any(has(r, OuterRef) for r in expressions_of(node)) or any(correlated(i) for i in node.inputs)


def pull(plan: Node, context: Context, span: Span | None) -> Free:
    """Return the plan without outer references. Its leading fields are the plan's own."""
    del context
    node, conditions = _pull(plan, span)
    return Free(node, conditions)


def loosened(node: Node) -> Node:
    """Return a plan for EXISTS or IN whose inner semi joins on outer columns are inner joins: copies do not matter."""
    match node:
        case Project() | Filter():
            return replace(node, input=loosened(node.input))
        case Join(kind="semi") if has(node.condition, OuterRef):
            both = replace(node, kind="inner", fields=(*node.fields, *node.right.fields))
            return make.keep(both, range(len(node.fields)))
        case _:
            return node


def over_join(free: Free, outer: Node) -> Rex:
    """Return the conditions over the fields of ``outer``, then those of ``free.node``."""
    width = len(outer.fields)

    def change(r: Rex) -> Rex | None:
        if isinstance(r, OuterRef):
            if r.depth > 1:
                return replace(r, depth=r.depth - 1)
            return InputRef(outer.fields[r.index].type, r.index, r.span)
        if isinstance(r, InputRef):
            return replace(r, index=r.index + width)
        return None

    return make.all_of(transform(c, change) for c in free.conditions)


# ---- pulling -----------------------------------------------------------------------------------------------------


def _pull(node: Node, span: Span | None) -> tuple[Node, tuple[Rex, ...]]:
    if not correlated(node):
        return node, ()
    rule = _RULES.get(type(node))
    if rule is None:
        raise _refused(span, f"through {node.name}")
    return rule(node, span)


def _refused(span: Span | None, what: str) -> FlinkDdlError:
    return FlinkDdlError.of(
        "FD515",
        f"this correlated subquery cannot be planned: its condition does not rise {what}",
        span,
        "correlate with equalities, or write it as a join",
    )


def _filter(node: Filter, span: Span | None) -> tuple[Node, tuple[Rex, ...]]:
    below, pulled = _pull(node.input, span)
    parts = conjuncts(node.condition)
    mine = tuple(p for p in parts if has(p, OuterRef))
    return make.where(below, make.all_of(p for p in parts if not has(p, OuterRef))), (*pulled, *mine)


def _project(node: Project, span: Span | None) -> tuple[Node, tuple[Rex, ...]]:
    if any(has(e, OuterRef) for e in node.exprs):
        raise _refused(span, "above an expression that uses the outer query")
    below, pulled = _pull(node.input, span)
    exprs, names = list(node.exprs), [f.name for f in node.fields]
    conditions = tuple(_carry(c, exprs, names, below) for c in pulled)
    return make.project(below, exprs, names), conditions


def _carry(condition: Rex, exprs: list[Rex], names: list[str], below: Node) -> Rex:
    """Rewrite a condition over a projection, adding the columns it needs."""

    def change(r: Rex) -> Rex | None:
        if not isinstance(r, InputRef):
            return None
        if r not in exprs:
            exprs.append(r)
            names.append(below.fields[r.index].name)
        return replace(r, index=exprs.index(r))

    return transform(condition, change)


def equality(condition: Rex) -> tuple[Rex, Rex] | None:
    """Split ``inner = outer`` (either way round) into its sides, or return None."""
    if not (isinstance(condition, Call) and condition.function == "=" and len(condition.args) == 2):
        return None
    for inner, outer in (condition.args, condition.args[::-1]):
        if not has(inner, OuterRef) and not has(outer, InputRef):
            return inner, outer
    return None


def _keyed(node: Node, conditions: Sequence[Rex], span: Span | None, what: str) -> tuple[Node, list[int], list[Rex]]:
    """Give the inner sides of equalities columns of their own: (node, their indices, the outer sides)."""
    pairs = [equality(c) for c in conditions]
    found = [p for p in pairs if p is not None]
    if len(found) < len(pairs):
        raise _refused(span, what)
    node, places = make.append(node, [inner for inner, _ in found])
    return node, list(places), [outer for _, outer in found]


def _tied(node: Node, indices: Sequence[int], outers: Sequence[Rex]) -> tuple[Rex, ...]:
    return tuple(make.equal(make.ref(node, i), o) for i, o in zip(indices, outers, strict=True))


def _aggregate(node: Aggregate, span: Span | None) -> tuple[Node, tuple[Rex, ...]]:
    below, pulled = _pull(node.input, span)
    below, keys, outers = _keyed(below, pulled, span, "through an aggregate unless it is an equality")
    extra = list(dict.fromkeys(k for k in keys if k not in node.keys))
    all_keys = (*node.keys, *extra)
    n = len(node.keys)
    grouped = Aggregate(
        input=below,
        keys=all_keys,
        aggs=node.aggs,
        span=node.span,
        fields=(*node.fields[:n], *(below.fields[i] for i in extra), *node.fields[n:]),
    )
    order = [*range(n), *range(n + len(extra), len(grouped.fields)), *range(n, n + len(extra))]
    out = make.keep(grouped, order)
    where = {k: i for i, k in enumerate(node.keys)} | {k: len(node.fields) + i for i, k in enumerate(extra)}
    return out, _tied(out, [where[k] for k in keys], outers)


def _sort(node: Sort, span: Span | None) -> tuple[Node, tuple[Rex, ...]]:
    below, pulled = _pull(node.input, span)
    if node.fetch is None and not node.offset:
        return below, pulled
    if not node.order or node.fetch is None:
        raise _refused(span, "through a LIMIT without ORDER BY")
    below, keys, outers = _keyed(below, pulled, span, "through a LIMIT unless it is an equality")
    ranked = Rank(
        input=below,
        partition=tuple(dict.fromkeys(keys)),
        order=node.order,
        start=node.offset + 1,
        end=node.offset + node.fetch,
        with_rank=False,
        fields=below.fields,
        span=node.span,
    )
    return ranked, _tied(ranked, keys, outers)


def _over(node: Over, span: Span | None) -> tuple[Node, tuple[Rex, ...]]:
    below, pulled = _pull(node.input, span)
    width = len(node.input.fields)
    below, keys, outers = _keyed(below, pulled, span, "through a window function unless it is an equality")
    calls = node.fields[width:]
    partition = tuple(dict.fromkeys((*node.partition, *keys)))
    out = replace(node, input=below, partition=partition, fields=(*below.fields, *calls))
    grown = len(below.fields)
    order = [*range(width), *range(grown, grown + len(calls)), *range(width, grown)]
    moved = {old: new for new, old in enumerate(order)}
    kept = make.keep(out, order)
    return kept, _tied(kept, [moved[k] for k in keys], outers)


def _join(node: Join, span: Span | None) -> tuple[Node, tuple[Rex, ...]]:
    left, lefts = _pull(node.left, span)
    right, rights = _pull(node.right, span)
    parts = conjuncts(node.condition)
    mine = tuple(p for p in parts if has(p, OuterRef))
    if (
        (rights and node.kind != "inner")
        or (lefts and node.kind in ("right", "full"))
        or (mine and node.kind != "inner")
    ):
        raise _refused(span, "through an outer, semi or anti join")
    lw, rw, grown = len(node.left.fields), len(node.right.fields), len(left.fields)

    def moved(r: Rex) -> Rex | None:
        return replace(r, index=r.index + grown - lw) if isinstance(r, InputRef) and r.index >= lw else None

    condition = make.all_of(transform(p, moved) for p in parts if not has(p, OuterRef))
    one_sided = node.kind in ("semi", "anti")
    out_fields = left.fields if one_sided else (*left.fields, *right.fields)
    nulls = node.fields
    typed = list(out_fields)
    for i in range(lw):
        typed[i] = nulls[i]
    if not one_sided:
        for i in range(rw):
            typed[grown + i] = nulls[lw + i]
    out = replace(node, left=left, right=right, condition=condition, fields=tuple(typed))
    pulled = (
        *lefts,
        *(
            transform(c, lambda r: replace(r, index=r.index + grown) if isinstance(r, InputRef) else None)
            for c in rights
        ),
        *(transform(c, moved) for c in mine),
    )
    exprs: list[Rex] = [make.ref(out, i) for i in range(lw)]
    if not one_sided:
        exprs += [make.ref(out, grown + i) for i in range(rw)]
    names = [f.name for f in node.fields]
    conditions = tuple(_carry(_typed(c, out), exprs, names, out) for c in pulled)
    return make.project(out, exprs, names), conditions


def _typed(condition: Rex, node: Node) -> Rex:
    return transform(
        condition, lambda r: replace(r, type=node.fields[r.index].type) if isinstance(r, InputRef) else None
    )


def _unnest(node: Unnest, span: Span | None) -> tuple[Node, tuple[Rex, ...]]:
    if has(node.collection, OuterRef) or (node.condition is not None and has(node.condition, OuterRef)):
        raise _refused(span, "above UNNEST of an outer column")
    below, pulled = _pull(node.input, span)
    width, grown = len(node.input.fields), len(below.fields)
    elements = node.fields[width:]
    out = replace(node, input=below, fields=(*below.fields, *elements))
    exprs: list[Rex] = [make.ref(out, i) for i in [*range(width), *range(grown, grown + len(elements))]]
    names = [f.name for f in node.fields]
    conditions = tuple(_carry(c, exprs, names, out) for c in pulled)
    return make.project(out, exprs, names), conditions


_RULES: dict[type[Node], Callable[[Any, Span | None], tuple[Node, tuple[Rex, ...]]]] = {
    Filter: _filter,
    Project: _project,
    Aggregate: _aggregate,
    Sort: _sort,
    Over: _over,
    Join: _join,
    Unnest: _unnest,
}


# ---- shapes for values -------------------------------------------------------------------------------------------


def scalar(plan: Node, context: Context, span: Span | None) -> Free:
    """Return a plan with at most one row per outer row; its value is the plan's only column."""
    free = pull(plan, context, span)
    found = _global_aggregate(plan)
    if found is not None:
        empty = _empty_value(plan, found) if free.conditions else None
        return replace(free, value=0, empty=empty)
    node, keys, outers = _keyed(free.node, free.conditions, span, "out of a scalar subquery unless it is an equality")
    type_ = plan.fields[0].type.with_nullable(True).as_attribute(None)
    single = AggCall("SINGLE_VALUE", (0,), type_, span=span)
    distinct = tuple(dict.fromkeys(keys))
    out = Aggregate(
        input=node,
        keys=distinct,
        aggs=(single,),
        span=span,
        fields=(*(node.fields[k] for k in distinct), Field(plan.fields[0].name, type_)),
    )
    return Free(out, _tied(out, [distinct.index(k) for k in keys], outers), len(distinct))


def _global_aggregate(plan: Node) -> Aggregate | None:
    """Return the aggregate without keys that gives the plan's one row, if that is its shape."""
    node = plan
    while isinstance(node, Project):
        node = node.input
    return node if isinstance(node, Aggregate) and not node.keys else None


def _empty_value(plan: Node, aggregate: Aggregate) -> Rex | None:
    """Return the value of the plan's column over no rows, where it is not NULL: counts are 0."""
    expr: Rex = make.ref(plan, 0)
    node = plan
    while isinstance(node, Project):
        exprs = node.exprs
        expr = transform(expr, lambda r, e=exprs: e[r.index] if isinstance(r, InputRef) else None)  # type: ignore[misc]
        node = node.input
    counts = {i for i, a in enumerate(aggregate.aggs) if a.function in ("COUNT", "$SUM0")}
    used = {r.index for r in walk_all(expr) if isinstance(r, InputRef)}
    if not used or not used <= counts:
        return None
    return transform(expr, lambda r: Literal(r.type, 0) if isinstance(r, InputRef) else None)


def distinct_keys(plan: Node, values: tuple[int, ...], context: Context, span: Span | None) -> Free:
    """Return the distinct values (fields of the plan) per correlated key, and behind them a TRUE as marker."""
    free = pull(plan, context, span)
    node, keys, outers = _keyed(free.node, free.conditions, span, "out of this subquery unless it is an equality")
    wanted = list(dict.fromkeys((*values, *keys)))
    kept = make.keep(node, wanted)
    one = Aggregate(input=kept, keys=tuple(range(len(wanted))), fields=kept.fields) if wanted else any_row(kept)
    names = [*(f.name for f in kept.fields), "$in"]
    mark = Literal(T.BOOLEAN.not_null(), True)
    marked = make.project(one, [*(make.ref(one, i) for i in range(len(wanted))), mark], names)
    return Free(marked, _tied(marked, [wanted.index(k) for k in keys], outers), len(wanted))


def any_row(node: Node) -> Node:
    """Return one row while the node has any: its count, kept while it is positive. State is one number."""
    big = T.BIGINT.not_null()
    counted = Aggregate(input=node, keys=(), aggs=(AggCall("COUNT", (), big),), fields=(Field("$c", big),))
    test = Call(T.BOOLEAN.not_null(), ">", (make.ref(counted, 0), Literal(big, 0)))
    return make.where(counted, test)


def counts(plan: Node, context: Context, span: Span | None) -> Free:
    """Return per correlated key how many rows there are, and how many with a value in the first column."""
    free = pull(plan, context, span)
    node, keys, outers = _keyed(free.node, free.conditions, span, "out of this subquery unless it is an equality")
    distinct = tuple(dict.fromkeys(keys))
    big = T.BIGINT.not_null()
    calls = (AggCall("COUNT", (), big), AggCall("COUNT", (0,), big))
    out = Aggregate(
        input=node,
        keys=distinct,
        aggs=calls,
        fields=(*(node.fields[k] for k in distinct), Field("$c", big), Field("$d", big)),
    )
    return Free(out, _tied(out, [distinct.index(k) for k in keys], outers), len(distinct))
