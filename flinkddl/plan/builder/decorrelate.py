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
from flinkddl.plan.builder.placeholders import has, walk_all
from flinkddl.plan.nodes import Aggregate, Filter, Join, Node, Over, Project, Rank, Sort
from flinkddl.plan.nodes.values import retyped
from flinkddl.plan.rex import AggCall, Call, InputRef, Literal, OuterRef, Rex, conjuncts, shift, transform

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from flinkddl.diagnostics import Span

Pulled = tuple[Node, tuple[Rex, ...]]
COUNTS = (AggCall("COUNT", (), T.BIGINT.not_null()), AggCall("COUNT", (0,), T.BIGINT.not_null()))
"""How many rows there are, and how many with a value in the first column."""


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


def _rexes(value: Any) -> Iterator[Rex]:
    if isinstance(value, Rex):
        yield value
    elif isinstance(value, tuple):
        for v in value:
            yield from _rexes(v)


def correlated(node: Node) -> bool:
    """Whether the plan refers to a query around it."""
    return _reads_outer(node) or any(correlated(i) for i in node.inputs)


def _reads_outer(node: Node) -> bool:
    return any(has(r, OuterRef) for f in fields(node) for r in _rexes(getattr(node, f.name)))


def pull(plan: Node, span: Span | None) -> Free:
    """Return the plan without outer references. Its leading fields are the plan's own."""
    return Free(*_pull(plan, span))


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


def _pull(node: Node, span: Span | None) -> Pulled:
    if not correlated(node):
        return node, ()
    return _RULES.get(type(node), _passing)(node, span)


def _refused(span: Span | None, what: str) -> FlinkDdlError:
    return FlinkDdlError.of(
        "FD515",
        f"this correlated subquery cannot be planned: its condition does not rise {what}",
        span,
        "correlate with equalities, or write it as a join",
    )


def _filter(node: Filter, span: Span | None) -> Pulled:
    below, pulled = _pull(node.input, span)
    parts = conjuncts(node.condition)
    mine = tuple(p for p in parts if has(p, OuterRef))
    return make.where(below, make.all_of(p for p in parts if not has(p, OuterRef))), (*pulled, *mine)


def _project(node: Project, span: Span | None) -> Pulled:
    if any(has(e, OuterRef) for e in node.exprs):
        raise _refused(span, "above an expression that uses the outer query")
    below, pulled = _pull(node.input, span)
    return _leading(below, node.exprs, node, pulled)


def _leading(below: Node, exprs: Iterable[Rex], plan: Node, conditions: Iterable[Rex]) -> Pulled:
    """Bring the values of the plan's own fields to the front, behind them the columns that conditions need."""
    exprs, names = list(exprs), [f.name for f in plan.fields]
    carried = tuple(_carry(c, exprs, names, below) for c in conditions)
    return make.project(below, exprs, names), carried


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


def _aggregate(node: Aggregate, span: Span | None) -> Pulled:
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


def _sort(node: Sort, span: Span | None) -> Pulled:
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


def _over(node: Over, span: Span | None) -> Pulled:
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


def _join(node: Join, span: Span | None) -> Pulled:
    left, lefts = _pull(node.left, span)
    right, rights = _pull(node.right, span)
    parts = conjuncts(node.condition)
    mine = tuple(p for p in parts if has(p, OuterRef))
    if (node.kind != "inner" and (rights or mine)) or (lefts and node.kind in ("right", "full")):
        raise _refused(span, "through an outer, semi or anti join")
    width, grown = len(node.left.fields), len(left.fields)
    condition = make.all_of(shift(p, grown - width, width) for p in parts if not has(p, OuterRef))
    own = node.fields[width:]  # none of a semi or anti join
    extra = () if node.kind in ("semi", "anti") else right.fields[len(own) :]
    typed = (*node.fields[:width], *left.fields[width:], *own, *extra)
    out = replace(node, left=left, right=right, condition=condition, fields=typed)
    pulled = (*lefts, *(shift(c, grown) for c in rights), *(shift(c, grown - width, width) for c in mine))
    places = (*range(width), *range(grown, grown + len(own)))
    return _leading(out, [make.ref(out, i) for i in places], node, [retyped(c, out.fields) for c in pulled])


