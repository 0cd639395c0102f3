"""One SELECT: items, GROUP BY, HAVING, windows, QUALIFY, DISTINCT, ORDER BY, LIMIT over its FROM.

Every expression is resolved over the FROM clause first, with placeholders for what other nodes deliver; then stage by
stage (grouping, OVER, subqueries) the placeholders become columns of the plan.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from sqlglot import exp

from flinkddl.diagnostics import FlinkDdlError, each, joined
from flinkddl.plan import make
from flinkddl.plan.builder import grouping, ordering, over, subqueries
from flinkddl.plan.builder.base import QUERIES, Builder
from flinkddl.plan.builder.from_ import build_from
from flinkddl.plan.builder.hints import apply_hints, with_group_ttl
from flinkddl.plan.builder.placeholders import AggRef, GroupingRef, OverRef, Parts, WindowPropertyRef, has
from flinkddl.plan.nodes import Aggregate, Project

if TYPE_CHECKING:
    from collections.abc import Callable

    from flinkddl.plan.builder.base import NameScope
    from flinkddl.plan.nodes import Node
    from flinkddl.plan.rex import Rex

_GROUPED = (AggRef, GroupingRef, WindowPropertyRef)


@QUERIES(exp.Select)
def _select(build: Builder, tree: exp.Select) -> Node:
    """Build the plan of a SELECT; its output names may repeat (``make.unique`` comes at the top)."""
    relation = apply_hints(tree, build_from(build, tree), build.context)
    windows = {w.this.name: w for w in tree.args.get("windows") or ()}
    where, group = tree.args.get("where"), tree.args.get("group")
    scope = replace(build.scope(relation), windows=windows, grouped=grouping.has_keys(group))
    if where is not None:
        node = subqueries.filter_on(relation.node, _where(where.this, tree, scope))
        scope = replace(scope, relation=relation.over(node))
    parts = _resolve(tree, scope)
    node = scope.relation.node
    if group is not None or parts.having is not None or any(has(r, *_GROUPED) for r in parts.all()):
        node = grouping.group(node, group, parts, scope)
    node = with_group_ttl(node, tree, relation, build.context)
    if parts.having is not None:
        node = subqueries.filter_on(node, parts.having)
        parts.having = None
    if any(has(r, OverRef) for r in parts.all()):
        node = over.apply(node, parts, scope.session)
    if parts.qualify is not None:
        node = subqueries.filter_on(node, parts.qualify)
        parts.qualify = None
    return ordering.limit(build, _project(build, node, parts, tree), tree)


def _where(node: exp.Expression, tree: exp.Select, scope: NameScope) -> Rex:
    """Resolve WHERE; when that fails, all else is looked at too, so that its mistakes come in the same go."""
    try:
        return scope.within("WHERE").condition(node)
    except FlinkDdlError as error:
        rest = (lambda: _parts(tree, scope), lambda: grouping.look(tree.args.get("group"), scope))
        raise joined(error, rest) from None


def _resolve(tree: exp.Select, scope: NameScope) -> Parts:
    """Resolve all but WHERE and GROUP BY; when that fails, the keys of GROUP BY are looked at too."""
    try:
        return _parts(tree, scope)
    except FlinkDdlError as error:
        raise joined(error, [lambda: grouping.look(tree.args.get("group"), scope)]) from None


def _parts(tree: exp.Select, scope: NameScope) -> Parts:
    parts = Parts()
    items = scope.within("SELECT", aggregates=True, overs=True)
    having, qualify, order = tree.args.get("having"), tree.args.get("qualify"), tree.args.get("order")
    jobs: list[Callable[[], None]] = [partial(_item, item, items, parts) for item in tree.expressions]
    if having is not None:
        within = scope.within("HAVING", aggregates=True)
        jobs.append(lambda: setattr(parts, "having", within.condition(having.this)))
    each(jobs)
    by_name = dict(zip(parts.names, parts.items, strict=True))
    aliases = {i.alias: by_name[i.alias] for i in tree.expressions if isinstance(i, exp.Alias)}
    if qualify is not None:
        inner = replace(scope.within("QUALIFY", aggregates=True, overs=True), aliases=aliases)
        parts.qualify = inner.condition(qualify.this)
        if not has(parts.qualify, OverRef):
            raise scope.error("FD455", "QUALIFY needs a window function", qualify.this, "filter in WHERE")
    if order is not None:
        inner = replace(scope.within("ORDER BY", aggregates=True, overs=True), aliases=aliases)
        parts.order = [ordering.item(o, parts, inner) for o in order.expressions]
        if tree.args.get("distinct"):
            _check_distinct_order(order, parts, scope)
    return parts


def _item(item: exp.Expression, scope: NameScope, parts: Parts) -> None:
    named = isinstance(item, exp.Alias)
    inner = item.this if named else item
    found = _star(inner, scope)
    if found is None:
        value = scope.typed(inner)
        found = [(item.alias if named else _name(inner, len(parts.items), scope), value)]
    elif named:
        raise scope.error("FD403", "'*' stands for several columns and takes no alias", item, "leave the alias out")
    parts.names += [n for n, _ in found]
    parts.items += [r for _, r in found]


def _star(node: exp.Expression, scope: NameScope) -> list[tuple[str, Rex]] | None:
    if isinstance(node, exp.Star):
        return scope.star((), node)
    if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
        return scope.star(tuple(p.name for p in node.parts[:-1]), node)
    if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Star):
        value = scope.value(node.this)
        return [(f.name, scope.nested(value, (f.name,), node)) for f in value.type.fields]
    return None


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


def _check_distinct_order(order: exp.Expression, parts: Parts, scope: NameScope) -> None:
    for node, (rex, _, _) in zip(order.expressions, parts.order, strict=True):
        if rex not in parts.items:
            text = node.this.sql(dialect="flink")
            raise scope.error("FD461", f"'{text}' is not in the SELECT DISTINCT list", node)


def _project(build: Builder, node: Node, parts: Parts, tree: exp.Expression) -> Node:
    """The select items, and behind them what ORDER BY needs and does not select; hidden again above the sort."""
    hidden = [e for e, _, _ in parts.order if e not in parts.items]
    wanted = [*parts.items, *hidden]
    node, exprs = subqueries.attach(node, wanted)
    node = make.project(node, exprs, [*parts.names, *(f"$o{i}" for i in range(len(hidden)))])
    if tree.args.get("distinct"):
        below = node.input if isinstance(node, Project) else node
        if not isinstance(below, Aggregate) or not node.unique_key():
            node = make.distinct(node)
    if not parts.order:
        return node
    node = ordering.sort(build, node, (wanted.index(e) for e, _, _ in parts.order), parts.order, tree)
    return make.keep(node, range(len(parts.items)))
