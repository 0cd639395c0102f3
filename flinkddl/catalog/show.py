"""SHOW and DESCRIBE as plain rows, with Flink's column names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flinkddl.catalog import printing, settings
from flinkddl.catalog.context import Context, Hooks, dotted, literal, parts
from flinkddl.catalog.model import ObjectPath, Table, View
from flinkddl.catalog.objects import catalog_named, database_exists, require
from flinkddl.diagnostics import About, FlinkDdlError
from flinkddl.diagnostics.secrets import mask, mask_script
from flinkddl.dialect import nodes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sqlglot import exp

    from flinkddl.catalog.state import Catalog
    from flinkddl.diagnostics import SourceText
    from flinkddl.sqltypes import DataType


@dataclass(frozen=True)
class Rows:
    """An answer: column names and rows of text (None for NULL)."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


def answer(catalog: Catalog, statement: exp.Expression, source: SourceText, hooks: Hooks | None = None) -> Rows:
    """Return what a SHOW, DESCRIBE or bare SET prints. Raises FlinkDdlError for unknown names.

    The types of computed columns and views come from ``hooks``; without them a computed column has no type.
    """
    run = _Run(catalog, Context(source, hooks=hooks or Hooks()))
    rows = run.describe(statement) if isinstance(statement, nodes.Describe) else run.show(statement)
    if run.ctx.bag.has_errors:
        raise FlinkDdlError(run.ctx.bag)
    return rows


def settings_rows(catalog: Catalog) -> Rows:
    """Return what a bare SET prints: known settings and what was set, secrets hidden."""
    known = {s.key: "" if s.default is None else str(s.default) for s in settings.every()}
    merged = {**known, **catalog.settings.as_written}
    return Rows(("key", "value"), tuple((k, mask(k, merged[k])) for k in sorted(merged)))


_NO_ROWS = Rows(("result",), ())


