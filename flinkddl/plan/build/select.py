"""One SELECT: items, GROUP BY, HAVING, windows, QUALIFY, DISTINCT, ORDER BY, LIMIT over its FROM.

Every expression is resolved over the FROM clause first, with placeholders for what other nodes deliver; then stage by
stage (grouping, OVER, subqueries) the placeholders become columns of the plan.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from sqlglot import exp

from flinkddl import sqltypes as T
from flinkddl.diagnostics import FlinkDdlError, each, joined
from flinkddl.plan import make
from flinkddl.plan.expressions import resolve as expressions
from flinkddl.plan.build import grouping
from flinkddl.plan.build import over
from flinkddl.plan.build import special
from flinkddl.plan.build import subqueries
from flinkddl.plan.build.from_ import build_from
from flinkddl.plan.build.hints import apply_hints, with_group_ttl
from flinkddl.plan.keys import unique_key
from flinkddl.plan.build.names import NameScope
from flinkddl.plan.nodes import Aggregate, Project, Sort
from flinkddl.plan.build.placeholders import AggRef, GroupingRef, OverRef, WindowPropertyRef, has
from flinkddl.plan.rex import Rex, SortKey

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flinkddl.diagnostics import Span
    from flinkddl.plan.context import Context
    from flinkddl.plan.nodes import Node

_GROUPED = (AggRef, GroupingRef, WindowPropertyRef)


@dataclass
class Parts:
    """The resolved expressions of a SELECT on their way through the stages."""

    names: list[str] = field(default_factory=list)
    items: list[Rex] = field(default_factory=list)
    having: Rex | None = None
    qualify: Rex | None = None
    order: list[tuple[Rex, bool, bool]] = field(default_factory=list)

    def all(self) -> list[Rex]:
        """All expressions of the stages to come."""
        singles = [r for r in (self.having, self.qualify) if r is not None]
        return [*self.items, *singles, *(o[0] for o in self.order)]

    def map(self, change: Callable[[Rex], Rex]) -> None:
        """Replace every expression."""
        self.items = [change(r) for r in self.items]
        self.having = None if self.having is None else change(self.having)
        self.qualify = None if self.qualify is None else change(self.qualify)
        self.order = [(change(e), d, n) for e, d, n in self.order]


def build_select(tree: exp.Select, context: Context, outer: NameScope | None, ctes: dict[str, object]) -> Node:
    """Build the plan of a SELECT; its output names may repeat (``make.unique`` comes at the top)."""
    relation = build_from(tree, context, outer, ctes)
    relation = apply_hints(tree, relation, context)
    windows = {w.this.name: w for w in tree.args.get("windows") or ()}
    grouped = grouping.has_keys(tree.args.get("group"))
    scope = NameScope(context, relation, outer=outer, windows=windows, ctes=ctes, grouped=grouped)
    node = relation.node
    where = tree.args.get("where")
    if where is not None:
        condition = _where(where.this, tree, scope)
        node = subqueries.filter_on(node, condition, context)
        relation = relation.on(node)
        scope = replace(scope, relation=relation)
    parts = _resolve(tree, scope)
    group = tree.args.get("group")
    if group is not None or any(has(r, *_GROUPED) for r in parts.all()):
        node = grouping.group(node, group, parts, scope)
    elif parts.having is not None:
        node = grouping.group(node, None, parts, scope)
    node = with_group_ttl(node, tree, relation, context)
    if parts.having is not None:
        node = subqueries.filter_on(node, parts.having, context)
        parts.having = None
    if any(has(r, OverRef) for r in parts.all()):
        node = over.apply(node, parts, context)
    if parts.qualify is not None:
        node = subqueries.filter_on(node, parts.qualify, context)
        parts.qualify = None
    node = _project(node, parts, tree, context)
    return limit(node, tree, context)


def _where(node: exp.Expression, tree: exp.Select, scope: NameScope) -> Rex:
    """Resolve WHERE; when that fails, the select list is looked at too, so that its mistakes come in the same go."""
    try:
        return _condition(node, scope.within("WHERE"))
    except FlinkDdlError as error:
        raise joined(error, [lambda: _resolve(tree, scope)]) from None


def _condition(node: exp.Expression, scope: NameScope) -> Rex:
    rex = expressions.resolve_expression(node, scope)
    if rex.type.root not in (T.Root.BOOLEAN, T.Root.NULL):
        raise scope.context.error(
            "FD457", f"{scope.clause} needs a condition, this is {rex.type.summary}", node, "compare it with something"
        )
    return rex


def _resolve(tree: exp.Select, scope: NameScope) -> Parts:
    parts = Parts()
    items = scope.within("SELECT", aggregates=True, overs=True)
    having, qualify, order = tree.args.get("having"), tree.args.get("qualify"), tree.args.get("order")
    jobs: list[Callable[[], None]] = [partial(_item, item, items, parts) for item in tree.expressions]
    if having is not None:
        jobs.append(lambda: setattr(parts, "having", _condition(having.this, scope.within("HAVING", aggregates=True))))
    each(jobs)
    aliases = {i.alias: r for i, r in _aliased(tree, parts)}
    if qualify is not None:
        inner = replace(scope.within("QUALIFY", aggregates=True, overs=True), aliases=aliases)
        parts.qualify = _condition(qualify.this, inner)
        if not has(parts.qualify, OverRef):
            raise scope.context.error("FD455", "QUALIFY needs a window function", qualify.this, "filter in WHERE")
    if order is not None:
        inner = replace(scope.within("ORDER BY", aggregates=True, overs=True), aliases=aliases)
        parts.order = [_order_item(o, parts, inner) for o in order.expressions]
        if tree.args.get("distinct"):
            _check_distinct_order(order, parts, scope)
    return parts


def _aliased(tree: exp.Select, parts: Parts) -> list[tuple[exp.Expression, Rex]]:
    """Pair the items that have an alias with their values; stars may have widened the list, names tell."""
    by_name = dict(zip(parts.names, parts.items, strict=True))
    return [(i, by_name[i.alias]) for i in tree.expressions if isinstance(i, exp.Alias)]


def _item(item: exp.Expression, scope: NameScope, parts: Parts) -> None:
    inner = item.this if isinstance(item, exp.Alias) else item
    if isinstance(inner, exp.Star):
        expanded = scope.star((), inner)
    elif isinstance(inner, exp.Column) and isinstance(inner.this, exp.Star):
        expanded = scope.star(tuple(p.name for p in inner.parts[:-1]), inner)
    elif isinstance(inner, exp.Dot) and isinstance(inner.expression, exp.Star):
        value = expressions.resolve_expression(inner.this, scope)
        expanded = [(f.name, scope._nested(value, (f.name,), inner)) for f in value.type.fields]
    else:
        value = expressions.resolve_expression(inner, scope)
        typed(value, inner, scope.context)
        parts.names.append(item.alias if isinstance(item, exp.Alias) else _name(inner, len(parts.items), scope))
        parts.items.append(value)
        return
    parts.names += [n for n, _ in expanded]
    parts.items += [r for _, r in expanded]


def typed(value: Rex, node: exp.Expression, context: Context) -> Rex:
    """Return a value that has a type: a bare NULL is refused, as in Flink."""
    if value.type.root is T.Root.NULL:
        raise context.error("FD468", "a bare NULL has no type", node, "write CAST(NULL AS type)")
    return value


_BARE = frozenset(
    {"CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "CURRENT_ROW_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP"}
)


def _name(node: exp.Expression, position: int, scope: NameScope) -> str:
    """The name that an item without alias gets: its column's, a bare function word's, else EXPR$n."""
    inner = node
    while isinstance(inner, exp.Dot):
        inner = inner.this
    if isinstance(inner, exp.Column | exp.Identifier):
        return node.expression.name if isinstance(node, exp.Dot) else node.name
    span = scope.span(node)
    word = span.text if span is not None else ""
    return word if word.upper() in _BARE else f"EXPR${position}"


def _order_item(node: exp.Expression, parts: Parts, scope: NameScope) -> tuple[Rex, bool, bool]:
    inner = node.this if isinstance(node, exp.Ordered) else node
    if isinstance(inner, exp.Literal) and not inner.is_string:
        position = int(inner.this) if str(inner.this).isdigit() else 0
        if not 1 <= position <= len(parts.items):
            raise scope.context.error(
                "FD460", f"ORDER BY position {inner.this} is out of range, there are {len(parts.items)} columns", inner
            )
        _, descending, first = (None, False, True) if node is inner else _flags(node)
        return parts.items[position - 1], descending, first
    return special.ordered(node, scope)


def _flags(node: exp.Expression) -> tuple[None, bool, bool]:
    assert isinstance(node, exp.Ordered)
    return None, bool(node.args.get("desc")), special.nulls_first(node)


def _check_distinct_order(order: exp.Expression, parts: Parts, scope: NameScope) -> None:
    for node, (rex, _, _) in zip(order.expressions, parts.order, strict=True):
        if rex not in parts.items:
            raise scope.context.error(
                "FD461", f"'{node.this.sql(dialect='flink')}' is not in the SELECT DISTINCT list", node
            )


def _project(node: Node, parts: Parts, tree: exp.Select, context: Context) -> Node:
    """The select items, and behind them what ORDER BY needs and does not select; hidden again above the sort."""
    hidden = [e for e, _, _ in parts.order if e not in parts.items]
    exprs = [*parts.items, *hidden]
    node, exprs = subqueries.attach(node, exprs, context)
    names = [*parts.names, *(f"$o{i}" for i in range(len(hidden)))]
    places = [*parts.items, *hidden]
    node = make.project(node, exprs, names)
    if tree.args.get("distinct"):
        node = distinct(node)
    if not parts.order:
        return node
    keys = tuple(SortKey(places.index(e), d, n) for e, d, n in parts.order)
    node = _sort(node, keys, tree, context)
    return make.keep(node, range(len(parts.items)))


def distinct(node: Node) -> Node:
    """Return SELECT DISTINCT over all fields."""
    below = node.input if isinstance(node, Project) else node
    if isinstance(below, Aggregate) and unique_key(node) is not None:
        return node
    return Aggregate(input=node, keys=tuple(range(len(node.fields))), fields=node.fields)


def _sort(node: Node, keys: tuple[SortKey, ...], tree: exp.Expression, context: Context) -> Node:
    offset, fetch = limits(tree, context)
    return Sort(input=node, order=keys, offset=offset, fetch=fetch, fields=node.fields, span=_sort_span(tree, context))


def _sort_span(tree: exp.Expression, context: Context) -> Span | None:
    return context.span(tree.args.get("order") or tree.args.get("limit"))


def order_output(node: Node, tree: exp.Expression, context: Context, names: Sequence[str]) -> Node:
    """ORDER BY and LIMIT of a set operation or VALUES: over output columns only."""
    order = tree.args.get("order")
    if order is None:
        return limit(node, tree, context)
    from flinkddl.plan.build.names import Entry, Relation

    scope = NameScope(context, Relation(node, (Entry(None, tuple(names), 0),)), clause="ORDER BY")
    parts = Parts(list(names), list(make.refs(node)))
    items = [_order_item(o, parts, scope) for o in order.expressions]
    width = len(node.fields)
    node, places = make.append(node, [e for e, _, _ in items])
    keys = tuple(SortKey(p, d, n) for p, (_, d, n) in zip(places, items, strict=True))
    return make.keep(_sort(node, keys, tree, context), range(width))


def limit(node: Node, tree: exp.Expression, context: Context) -> Node:
    """LIMIT / OFFSET / FETCH without ORDER BY."""
    offset, fetch = limits(tree, context)
    if tree.args.get("order") is not None or (fetch is None and not offset):
        return node
    return Sort(input=node, order=(), offset=offset, fetch=fetch, fields=node.fields, span=_sort_span(tree, context))


def limits(tree: exp.Expression, context: Context) -> tuple[int, int | None]:
    """Return (offset, fetch) of a query; fetch None is without end."""
    offset, limited = tree.args.get("offset"), tree.args.get("limit")
    fetch: int | None = None
    if isinstance(limited, exp.Fetch):
        count = limited.args.get("count")
        fetch = 1 if count is None else _whole(count, context)
    elif limited is not None and limited.expression is not None and limited.expression.name.upper() != "ALL":
        fetch = _whole(limited.expression, context)
    return (_whole(offset.expression, context) if offset is not None else 0), fetch


def _whole(node: exp.Expression, context: Context) -> int:
    if isinstance(node, exp.Literal) and str(node.this).isdigit():
        return int(node.this)
    raise context.error("FD460", "LIMIT and OFFSET take a whole number", node)
