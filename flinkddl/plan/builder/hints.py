"""Query hints: STATE_TTL reaches the joins and the GROUP BY; the others are checked for their table names and noted."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from flinkddl.diagnostics import did_you_mean
from flinkddl.dialect import nodes as tree_nodes
from flinkddl.dialect.hints import TABLES
from flinkddl.options.values import parse_duration
from flinkddl.plan.nodes import Aggregate, Filter, Join, Project

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlglot import exp

    from flinkddl.plan.builder.names import Relation
    from flinkddl.plan.context import Context
    from flinkddl.plan.nodes import Node


def apply_hints(tree: exp.Select, relation: Relation, context: Context) -> Relation:
    """Return the FROM clause with STATE_TTL on its joins. Raises FlinkDdlError (FD518) for unknown tables."""
    hint = tree.args.get("hint")
    if hint is None:
        return relation
    known = _aliases(relation)
    ttl = _state_ttl(hint, known, context)
    for name, o in _options(hint):
        if name == "LOOKUP" and isinstance(o, tree_nodes.Option) and o.this.name == "table":
            _table(o.expression, known, name, context)
        elif name in TABLES:
            _table(o, known, name, context)
    return relation.over(_with_ttl(relation.node, relation, ttl)) if ttl else relation


def _aliases(relation: Relation) -> list[str]:
    return [e.alias for e in relation.entries if e.alias]


def _state_ttl(hint: exp.Expression, known: list[str], context: Context) -> dict[str, int]:
    ttl: dict[str, int] = {}
    for name, o in _options(hint):
        if name == "STATE_TTL":
            ttl.setdefault(_table(o.this, known, name, context), _duration(o, context))
    return ttl


def _options(hint: exp.Expression) -> Iterator[tuple[str, exp.Expression]]:
    """Yield what stands in each hint, after the hint's name."""
    for h in hint.expressions:
        if isinstance(h, tree_nodes.QueryHint):
            yield from ((str(h.this).upper(), o) for o in h.expressions)


def with_group_ttl(node: Node, tree: exp.Select, relation: Relation, context: Context) -> Node:
    """Return a SELECT's GROUP BY with the STATE_TTL of the one table it reads; of several, the joins have them."""
    hint = tree.args.get("hint")
    if hint is None or len(relation.entries) != 1:
        return node
    ttl = _state_ttl(hint, _aliases(relation), context)
    return _on_aggregate(node, next(iter(ttl.values()))) if ttl else node


def _on_aggregate(node: Node, ttl: int) -> Node:
    match node:
        case Aggregate():
            return replace(node, ttl=ttl)
        case Project() | Filter():
            return replace(node, input=_on_aggregate(node.input, ttl))
    return node


def _table(node: exp.Expression, known: list[str], hint: str, context: Context) -> str:
    name = node.name
    if name.rpartition(".")[2] not in known:
        help_ = did_you_mean(name, known) or "a table with an alias goes by its alias"
        raise context.error("FD518", f"hint {hint} names '{name}', which is no table of this SELECT", node, help_)
    return name.rpartition(".")[2]


def _duration(option: exp.Expression, context: Context) -> int:
    text = option.expression.name
    try:
        return parse_duration(text)
    except ValueError:
        raise context.error("FD518", f"'{text}' is no duration", option.expression, "write '1 d' or '12 h'") from None


def _with_ttl(node: Node, relation: Relation, ttl: dict[str, int]) -> Node:
    """Set the hint on every join of the left spine, for the tables that stand directly on either side."""
    if not isinstance(node, Join):
        return node
    left = _with_ttl(node.left, relation, ttl)
    width = len(node.left.fields)
    names = {e.start: e.alias for e in relation.entries}
    below = None if isinstance(node.left, Join) else ttl.get(names.get(0) or "")
    return replace(node, left=left, ttl=(below, ttl.get(names.get(width) or "")))