class _Run:
    """One SHOW or DESCRIBE over a catalog."""

    def __init__(self, catalog: Catalog, ctx: Context) -> None:
        self.catalog, self.ctx = catalog, ctx

    # ---- SHOW ----------------------------------------------------------------------------------------------------

    def show(self, statement: exp.Expression) -> Rows:
        """SHOW what, filtered by LIKE or ILIKE."""
        if not isinstance(statement, nodes.Show):
            return settings_rows(self.catalog)
        what = str(statement.args["what"])
        make = _SHOW.get(what)
        if make is None:
            self.ctx.error("FD316", f"SHOW {what} is not available", statement)
            return _NO_ROWS
        found = make(self, statement)
        return Rows(found.columns, tuple(r for r in found.rows if _matches(r[0], statement)))

    def _scope(self, statement: exp.Expression) -> tuple[str, str]:
        node = statement.args.get("scope")
        here = (self.catalog.current_catalog, self.catalog.current_database)
        if node is None:
            return here
        owner, name = (here[0], *parts(node))[-2:]
        path = ObjectPath(owner, name, "")
        return (path.catalog, path.database) if database_exists(self.catalog, path, node, self.ctx) else here

    def catalogs(self, statement: exp.Expression) -> Rows:
        """SHOW CATALOGS."""
        return _list("catalog name", sorted(self.catalog.catalogs))

    def databases(self, statement: exp.Expression) -> Rows:
        """SHOW DATABASES [FROM c]."""
        node = statement.args.get("scope")
        name = dotted(parts(node)) if node is not None else self.catalog.current_catalog
        entry = catalog_named(self.catalog, name, node, self.ctx)
        if entry is None:
            return _list("database name", ())
        return _list("database name", sorted(entry.databases))

    def tables(self, statement: exp.Expression) -> Rows:
        """SHOW TABLES: views too."""
        return _list("table name", self.catalog.names_in(*self._scope(statement)))

    def views(self, statement: exp.Expression) -> Rows:
        """SHOW VIEWS."""
        found = self.catalog.objects_in(*self._scope(statement))
        return _list("view name", sorted(o.path.name for o in found if isinstance(o, View)))

    def functions(self, statement: exp.Expression) -> Rows:
        """SHOW [USER] FUNCTIONS: the user's own."""
        owner, name = self._scope(statement)
        database = self.catalog.database(owner, name)
        temporary = (p.name for p in self.catalog.temporary_functions if (p.catalog, p.database) == (owner, name))
        known = {*self.catalog.system_functions, *temporary, *(database.functions if database else ())}
        return _list("function name", sorted(known))

    def create(self, statement: exp.Expression) -> Rows:
        """SHOW CREATE TABLE | VIEW | CATALOG."""
        kind = str(statement.args["what"]).removeprefix("CREATE ")
        node = statement.this
        if kind == "CATALOG":
            name = dotted(parts(node))
            entry = catalog_named(self.catalog, name, node, self.ctx)
            if entry is None:
                return _NO_ROWS
            return _list("result", (printing.create_catalog(name, entry),))
        found = require(self.catalog, node, self.ctx)
        if isinstance(found, Table) and kind == "TABLE":
            return _list("result", (printing.create_table(found),))
        if isinstance(found, View) and kind == "VIEW":
            return _list("result", (mask_script(printing.create_view(found)),))
        if found is not None:
            other = type(found).__name__.upper()
            name = dotted(parts(node))
            help = f"write SHOW CREATE {other}"
            self.ctx.error("FD303", f"'{name}' is no {kind.lower()}", node, help, About(name))
        return _NO_ROWS

    def columns(self, statement: exp.Expression) -> Rows:
        """SHOW COLUMNS FROM t."""
        return self._columns(statement.this if statement.this is not None else statement.args["scope"])

    # ---- DESCRIBE ------------------------------------------------------------------------------------------------

    def describe(self, statement: exp.Expression) -> Rows:
        """DESCRIBE [EXTENDED] x of every kind."""
        kind, node = str(statement.args.get("kind") or "TABLE"), statement.this
        match kind:
            case "TABLE":
                return self._columns(node)
            case "CATALOG":
                return self._catalog(node, bool(statement.args.get("extended")))
            case "DATABASE":
                return self._database(node, bool(statement.args.get("extended")))
            case "FUNCTION":
                return self._function(node)
        self.ctx.error("FD316", f"DESCRIBE {kind} is not available", statement)
        return _NO_ROWS

    def _columns(self, node: exp.Expression) -> Rows:
        found = require(self.catalog, node, self.ctx)
        names: tuple[str, ...] = ("name", "type", "null", "key", "extras", "watermark")
        if found is None:
            return Rows(names, ())
        if isinstance(found, View):
            return Rows(names, tuple((n, t.summary, _null(t), None, None, None) for n, t in self._view(found)))
        comments = any(c.comment is not None for c in found.columns)
        rows = [self._column(found, i) for i in range(len(found.columns))]
        if comments:
            rows = [(*row, column.comment) for row, column in zip(rows, found.columns, strict=True)]
        return Rows((*names, "comment") if comments else names, tuple(rows))

    def _view(self, view: View) -> list[tuple[str, DataType]]:
        if self.ctx.hooks.schema is None:
            return []
        seen = self.catalog.at(view.catalog, view.database) if view.catalog else self.catalog
        found = self.ctx.hooks.schema(seen, view.query)
        names = view.columns or tuple(n for n, _ in found)
        return [(name, t) for name, (_, t) in zip(names, found, strict=True)]

    def _column(self, table: Table, index: int) -> tuple[Any, ...]:
        column = table.columns[index]
        kind = column.type
        if self.ctx.hooks.types is not None:
            kind = self.ctx.hooks.types(self.catalog, table)[index]
        shown = kind.summary if kind else None
        if kind is not None and kind.time_attribute:
            shown = f"{shown} *{kind.time_attribute}*"
        key = table.primary_key
        mark = table.watermark
        return (
            column.name,
            shown,
            _null(kind),
            f"PRI({', '.join(key.columns)})" if key and column.name in key.columns else None,
            _extras(table, index),
            printing.text_of(mark.expression) if mark and mark.column == (column.name,) else None,
        )

    def _catalog(self, node: exp.Expression, extended: bool) -> Rows:
        name = dotted(parts(node))
        entry = catalog_named(self.catalog, name, node, self.ctx)
        if entry is None:
            return _NO_ROWS
        info = [("name", name), ("type", entry.options.get("type")), ("comment", entry.comment)]
        return _info(info, entry.options.items() if extended else ())

    def _database(self, node: exp.Expression, extended: bool) -> Rows:
        path = self.catalog.path((*parts(node), ""))
        database = self.catalog.database(path.catalog, path.database)
        if database is None:
            database_exists(self.catalog, path, node, self.ctx)
            return _NO_ROWS
        return _info(
            [("name", path.database), ("comment", database.comment)], database.options.items() if extended else ()
        )

    def _function(self, node: exp.Expression) -> Rows:
        name = dotted(parts(node))
        found = self.catalog.function(name)
        if found is None:
            self.ctx.error("FD315", f"unknown function '{name}'", node, about=About(name))
            return _NO_ROWS
        info: list[tuple[str, str | None]] = [
            ("is system function", str(found.path is None).lower()),
            ("is temporary", str(found.temporary).lower()),
            ("class name", found.identifier),
            ("function language", found.language),
            ("resource uris", f"[{', '.join(f'ResourceUri{{resourceType=JAR, uri={j!r}}}' for j in found.jars)}]"),
        ]
        return _info(info, ())


