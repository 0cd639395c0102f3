"""PRIMARY KEYs that older sinks did not declare: Flink 1.10 took them from the query (UpsertStreamTableSink)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.catalog.apply import HANDLERS, apply
from flinkddl.catalog.context import parts
from flinkddl.catalog.state import Catalog
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.dialect import nodes
from flinkddl.options.legacy_names import CONNECTORS, NO_CONNECTOR
from flinkddl.plan.builder.hooks import added, context_of, hooks
from flinkddl.plan.builder.planner import plan_query
from flinkddl.plan.changelog import infer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlglot import exp

    from flinkddl.diagnostics import SourceText
    from flinkddl.dialect.script import Script


def missing_keys(
    script: Script, source: SourceText, names: set[tuple[str, ...]]
) -> Iterator[tuple[nodes.CreateTable, list[str]]]:
    """Yield tables of these names that a query updates and that declare no PRIMARY KEY, with the columns of the key."""
    catalog = Catalog()
    tables: dict[tuple[str, ...], nodes.CreateTable] = {}
    for statement in script.statements:
        tree = statement.tree
        if type(tree) in HANDLERS and not isinstance(tree, nodes.Drop):
            catalog = _applied(catalog, tree, source)
        if isinstance(tree, nodes.CreateTable) and parts(tree.this) in names and _lacks_key(tree):
            tables[parts(tree.this)] = tree
        inserts = tree.expressions if isinstance(tree, nodes.StatementSet) else [tree]
        for insert in inserts:
            if not isinstance(insert, nodes.Insert):
                continue
            table = tables.get(parts(insert.this))
            columns = _columns(insert, table, catalog, source) if table is not None else None
            if table is not None and columns:
                yield tables.pop(parts(insert.this)), columns


def _applied(catalog: Catalog, tree: exp.Expression, source: SourceText) -> Catalog:
    try:
        after, _ = apply(catalog, tree, source, hooks(source))
        if isinstance(tree, nodes.CreateTable | nodes.CreateView):
            added(catalog, after, catalog.path(parts(tree.this)))
    except FlinkDdlError:
        return catalog
    return after


def _lacks_key(table: nodes.CreateTable) -> bool:
    connector = next((o.expression.name for o in table.args.get("options") or [] if o.this.name == "connector"), "")
    return (
        CONNECTORS.get(connector, NO_CONNECTOR).keyed
        and not any(table.find_all(nodes.PrimaryKey))
        and bool(_physical(table))
    )


def _physical(table: nodes.CreateTable) -> list[nodes.Column]:
    return [e for e in table.args.get("elements") or [] if isinstance(e, nodes.Column)]


def _columns(insert: nodes.Insert, table: nodes.CreateTable, catalog: Catalog, source: SourceText) -> list[str] | None:
    """Return the columns of a sink that hold the key by which its query updates rows; None where there is none."""
    try:
        mode = infer(plan_query(insert.expression, context_of(catalog, source)).node)
    except FlinkDdlError:
        return None
    if mode.append or not mode.keys:
        return None
    given = [c.name for c in insert.args.get("columns") or []]
    targets = given or [c.this.name for c in _physical(table)]
    written = {c.this.name: c.this for c in _physical(table)}
    key = min(mode.keys, key=lambda k: (len(k), sorted(k)))
    if not key or any(i >= len(targets) or targets[i] not in written for i in key):
        return None
    return [_text(written[targets[i]], source) for i in sorted(key)]


def _text(node: object, source: SourceText) -> str:
    start, end = nodes.span_of(node)  # type: ignore[arg-type,misc]
    return source.text[start:end]
