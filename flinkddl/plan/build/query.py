"""Queries of every kind: SELECT, set operations, VALUES, parenthesised queries, WITH."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from flinkddl.functions.typing import common_type
from flinkddl.plan import make
from flinkddl.plan.expressions import resolve as expressions
from flinkddl.plan.build import setops
from flinkddl.plan.build.names import NameScope, Relation
from flinkddl.plan.nodes import Field, Values

if TYPE_CHECKING:
    from flinkddl.plan.context import Context
    from flinkddl.plan.nodes import Node
    from flinkddl.plan.rex import Rex


@dataclass
class Cte:
    """A WITH query: planned when first used, then shared."""

    tree: exp.CTE
    visible: dict[str, Any]
    plan: Node | None = field(default=None)


def build_query(
    tree: exp.Expression, context: Context, outer: NameScope | None = None, ctes: dict[str, Any] | None = None
) -> Node:
    """Build the plan of a query. ``outer`` is the scope around a subquery, ``ctes`` the WITH queries in sight."""
    from flinkddl.plan.build.select import build_select, order_output

    visible = _with(tree, context, ctes or {})
    match tree:
        case exp.Select():
            return build_select(tree, context, outer, visible)
        case exp.SetOperation():
            node = setops.build(tree, context, outer, visible)
        case exp.Values():
            node = build_values(tree, context, outer, visible)
        case exp.Subquery():
            node = build_query(tree.this, context, outer, visible)
        case exp.Table():
            from flinkddl.plan.build.from_ import table_entry

            node = table_entry(tree, context, outer, visible).node
        case _:
            raise context.error("FD465", f"a {tree.key} is no query", tree)
    return order_output(node, tree, context, [f.name for f in node.fields])


def _with(tree: exp.Expression, context: Context, ctes: dict[str, Any]) -> dict[str, Any]:
    with_ = tree.args.get("with_")
    if with_ is None:
        return ctes
    if with_.args.get("recursive"):
        raise context.error(
            "FD512", "WITH RECURSIVE cannot be planned", with_.expressions[0], "neither Flink nor Spark streams iterate"
        )
    visible = dict(ctes)
    for cte in with_.expressions:
        visible[cte.alias] = Cte(cte, dict(visible))
    return visible


def cte_plan(cte: Cte, context: Context) -> Node:
    """Return the plan of a WITH query, made once."""
    if cte.plan is None:
        cte.plan = build_query(cte.tree.this, context, None, cte.visible)
        columns = cte.tree.args["alias"].args.get("columns") or ()
        if columns:
            cte.plan = renamed(cte.plan, columns, context, cte.tree.args["alias"])
    return cte.plan


def renamed(node: Node, columns: list[exp.Expression], context: Context, where: exp.Expression) -> Node:
    """Return the node under a list of column aliases; their number must fit."""
    if len(columns) != len(node.fields):
        names = ", ".join(f"'{f.name}'" for f in node.fields)
        raise context.error(
            "FD466",
            f"{len(columns)} column aliases for {len(node.fields)} columns ({names})",
            where,
            "name every column or none",
        )
    return make.rename(node, [c.name for c in columns])


def build_values(
    tree: exp.Values, context: Context, outer: NameScope | None = None, ctes: dict[str, Any] | None = None
) -> Node:
    """VALUES: each row becomes constants; columns take their common type and are called EXPR$0, EXPR$1, ..."""
    from flinkddl.plan.build.select import typed

    empty = Relation(Values(fields=(), rows=((),)))
    scope = NameScope(context, empty, clause="VALUES", outer=outer, ctes=ctes or {})
    rows: list[tuple[Rex, ...]] = []
    for row in tree.expressions:
        items = row.expressions if isinstance(row, exp.Tuple) else [row]
        rows.append(tuple(typed(expressions.resolve_expression(i, scope), i, context) for i in items))
        if len(rows[-1]) != len(rows[0]):
            raise context.error("FD463", f"VALUES rows differ in length: {len(rows[0])} and {len(rows[-1])}", row)
    fields = []
    for i, column in enumerate(zip(*rows, strict=True)):
        common = common_type([v.type for v in column])
        if common is None:
            types = " and ".join(dict.fromkeys(v.type.summary for v in column))
            raise context.error(
                "FD463", f"column {i + 1} of VALUES mixes types: {types}", tree, "cast them to one type"
            )
        fields.append(Field(f"EXPR${i}", common))
    values = tuple(tuple(expressions.cast(v, f.type) for v, f in zip(row, fields, strict=True)) for row in rows)
    return Values(fields=tuple(fields), rows=values)