def _null(kind: DataType | None) -> str:
    return "true" if kind is None or kind.nullable else "false"


def _extras(table: Table, index: int) -> str | None:
    column = table.columns[index]
    if column.kind == "computed" and column.expression is not None:
        return f"AS {printing.text_of(column.expression)}"
    if column.kind == "metadata":
        source = "" if column.metadata_key == column.name else f" FROM '{column.metadata_key}'"
        return f"METADATA{source}{' VIRTUAL' if column.virtual else ''}"
    return None


def _list(column: str, names: Iterable[str | None]) -> Rows:
    return Rows((column,), tuple((n,) for n in names))


def _info(pairs: list[tuple[str, str | None]], options: Iterable[tuple[str, str]]) -> Rows:
    rows = [*pairs, *((f"option:{k}", mask(k, v)) for k, v in options if k != "type")]
    return Rows(("info name", "info value"), tuple(rows))


def _matches(name: object, statement: exp.Expression) -> bool:
    """Whether a name fits the LIKE or ILIKE pattern of a SHOW; ``%`` and ``_`` are wildcards, ``\\`` escapes."""
    pattern = statement.args.get("pattern")
    if pattern is None:
        return True
    wild = {"%": ".*", "_": "."}
    tokens = re.findall(r"\\.|.", literal(pattern), re.DOTALL)
    regex = "".join(wild[t] if t in wild else re.escape(t[-1]) for t in tokens)
    flags = re.DOTALL | (re.IGNORECASE if statement.args.get("ilike") else re.NOFLAG)
    return bool(re.fullmatch(regex, str(name), flags)) is not bool(statement.args.get("negated"))


_SHOW: dict[str, Callable[[_Run, exp.Expression], Rows]] = {
    "CATALOGS": _Run.catalogs,
    "DATABASES": _Run.databases,
    "TABLES": _Run.tables,
    "VIEWS": _Run.views,
    "FUNCTIONS": _Run.functions,
    "USER FUNCTIONS": _Run.functions,
    "COLUMNS": _Run.columns,
    "CREATE TABLE": _Run.create,
    "CREATE VIEW": _Run.create,
    "CREATE CATALOG": _Run.create,
    "CURRENT CATALOG": lambda run, _: _list("current catalog name", (run.catalog.current_catalog,)),
    "CURRENT DATABASE": lambda run, _: _list("current database name", (run.catalog.current_database,)),
    "MODULES": lambda run, _: _list("module name", run.catalog.modules),
    "FULL MODULES": lambda run, _: Rows(
        ("module name", "used"), tuple((m, str(m in run.catalog.modules).lower()) for m in run.catalog.loaded_modules)
    ),
    "JARS": lambda run, _: _list("jars", run.catalog.jars),
    "PROCEDURES": lambda run, _: _list("procedure name", ()),
    "MODELS": lambda run, _: _list("model name", ()),
    "MATERIALIZED TABLES": lambda run, _: _list("table name", ()),
    "CONNECTIONS": lambda run, _: _list("connection name", ()),
}