def _passing(node: Node, span: Span | None) -> Pulled:
    """Rise through a node that lets conditions on all fields of its input through, downwards or upwards."""
    width = len(node.inputs[0].fields) if len(node.inputs) == 1 else -1
    if node.passed != width or len(node.through()[0]) < width:
        raise _refused(span, f"through {node.name}")
    if _reads_outer(node):
        raise _refused(span, f"above {node.title} of an outer column")
    below, pulled = _pull(node.inputs[0], span)
    out, places = node.rebuild([below], [{i: i for i in range(width)}])
    return _leading(out, [make.ref(out, places[i]) for i in range(len(node.fields))], node, pulled)


_RULES: dict[type[Node], Callable[[Any, Span | None], Pulled]] = {
    Filter: _filter,
    Project: _project,
    Aggregate: _aggregate,
    Sort: _sort,
    Over: _over,
    Join: _join,
}


# ---- shapes for values -------------------------------------------------------------------------------------------


def _by_keys(plan: Node, span: Span | None, what: str) -> tuple[Node, list[int], list[Rex]]:
    free = pull(plan, span)
    return _keyed(free.node, free.conditions, span, f"out of {what} unless it is an equality")


def _grouped(keyed: tuple[Node, list[int], list[Rex]], calls: Sequence[AggCall], names: Sequence[str]) -> Free:
    """Aggregate per correlated key; the value asked for is the first call's."""
    node, keys, outers = keyed
    distinct = tuple(dict.fromkeys(keys))
    out = make.aggregate(node, distinct, calls, names, calls[0].span)
    return Free(out, _tied(out, [distinct.index(k) for k in keys], outers), len(distinct))


def scalar(plan: Node, span: Span | None) -> Free:
    """Return a plan with at most one row per outer row; its value is the plan's only column."""
    found = _global_aggregate(plan)
    if found is not None:
        free = pull(plan, span)
        return replace(free, empty=_empty_value(plan, found) if free.conditions else None)
    type_ = plan.fields[0].type.with_nullable(True).as_attribute(None)
    single = AggCall("SINGLE_VALUE", (0,), type_, span=span)
    return _grouped(_by_keys(plan, span, "a scalar subquery"), [single], [plan.fields[0].name])


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


def distinct_keys(plan: Node, values: tuple[int, ...], span: Span | None) -> Free:
    """Return the distinct values (fields of the plan) per correlated key, and behind them a TRUE as marker."""
    node, keys, outers = _by_keys(plan, span, "this subquery")
    wanted = list(dict.fromkeys((*values, *keys)))
    kept = make.keep(node, wanted)
    one = make.distinct(kept) if wanted else any_row(kept)
    names = [*(f.name for f in kept.fields), "$in"]
    mark = Literal(T.BOOLEAN.not_null(), True)
    marked = make.project(one, [*(make.ref(one, i) for i in range(len(wanted))), mark], names)
    return Free(marked, _tied(marked, [wanted.index(k) for k in keys], outers), len(wanted))


def any_row(node: Node) -> Node:
    """Return one row while the node has any: its count, kept while it is positive. State is one number."""
    counted = make.aggregate(node, (), COUNTS[:1], ["$c"])
    test = Call(T.BOOLEAN.not_null(), ">", (make.ref(counted, 0), Literal(T.BIGINT.not_null(), 0)))
    return make.where(counted, test)


def counts(plan: Node, span: Span | None) -> Free:
    """Return per correlated key how many rows there are, and how many with a value in the first column."""
    return _grouped(_by_keys(plan, span, "this subquery"), COUNTS, ("$c", "$d"))
