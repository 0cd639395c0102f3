"""USE, SET, RESET and modules."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from flinkddl.catalog import settings
from flinkddl.catalog.context import dotted, literal, parts
from flinkddl.catalog.model import ObjectPath
from flinkddl.catalog.objects import catalog_named, database_exists
from flinkddl.diagnostics import About, did_you_mean
from flinkddl.diagnostics.kinds import NOT_LOADED

if TYPE_CHECKING:
    from sqlglot import exp

    from flinkddl.catalog.context import Context
    from flinkddl.catalog.state import Catalog

MODULES = ("core",)


def use(catalog: Catalog, statement: exp.Expression, ctx: Context) -> Catalog:
    """USE CATALOG c | USE [c.]d | USE MODULES m, ..."""
    match statement.args["kind"]:
        case "CATALOG":
            return _use_catalog(catalog, statement, ctx)
        case "MODULES":
            return _use_modules(catalog, statement, ctx)
        case _:
            path = catalog.path((*parts(statement.this), ""))
            path = ObjectPath(path.catalog, path.database, "")
            if not database_exists(catalog, path, statement.this, ctx):
                return catalog
            return catalog.at(path.catalog, path.database)


def _use_catalog(catalog: Catalog, statement: exp.Expression, ctx: Context) -> Catalog:
    name = dotted(parts(statement.this))
    entry = catalog_named(catalog, name, statement.this, ctx)
    if entry is None:
        return catalog
    first = next(iter(entry.databases), catalog.current_database)
    return catalog.at(name, entry.options.get("default-database", first))


def _use_modules(catalog: Catalog, statement: exp.Expression, ctx: Context) -> Catalog:
    names = tuple(i.name for i in statement.expressions)
    for node in statement.expressions:
        if node.name not in catalog.loaded_modules:
            _not_loaded(node, node.name, catalog, ctx)
    if len(set(names)) < len(names):
        ctx.error("FD319", "a module is named twice", statement.expressions[-1])
    return replace(catalog, modules=names)


def _not_loaded(node: exp.Expression, name: str, catalog: Catalog, ctx: Context) -> None:
    help = did_you_mean(name, catalog.loaded_modules)
    ctx.error("FD319", f"module '{name}' is not loaded", node, help, About(name, NOT_LOADED))


def set_key(catalog: Catalog, statement: exp.Expression, ctx: Context) -> Catalog:
    """SET 'k' = 'v'; a bare SET only lists."""
    if statement.this is None:
        return catalog
    key, value = literal(statement.this), literal(statement.expression)
    if not settings.check(key, value, ctx.span(statement.this), ctx.span(statement.expression), ctx.bag):
        return catalog
    return replace(catalog, settings=catalog.settings.put(key, value))


def reset(catalog: Catalog, statement: exp.Expression, ctx: Context) -> Catalog:
    """RESET 'k'; a bare RESET restores all defaults: what the session was started with."""
    if statement.this is None:
        return replace(catalog, settings=catalog.given)
    key = literal(statement.this)
    given = {k: v for k, v in catalog.given.as_written.items() if k in settings.names(key)}
    return replace(catalog, settings=settings.Settings.of({**catalog.settings.without(key).as_written, **given}))


def module(catalog: Catalog, statement: exp.Expression, ctx: Context) -> Catalog:
    """LOAD MODULE m | UNLOAD MODULE m: only the core module exists here."""
    name = statement.this.name
    loaded = catalog.loaded_modules
    if statement.args["kind"] == "UNLOAD":
        if name not in loaded:
            _not_loaded(statement.this, name, catalog, ctx)
        kept, used = (tuple(m for m in modules if m != name) for modules in (loaded, catalog.modules))
        return replace(catalog, loaded_modules=kept, modules=used)
    if name in loaded:
        ctx.error("FD319", f"module '{name}' is already loaded", statement.this)
    elif name not in MODULES:
        help = "the functions of 'core' are always there; others can be added with CREATE FUNCTION"
        ctx.error("FD319", f"module '{name}' is not available", statement.this, help)
    return replace(catalog, loaded_modules=(*loaded, name), modules=(*catalog.modules, name))


# What a refused statement should become; the rest is simply not available.
_INSTEAD = {
    "CREATE MODEL": "models run in Flink only",
    "CREATE MATERIALIZED TABLE": "write CREATE TABLE and INSERT INTO ... SELECT",
    "ANALYZE TABLE": "Spark gathers statistics itself; remove the statement",
    "TRUNCATE TABLE": "delete the records of the topic or the files with the tools of the system",
    "CALL": "procedures belong to Flink's catalogs",
}


def unsupported(catalog: Catalog, statement: exp.Expression, ctx: Context) -> Catalog:
    """Refuse a statement of Flink that has no meaning here."""
    kind = literal(statement.this)
    ctx.error("FD316", f"{kind} is not available", statement, _INSTEAD.get(kind))
    return catalog
