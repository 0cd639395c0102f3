"""Statements folded into the catalog: one function per kind of statement, found through a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.catalog import alter, jars, objects, session, tables
from flinkddl.catalog.context import Context, Hooks, dotted, parts
from flinkddl.catalog.like import merge
from flinkddl.catalog.model import Table
from flinkddl.diagnostics import About, FlinkDdlError
from flinkddl.dialect import nodes

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlglot import exp

    from flinkddl.catalog.model import ObjectPath
    from flinkddl.catalog.state import Catalog
    from flinkddl.diagnostics import Diagnostic, SourceText


def apply(
    catalog: Catalog, statement: exp.Expression, source: SourceText, hooks: Hooks | None = None
) -> tuple[Catalog, tuple[Diagnostic, ...]]:
    """Return the catalog after a statement and the findings; with an error among them it is the catalog before."""
    handler = HANDLERS.get(type(statement))
    if handler is None:
        return catalog, ()
    ctx = Context(source, hooks=hooks or Hooks(), strict=catalog.settings.flinkddl_strict)
    try:
        after = handler(catalog, statement, ctx)
    except FlinkDdlError as error:
        ctx.bag.extend(error.diagnostics)
    return (catalog if ctx.bag.has_errors else after), tuple(ctx.bag)


def create_table(catalog: Catalog, statement: exp.Expression, ctx: Context) -> Catalog:
    """CREATE TABLE in all its forms, REPLACE included."""
    path = catalog.path(parts(statement.this))
    if not objects.database_exists(catalog, path, statement.this, ctx):
        return catalog
    existing = catalog.of_kind(path, bool(statement.args.get("temporary")))
    mode = statement.args.get("mode") or "CREATE"
    if existing is not None and mode == "CREATE":
        if not statement.args.get("exists"):
            message = f"table '{dotted(parts(statement.this))}' already exists"
            ctx.error("FD304", message, statement.this, "drop it first, or write IF NOT EXISTS")
        return catalog
    if mode == "REPLACE" and existing is None:
        name = dotted(parts(statement.this))
        message = f"table '{name}' does not exist and can not be replaced"
        ctx.error("FD303", message, statement.this, "write CREATE OR REPLACE TABLE", About(name))
    table = _table(catalog, path, statement, ctx)
    if not ctx.bag.has_errors and ctx.hooks.check is not None:
        ctx.bag.extend(ctx.hooks.check(catalog, table))
    if ctx.bag.has_errors:
        tables.blame_connector(table.options, ctx)
    return catalog.with_object(table)


def _table(catalog: Catalog, path: ObjectPath, statement: exp.Expression, ctx: Context) -> Table:
    draft = tables.read(statement, ctx)
    own = frozenset(draft.names())
    if connection := statement.args.get("connection"):
        ctx.error("FD316", "connections are not available", connection, "write the options into the WITH clause")
    if like := statement.args.get("like"):
        base = objects.require(catalog, like.this, ctx)
        if isinstance(base, Table):
            merge(draft, base, like, ctx)
        elif base is not None:
            ctx.error("FD310", f"'{dotted(parts(like.this))}' is a view and can not be the base of LIKE", like.this)
    if statement.args.get("expression") is not None:
        _as_query(catalog, draft, statement, ctx)
    tables.note_nullable_key(draft, own, ctx)
    tables.finish(draft, ctx, statement.this)
    return draft.table(path, statement, ctx)


def _as_query(catalog: Catalog, draft: tables.Draft, statement: exp.Expression, ctx: Context) -> None:
    if statement.args.get("temporary"):
        ctx.error("FD318", "CREATE TABLE AS can not make a temporary table", statement.this, "remove TEMPORARY")
    if draft.partition_keys:
        ctx.error("FD318", "CREATE TABLE AS can not make a partitioned table", statement.this)
    if ctx.hooks.schema is not None:
        query: exp.Expression = statement.args["expression"]
        tables.with_query(draft, ctx.hooks.schema(catalog, query), statement, ctx)


HANDLERS: dict[type[exp.Expression], Callable[[Catalog, exp.Expression, Context], Catalog]] = {
    nodes.CreateTable: create_table,
    nodes.CreateView: objects.create_view,
    nodes.CreateCatalog: objects.create_catalog,
    nodes.CreateDatabase: objects.create_database,
    nodes.CreateFunction: objects.create_function,
    nodes.Drop: objects.drop,
    nodes.AlterTable: alter.alter_table,
    nodes.AlterView: objects.alter_view,
    nodes.AlterDatabase: objects.alter_database,
    nodes.AlterCatalog: objects.alter_catalog,
    nodes.AlterFunction: objects.alter_function,
    nodes.Use: session.use,
    nodes.Set: session.set_key,
    nodes.Reset: session.reset,
    nodes.Module: session.module,
    nodes.Jar: jars.jar,
    nodes.Unsupported: session.unsupported,
}
