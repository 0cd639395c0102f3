"""CREATE, ALTER and DROP of catalogs, databases, views and functions, and DROP TABLE."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from flinkddl.catalog.context import comment, dotted, literal, parts
from flinkddl.catalog.jars import add_jar, warn_of_jar
from flinkddl.catalog.model import Function, ObjectPath, Table, View
from flinkddl.catalog.state import CatalogEntry, Database, put, without
from flinkddl.diagnostics import About, did_you_mean
from flinkddl.diagnostics.kinds import NO_TYPE
from flinkddl.dialect import nodes
from flinkddl.options import elsewhere

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sqlglot import exp

    from flinkddl.catalog.context import Context
    from flinkddl.catalog.state import Catalog

LANGUAGES = ("JAVA", "SCALA", "PYTHON")
DECLARE = "declare its tables with CREATE TABLE ... WITH ('connector' = '...'), here or in a script given with -i"


# ---- names -------------------------------------------------------------------------------------------------------


def require(catalog: Catalog, node: exp.Expression, ctx: Context) -> Table | View | None:
    """Return the table or view a name stands for; report it when there is none."""
    name = parts(node)
    found = catalog.find(name)
    if found is None:
        ctx.error("FD303", f"unknown table '{dotted(name)}'", node, catalog.nearest(name), About(dotted(name)))
    return found


def catalog_named(catalog: Catalog, name: str, node: exp.Expression | None, ctx: Context) -> CatalogEntry | None:
    """Return a catalog by name; report it where there is none."""
    if name not in catalog.catalogs:
        ctx.error("FD301", f"unknown catalog '{name}'", node, catalog.nearest((name, "", "")))
    return catalog.catalogs.get(name)


def database_exists(catalog: Catalog, path: ObjectPath, node: exp.Expression, ctx: Context) -> bool:
    """Return whether the database of a path exists; report it when not."""
    entry = catalog_named(catalog, path.catalog, node, ctx)
    if entry is not None and path.database not in entry.databases:
        if entry.absent:
            return True
        help = catalog.nearest((path.catalog, path.database, ""))
        ctx.error("FD302", f"unknown database '{path.catalog}.{path.database}'", node, help)
    return entry is not None and path.database in entry.databases


def _database_parts(catalog: Catalog, node: exp.Expression) -> tuple[str, str]:
    name = parts(node)
    return (name[-2], name[-1]) if len(name) > 1 else (catalog.current_catalog, name[-1])


# ---- catalogs and databases --------------------------------------------------------------------------------------


def create_catalog(catalog: Catalog, statement: exp.Expression, ctx: Context) -> Catalog:
    """CREATE CATALOG: only the in-memory kind exists here."""
    name = dotted(parts(statement.this))
    if name in catalog.catalogs:
        if not statement.args.get("exists"):
            ctx.error("FD304", f"catalog '{name}' already exists", statement.this, "write IF NOT EXISTS")
        return catalog
    texts = ctx.options(statement.args.get("options"))
    kind = texts.get("type")
    if kind is None:
        message, help = f"catalog '{name}' has no option 'type'", "add 'type' = 'generic_in_memory'"
        ctx.error("FD312", message, statement.this, help, About(name, NO_TYPE))
    elif kind.value != "generic_in_memory":
        refused = elsewhere.catalog(kind.value)
        why = f": {refused.cause}" if refused else ""
        declare = refused.instead if refused else DECLARE
        help = f"write 'type' = 'generic_in_memory' and {declare}"
        message = f"catalog type '{kind.value}' is not available{why}"
        ctx.bag.error("FD312", message, kind.value_span, help, about=About(kind.value))
    options = MappingProxyType({k: t.value for k, t in texts.items()})
    first = options.get("default-database", "default")
    entry = CatalogEntry(MappingProxyType({first: Database()}), options, comment(statement.args.get("comment")))
    return replace(catalog, catalogs=put(catalog.catalogs, name, entry))


def create_database(catalog: Catalog, statement: exp.Expression, ctx: Context) -> Catalog:
    """CREATE DATABASE."""
    owner, name = _database_parts(catalog, statement.this)
    if catalog_named(catalog, owner, statement.this, ctx) is None:
        return catalog
    if name in catalog.catalogs[owner].databases:
        if not statement.args.get("exists"):
            ctx.error("FD304", f"database '{owner}.{name}' already exists", statement.this, "write IF NOT EXISTS")
        return catalog
    options = MappingProxyType({k: t.value for k, t in ctx.options(statement.args.get("options")).items()})
    note = comment(statement.args.get("comment"))
    return catalog.with_database(owner, name, Database(comment=note, options=options))


def alter_database(catalog: Catalog, statement: exp.Expression, ctx: Context) -> Catalog:
    """ALTER DATABASE d SET (...)."""
    owner, name = _database_parts(catalog, statement.this)
    database = catalog.database(owner, name)
    if database is None:
        ctx.error("FD302", f"unknown database '{owner}.{name}'", statement.this)
        return catalog
    changes = {k: t.value for k, t in ctx.options(statement.args["action"].expressions).items()}
    options = MappingProxyType({**database.options, **changes})
    return catalog.with_database(owner, name, replace(database, options=options))


def alter_catalog(catalog: Catalog, statement: exp.Expression, ctx: Context) -> Catalog:
    """ALTER CATALOG c SET | RESET | COMMENT."""
    name = dotted(parts(statement.this))
    entry = catalog_named(catalog, name, statement.this, ctx)
    if entry is None:
        return catalog
    action = statement.args["action"]
    match action:
        case nodes.AlterSet():
            changes = {k: t.value for k, t in ctx.options(action.expressions).items()}
            entry = replace(entry, options=MappingProxyType({**entry.options, **changes}))
        case nodes.AlterReset():
            gone = {literal(e) for e in action.expressions}
            entry = replace(entry, options=MappingProxyType({k: v for k, v in entry.options.items() if k not in gone}))
        case _:
            entry = replace(entry, comment=literal(action))
    return replace(catalog, catalogs=put(catalog.catalogs, name, entry))


# ---- views -------------------------------------------------------------------------------------------------------


def create_view(catalog: Catalog, statement: exp.Expression, ctx: Context) -> Catalog:
    """CREATE [TEMPORARY] VIEW."""
    path = catalog.path(parts(statement.this))
    if not database_exists(catalog, path, statement.this, ctx):
        return catalog
    temporary = bool(statement.args.get("temporary"))
    query = statement.args["expression"]
    columns = tuple(i.name for i in statement.args.get("columns") or ())
    note = comment(statement.args.get("comment"))
    view = View(path, query, columns, _text(query, ctx), note, temporary, *_here(catalog), ctx.span(statement.this))
    created = _validated(catalog, view, ctx)
    if catalog.of_kind(path, temporary) is None:
        return created
    if not statement.args.get("exists"):
        message = f"'{dotted(parts(statement.this))}' already exists"
        help = "drop it first, or write IF NOT EXISTS"
        if statement.args.get("replace"):  # Flink reads OR REPLACE and then does not replace
            help = "views can not be replaced: write DROP VIEW IF EXISTS before it"
        ctx.error("FD304", message, statement.this, help)
    return catalog


def _validated(catalog: Catalog, view: View, ctx: Context) -> Catalog:
    """Return the catalog with a view whose query Flink would take too (``SqlCreateViewConverter`` validates it)."""
    found = tuple(ctx.hooks.view(catalog, view)) if ctx.hooks.view is not None else ()
    ctx.bag.extend(found)
    return catalog if found else catalog.with_object(view)


def _text(query: exp.Expression, ctx: Context) -> str:
    span = ctx.span(query)
    return span.text if span else ""


def _here(catalog: Catalog) -> tuple[str, str]:
    return catalog.current_catalog, catalog.current_database


def alter_view(catalog: Catalog, statement: exp.Expression, ctx: Context) -> Catalog:
    """ALTER VIEW v RENAME TO n | AS query."""
    view = catalog.find(parts(statement.this))
    if not isinstance(view, View):
        if not statement.args.get("exists"):
            help = catalog.nearest(parts(statement.this))
            name = dotted(parts(statement.this))
            ctx.error("FD303", f"unknown view '{name}'", statement.this, help, About(name))
        return catalog
    action = statement.args["action"]
    if isinstance(action, nodes.AlterRename):
        return rename(catalog, view, action, ctx)
    owner, database = _here(catalog)
    changed = replace(
        view,
        query=action,
        text=_text(action, ctx),
        columns=(),
        catalog=owner,
        database=database,
        span=ctx.span(statement.this),
    )
    return _validated(catalog, changed, ctx)


def rename(catalog: Catalog, item: Table | View, action: exp.Expression, ctx: Context) -> Catalog:
    """RENAME TO: the new name lies in the same database."""
    name = parts(action.this)
    path = ObjectPath(item.path.catalog, item.path.database, name[-1])
    if len(name) > 1 and catalog.path(name) != path:
        ctx.error("FD314", "a table can not be moved to another database", action.this, "give the bare new name")
    elif catalog.get(path) is not None:
        ctx.error("FD304", f"'{path.name}' already exists", action.this)
    return catalog.without_object(item).with_object(replace(item, path=path))


# ---- functions ---------------------------------------------------------------------------------------------------


def create_function(catalog: Catalog, statement: exp.Expression, ctx: Context) -> Catalog:
    """CREATE [TEMPORARY [SYSTEM]] FUNCTION. A temporary one's jars are the session's from then on, as in Flink."""
    function = _function(catalog, statement, ctx)
    if not _check_language(function, statement, ctx):
        return catalog
    if function.path and not database_exists(catalog, function.path, statement.this, ctx):
        return catalog
    stored = _stored(catalog, function)
    if stored is not None:
        if not (statement.args.get("exists") or stored.given):
            ctx.error("FD304", f"function '{function.name}' already exists", statement.this, "write IF NOT EXISTS")
        return catalog
    for node in statement.args.get("using") or ():
        if function.temporary:
            catalog = add_jar(catalog, literal(node), node, ctx)
        else:
            warn_of_jar(catalog, function.name, node, ctx)
    return _store(catalog, function)


def alter_function(catalog: Catalog, statement: exp.Expression, ctx: Context) -> Catalog:
    """ALTER FUNCTION f AS 'id'."""
    function = _function(catalog, statement, ctx)
    if _stored(catalog, function) is None:
        if not statement.args.get("exists"):
            _unknown_function(catalog, function, statement, ctx)
        return catalog
    return _store(catalog, function) if _check_language(function, statement, ctx) else catalog


def _function(catalog: Catalog, statement: exp.Expression, ctx: Context) -> Function:
    name = parts(statement.this)
    system = bool(statement.args.get("system"))
    if system and len(name) > 1:
        ctx.error("FD315", "a system function has a simple name", statement.this, f"write '{name[-1]}'")
    path = catalog.path((*name[:-1], name[-1].lower()))
    language = str(statement.args.get("language") or "JAVA").upper()
    identifier = literal(statement.args.get("identifier"))
    temporary = bool(statement.args.get("temporary")) or system
    jars = tuple(catalog.jar_path(literal(p)) for p in statement.args.get("using") or ())
    span = ctx.span(statement)
    return Function(name[-1], identifier, language, None if system else path, temporary, jars=jars, span=span)


def _check_language(function: Function, statement: exp.Expression, ctx: Context) -> bool:
    if function.language not in LANGUAGES:
        help = f"use one of: {', '.join(LANGUAGES)}"
        ctx.error("FD315", f"unknown language '{function.language}'", statement.this, help)
        return False
    if function.language == "PYTHON" and statement.args.get("using"):
        ctx.error("FD315", "a Python function takes no JAR", statement.this, "remove USING JAR")
        return False
    return True


def _stored(catalog: Catalog, function: Function) -> Function | None:
    if function.path is None:
        return catalog.system_functions.get(function.name.lower())
    if function.temporary:
        return catalog.temporary_functions.get(function.path)
    database = catalog.database(function.path.catalog, function.path.database)
    return database.functions.get(function.path.name) if database else None


def _with(catalog: Catalog, function: Function, change: Callable[[Mapping[Any, Function], Any], Any]) -> Catalog:
    """Return the catalog with the functions among which this one is changed, by its key."""
    path, key = function.path, function.name.lower()
    if path is None:
        return replace(catalog, system_functions=change(catalog.system_functions, key))
    if function.temporary:
        return replace(catalog, temporary_functions=change(catalog.temporary_functions, path))
    database = catalog.database(path.catalog, path.database) or Database()
    changed = replace(database, functions=change(database.functions, path.name))
    return catalog.with_database(path.catalog, path.database, changed)


def _store(catalog: Catalog, function: Function) -> Catalog:
    return _with(catalog, function, lambda known, key: put(known, key, function))


def _unknown_function(catalog: Catalog, function: Function, statement: exp.Expression, ctx: Context) -> None:
    database = catalog.database(*_here(catalog)) or Database()
    known = {*catalog.system_functions, *database.functions, *(p.name for p in catalog.temporary_functions)}
    help = did_you_mean(function.name, known)
    name = dotted(parts(statement.this))
    ctx.error("FD315", f"unknown function '{name}'", statement.this, help, About(name))


# ---- drop --------------------------------------------------------------------------------------------------------


def drop(catalog: Catalog, statement: exp.Expression, ctx: Context) -> Catalog:
    """DROP TABLE | VIEW | DATABASE | CATALOG | FUNCTION."""
    match statement.args["kind"]:
        case "CATALOG":
            return _drop_catalog(catalog, statement, ctx)
        case "DATABASE":
            return _drop_database(catalog, statement, ctx)
        case "FUNCTION":
            return _drop_function(catalog, statement, ctx)
        case kind:
            return _drop_object(catalog, statement, Table if kind == "TABLE" else View, ctx)


def _drop_object(catalog: Catalog, statement: exp.Expression, kind: type[Table | View], ctx: Context) -> Catalog:
    name, word = parts(statement.this), kind.__name__.lower()
    path = catalog.path(name)
    temporary = bool(statement.args.get("temporary"))
    found = catalog.of_kind(path, temporary)
    if not temporary and isinstance(catalog.temporary.get(path), kind):
        # Flink refuses this, because the temporary object would go on hiding the permanent one.
        ctx.error(
            "FD314", f"'{dotted(name)}' is a temporary {word}", statement.this, f"write DROP TEMPORARY {word.upper()}"
        )
    elif found is not None and isinstance(found, kind):
        return catalog.without_object(found)
    elif not statement.args.get("exists"):
        known = f"{'temporary ' if temporary else ''}{word}"
        help = _drop_help(catalog, name, found)
        ctx.error("FD303", f"unknown {known} '{dotted(name)}'", statement.this, help, About(dotted(name)))
    return catalog


def _drop_help(catalog: Catalog, name: tuple[str, ...], found: Table | View | None) -> str | None:
    if found is None:
        return catalog.nearest(name)
    return f"'{dotted(name)}' is a {type(found).__name__.lower()}"


def _drop_catalog(catalog: Catalog, statement: exp.Expression, ctx: Context) -> Catalog:
    name = dotted(parts(statement.this))
    if name == catalog.current_catalog:
        ctx.error(
            "FD314", f"catalog '{name}' is in use and can not be dropped", statement.this, "USE another one first"
        )
    elif name not in catalog.catalogs:
        if not statement.args.get("exists"):
            ctx.error("FD301", f"unknown catalog '{name}'", statement.this, did_you_mean(name, catalog.catalogs))
    else:
        return replace(catalog, catalogs=without(catalog.catalogs, name))
    return catalog


def _drop_database(catalog: Catalog, statement: exp.Expression, ctx: Context) -> Catalog:
    owner, name = _database_parts(catalog, statement.this)
    database = catalog.database(owner, name)
    if database is None:
        if not statement.args.get("exists"):
            known = catalog.catalogs[owner].databases if owner in catalog.catalogs else ()
            ctx.error("FD302", f"unknown database '{owner}.{name}'", statement.this, did_you_mean(name, known))
        return catalog
    if (owner, name) == _here(catalog):
        ctx.error(
            "FD314", f"database '{name}' is in use and can not be dropped", statement.this, "USE another one first"
        )
    elif (database.objects or database.functions) and not statement.args.get("cascade"):
        ctx.error("FD314", f"database '{owner}.{name}' is not empty", statement.this, "write CASCADE to drop all of it")
    return catalog.with_database(owner, name, None)


def _drop_function(catalog: Catalog, statement: exp.Expression, ctx: Context) -> Catalog:
    function = _function(catalog, statement, ctx)
    if _stored(catalog, function) is None:
        if not statement.args.get("exists"):
            _unknown_function(catalog, function, statement, ctx)
        return catalog
    return _with(catalog, function, without)
