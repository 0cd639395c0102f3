"""FROM: tables, views, WITH queries, subqueries, VALUES; what else stands there has files of its own."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from sqlglot import exp

from flinkddl.catalog.model import View
from flinkddl.diagnostics import FlinkDdlError, joined
from flinkddl.dialect import nodes as tree_nodes
from flinkddl.plan import make
from flinkddl.plan.builder import tables
from flinkddl.plan.builder.base import TABLES, Builder
from flinkddl.plan.builder.names import ONE_ROW, Relation
from flinkddl.plan.nodes import Project, Sort

if TYPE_CHECKING:
    from flinkddl.plan.nodes import Node


def build_from(build: Builder, tree: exp.Select) -> Relation:
    """Build the FROM clause of a SELECT; without one it is a single row of no columns."""
    from_ = tree.args.get("from_")
    if from_ is None:
        for clause in ("where", "group", "having", "qualify"):
            if tree.args.get(clause) is not None:
                raise build.error("FD462", f"{clause.upper()} needs a FROM clause", tree.args[clause])
        return ONE_ROW
    others = list(tree.args.get("joins") or ())
    try:
        relation = build.relation(from_.this)
        while others:
            relation = build.join(relation, others.pop(0))
    except FlinkDdlError as error:
        later = [o.this for o in others if isinstance(o.this, exp.Table | exp.Subquery)]
        raise joined(error, [partial(build.relation, t) for t in later]) from None
    return relation


@TABLES(exp.Subquery, exp.Paren)
def _in_parentheses(build: Builder, tree: exp.Expression) -> Relation:
    if isinstance(tree.this, exp.Table):
        return build.relation(tree.this)
    return build.named(_unsorted(build.query(tree.this)), tree)


@TABLES(exp.Select, exp.SetOperation, exp.Values)
def _derived(build: Builder, tree: exp.Expression) -> Relation:
    return build.named(build.query(tree), tree)


def _unsorted(plan: Node) -> Node:
    """Drop the ORDER BY of a subquery in FROM: without a LIMIT it means nothing."""
    match plan:
        case Sort(fetch=None, offset=0):
            return plan.input
        case Project(input=Sort(fetch=None, offset=0) as sort):
            return replace(plan, input=sort.input)
        case _:
            return plan


_REFUSED: dict[type, tuple[str, str, str]] = {
    tree_nodes.TemporalTable: (
        "FD509",
        "FOR SYSTEM_TIME AS OF stands on the right side of a join",
        "write 'left_table JOIN versioned_table FOR SYSTEM_TIME AS OF left_table.time_column ON ...'",
    ),
    tree_nodes.MatchRecognize: (
        "FD511",
        "MATCH_RECOGNIZE is not available on Spark",
        "use LAG over the same order for neighbouring rows, or a PySpark transformWithState over the table",
    ),
}


@TABLES(*_REFUSED)
def _refused(build: Builder, tree: exp.Expression) -> Relation:
    code, message, help = _REFUSED[type(tree)]
    raise build.error(code, message, tree, help)


@TABLES(exp.Table)
def _table(build: Builder, tree: exp.Table) -> Relation:
    context = build.context
    parts = tuple(p.name for p in tree.parts)
    hints = tables.option_hints(tree, context)
    cte = build.ctes.get(parts[0]) if len(parts) == 1 else None
    found = context.catalog.find(parts) if cte is None else None
    if hints is not None and (cte is not None or isinstance(found, View)):
        what = "a view" if cte is None else "a WITH query"
        help = "put it on the table inside the query"
        raise build.error("FD518", f"an OPTIONS hint has no meaning on {what}", tree, help)
    if cte is not None:
        return build.named(cte(), tree, parts[0])
    if found is None:
        raise context.not_found("table or view", tree, build.ctes if len(parts) == 1 else ())
    plan = view_plan(build, found) if isinstance(found, View) else tables.scan(found, context, hints, build.span(tree))
    relation = build.named(plan, tree, parts[-1])
    if tree.alias:
        return relation
    path = (found.path.catalog, found.path.database, found.path.name)
    return replace(relation, entries=(replace(relation.entries[0], path=path),))


def view_plan(build: Builder, view: View) -> Node:
    """Return the plan of a view's query with the view's column names, made once per statement."""
    context = build.context
    made = context.plans.get(id(view))
    if made is not None:
        return made[1]
    if str(view.path) in context.open_views:
        raise build.error("FD452", f"view '{view.path}' refers to itself")
    inner = Builder(context.in_view(view))
    plan = inner.query(view.query)
    names = view.columns or make.unique([f.name for f in plan.fields])
    if len(names) != len(plan.fields):
        message = f"view '{view.path}' names {len(names)} columns, its query has {len(plan.fields)}"
        raise inner.error("FD466", message, view.query, "name every column or none")
    plan = make.rename(plan, names)
    context.plans[id(view)] = (view, plan)
    return plan
