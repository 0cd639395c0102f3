"""FROM: tables, views, WITH queries, subqueries, VALUES, window table functions, and the joins between them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from flinkddl.catalog.model import OptionText, View
from flinkddl.diagnostics import FlinkDdlError, did_you_mean, joined
from flinkddl.dialect import nodes as tree_nodes
from flinkddl.plan import make
from flinkddl.plan.build import joins
from flinkddl.plan.build import tables
from flinkddl.plan.build import tvf
from flinkddl.plan.build.names import Entry, NameScope, Relation
from flinkddl.plan.nodes import Project, Sort, Values
from flinkddl.plan.build.query import Cte, build_query, build_values, cte_plan, renamed

if TYPE_CHECKING:
    from flinkddl.plan.context import Context
    from flinkddl.plan.nodes import Node

ONE_ROW = Values(fields=(), rows=((),))


def build_from(tree: exp.Select, context: Context, outer: NameScope | None, ctes: dict[str, Any]) -> Relation:
    """Build the FROM clause of a SELECT; without one it is a single row of no columns."""
    if tree.args.get("match") is not None:
        raise _match_recognize(tree.args["match"], context)
    from_ = tree.args.get("from_")
    if from_ is None:
        for clause in ("where", "group", "having", "qualify"):
            if tree.args.get(clause) is not None:
                raise context.error("FD462", f"{clause.upper()} needs a FROM clause", tree.args[clause])
        return Relation(ONE_ROW)
    others = list(tree.args.get("joins") or ())
    try:
        relation = table_entry(from_.this, context, outer, ctes)
        while others:
            relation = joins.join(relation, others.pop(0), context, outer, ctes)
    except FlinkDdlError as error:
        later = [o.this for o in others if isinstance(o.this, exp.Table | exp.Subquery)]
        raise joined(error, [partial(table_entry, t, context, outer, ctes) for t in later]) from None
    return relation


def _match_recognize(node: exp.Expression, context: Context) -> Exception:
    return context.error(
        "FD511",
        "MATCH_RECOGNIZE is not available on Spark",
        node,
        "use LAG over the same order for neighbouring rows, or a PySpark transformWithState over the table",
    )


def table_entry(node: exp.Expression, context: Context, outer: NameScope | None, ctes: dict[str, Any]) -> Relation:
    """Build one table of a FROM clause. Raises FlinkDdlError for what is unknown or cannot stand there."""
    _refuse_modifiers(node, context)
    match node:
        case exp.Table():
            relation = _named(node, context, ctes)
        case exp.Subquery() | exp.Paren() if isinstance(node.this, exp.Table):
            relation = table_entry(node.this, context, outer, ctes)
        case exp.Subquery():
            relation = derived(unsorted(build_query(node.this, context, outer, ctes)), node, context)
        case exp.Select() | exp.SetOperation():
            relation = derived(build_query(node, context, outer, ctes), node, context)
        case exp.Values():
            relation = derived(build_values(node, context, outer, ctes), node, context)
        case exp.Unnest():
            return joins.unnest(Relation(ONE_ROW), node, "inner", None, context, outer, ctes)
        case tree_nodes.TableFunction():
            relation = tvf.table_function(node, Relation(ONE_ROW), context, outer, ctes)
        case exp.Lateral():
            relation = table_entry(_with_alias(node), context, outer, ctes)
        case tree_nodes.TemporalTable():
            raise context.error(
                "FD509",
                "FOR SYSTEM_TIME AS OF stands on the right side of a join",
                node,
                "write 'left_table JOIN versioned_table FOR SYSTEM_TIME AS OF left_table.time_column ON ...'",
            )
        case _:
            match_ = node.args.get("match") or (node if type(node).__name__ == "MatchRecognize" else None)
            if match_ is not None:
                raise _match_recognize(match_, context)
            raise context.error("FD465", "this cannot stand in FROM", node)
    for join in node.args.get("joins") or ():
        relation = joins.join(relation, join, context, outer, ctes)
    return relation


def unsorted(plan: Node) -> Node:
    """Drop the ORDER BY of a subquery in FROM: without a LIMIT it means nothing."""
    match plan:
        case Sort(fetch=None, offset=0):
            return plan.input
        case Project(input=Sort(fetch=None, offset=0) as sort):
            return replace(plan, input=sort.input)
        case _:
            return plan


def _with_alias(node: exp.Lateral) -> exp.Expression:
    inner = node.this.copy()
    if node.args.get("alias") is not None:
        inner.set("alias", node.args["alias"].copy())
    return inner


def _refuse_modifiers(node: exp.Expression, context: Context) -> None:
    if node.args.get("match") is not None:
        raise _match_recognize(node.args["match"], context)
    if node.args.get("sample") is not None:
        raise context.error("FD513", "TABLESAMPLE cannot be planned", node, "filter on a hash of a column instead")
    if node.args.get("pivots"):
        raise context.error("FD513", "PIVOT and UNPIVOT cannot be planned", node, "use SUM(..) FILTER (WHERE ..)")


def _named(node: exp.Table, context: Context, ctes: dict[str, Any]) -> Relation:
    parts = tuple(p.name for p in node.parts)
    hints = option_hints(node)
    cte = ctes.get(parts[0]) if len(parts) == 1 else None
    if isinstance(cte, Cte):
        _no_hints(hints, "a WITH query", node, context)
        return derived(cte_plan(cte, context), node, context, parts[0])
    found = context.catalog.find(parts)
    if found is None:
        known = [*ctes, *context.catalog.names()]
        raise context.error(
            "FD452", f"table or view '{'.'.join(parts)}' not found", node, did_you_mean(parts[-1], known)
        )
    path = (found.path.catalog, found.path.database, found.path.name)
    if isinstance(found, View):
        _no_hints(hints, "a view", node, context)
        plan = view_plan(found, context)
    else:
        plan = tables.scan(found, context, hints, context.span(node))
    relation = derived(plan, node, context, parts[-1])
    entry = relation.entries[0]
    return replace(relation, entries=(replace(entry, path=path if not node.alias else ()),))


def option_hints(node: exp.Expression) -> dict[str, OptionText] | None:
    """Return the OPTIONS hint of a table reference, or None."""
    hints = node.args.get("hints")
    found: dict[str, OptionText] = {}
    for hint in hints if isinstance(hints, list) else [hints]:
        if isinstance(hint, tree_nodes.OptionsHint):
            found |= {o.this.name: OptionText(o.expression.name) for o in hint.expressions}
    return found or None


def _no_hints(hints: dict[str, OptionText] | None, what: str, node: exp.Expression, context: Context) -> None:
    if hints is not None:
        raise context.error(
            "FD518", f"an OPTIONS hint has no meaning on {what}", node, "put it on the table inside the query"
        )


def view_plan(view: View, context: Context) -> Node:
    """Return the plan of a view's query with the view's column names, made once per statement."""
    made = context.plans.get(id(view))
    if made is not None:
        return made[1]
    if str(view.path) in context.open_views:
        raise context.error("FD452", f"view '{view.path}' refers to itself")
    inner = context.in_view(view)
    plan = build_query(view.query, inner)
    names = view.columns or make.unique([f.name for f in plan.fields])
    if len(names) != len(plan.fields):
        message = f"view '{view.path}' names {len(names)} columns, its query has {len(plan.fields)}"
        raise inner.error("FD466", message, view.query, "name every column or none")
    plan = make.rename(plan, names)
    context.plans[id(view)] = (view, plan)
    return plan


def derived(plan: Node, node: exp.Expression, context: Context, name: str | None = None) -> Relation:
    """Give a plan its name in FROM: the alias, with column names if the alias has any."""
    alias = node.args.get("alias")
    columns = alias.args.get("columns") if isinstance(alias, exp.TableAlias) else None
    if columns and alias is not None:
        plan = renamed(plan, columns, context, alias)
    shown = node.alias or name
    return Relation(plan, (Entry(shown or None, tuple(f.name for f in plan.fields), 0),))
