"""ORDER BY, LIMIT, OFFSET, FETCH: of a SELECT over its parts, of any other query over its columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from flinkddl.plan import make
from flinkddl.plan.builder.names import Relation
from flinkddl.plan.builder.placeholders import Ordered, Parts
from flinkddl.plan.nodes import Sort
from flinkddl.plan.rex import SortKey

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from flinkddl.plan.builder.base import Builder, NameScope
    from flinkddl.plan.nodes import Node


def ordered(node: exp.Expression, scope: NameScope) -> Ordered:
    """Resolve one ORDER BY item."""
    if not isinstance(node, exp.Ordered):
        return scope.value(node), False, True
    return scope.value(node.this), *_direction(node)


def _direction(node: exp.Expression) -> tuple[bool, bool]:
    """Return (descending, NULLs first): as written, else NULLs come first ascending and last descending."""
    descending, first = bool(node.args.get("desc")), node.args.get("nulls_first")
    return descending, bool(first) if first is not None else not descending


def item(node: exp.Expression, parts: Parts, scope: NameScope) -> Ordered:
    """Resolve one ORDER BY item of a query, which may be the number of a select item."""
    inner = node.this if isinstance(node, exp.Ordered) else node
    if not isinstance(inner, exp.Literal) or inner.is_string:
        return ordered(node, scope)
    position = int(inner.this) if str(inner.this).isdigit() else 0
    if not 1 <= position <= len(parts.items):
        message = f"ORDER BY position {inner.this} is out of range, there are {len(parts.items)} columns"
        raise scope.error("FD460", message, inner)
    return parts.items[position - 1], *_direction(node)


def output(build: Builder, node: Node, tree: exp.Expression) -> Node:
    """ORDER BY and LIMIT of a set operation or VALUES: over output columns only."""
    order = tree.args.get("order")
    if order is None:
        return limit(build, node, tree)
    names = [f.name for f in node.fields]
    scope = build.apart.scope(Relation.of(node), "ORDER BY")
    parts = Parts(names, list(make.refs(node)))
    items = [item(o, parts, scope) for o in order.expressions]
    width = len(node.fields)
    node, places = make.append(node, [e for e, _, _ in items])
    return make.keep(sort(build, node, places, items, tree), range(width))


def sort(build: Builder, node: Node, places: Iterable[int], items: Sequence[Ordered], tree: exp.Expression) -> Node:
    """Return the rows of a query in order of ``items``, whose values are fields, cut by its LIMIT and OFFSET."""
    offset, fetch = _limits(build, tree)
    keys = tuple(SortKey(p, d, n) for p, (_, d, n) in zip(places, items, strict=True))
    span = build.span(tree.args.get("order") or tree.args.get("limit"))
    return Sort(input=node, order=keys, offset=offset, fetch=fetch, fields=node.fields, span=span)


def limit(build: Builder, node: Node, tree: exp.Expression) -> Node:
    """LIMIT / OFFSET / FETCH without ORDER BY."""
    offset, fetch = _limits(build, tree)
    if tree.args.get("order") is not None or (fetch is None and not offset):
        return node
    return sort(build, node, (), (), tree)


def _limits(build: Builder, tree: exp.Expression) -> tuple[int, int | None]:
    """Return (offset, fetch) of a query; fetch None is without end."""
    offset, limited = tree.args.get("offset"), tree.args.get("limit")
    fetch: int | None = None
    if isinstance(limited, exp.Fetch):
        count = limited.args.get("count")
        fetch = 1 if count is None else _whole(build, count)
    elif limited is not None and limited.expression is not None and limited.expression.name.upper() != "ALL":
        fetch = _whole(build, limited.expression)
    return (_whole(build, offset.expression) if offset is not None else 0), fetch


def _whole(build: Builder, node: exp.Expression) -> int:
    if isinstance(node, exp.Literal) and str(node.this).isdigit():
        return int(node.this)
    raise build.error("FD460", "LIMIT and OFFSET take a whole number", node)
