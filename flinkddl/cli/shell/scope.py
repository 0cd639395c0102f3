"""Which tables a statement names, and their columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from flinkddl.catalog.model import View
from flinkddl.dialect import tokens as t
from flinkddl.dialect.parse_from import WINDOWS
from flinkddl.dialect.words import RESERVED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from flinkddl.catalog.state import Catalog
    from flinkddl.dialect.tokens import Token

Named = tuple[str, str]
"""A name and its type or kind."""

_SOURCES = frozenset({"FROM", "JOIN", "TABLE", "INTO", ","})

_WINDOW_COLUMNS = (("window_start", "window"), ("window_end", "window"), ("window_time", "window"))


@dataclass
class Scope:
    """The columns by alias (or table name), the common table expressions, and whether a window function is there."""

    aliases: dict[str, tuple[Named, ...]] = field(default_factory=dict)
    ctes: tuple[str, ...] = ()
    windowed: bool = False

    def columns(self) -> list[Named]:
        """Return the columns of all tables, each name once."""
        found = {name: kind for columns in self.aliases.values() for name, kind in columns}
        return [*found.items(), *(_WINDOW_COLUMNS if self.windowed else ())]

    def names(self, catalog: Catalog) -> Iterator[Named]:
        """Yield what may be named as a table: own names of the query, tables and views, databases, catalogs."""
        yield from ((name, "WITH") for name in self.ctes)
        here = (catalog.current_catalog, catalog.current_database)
        objects = {o.path.name: o for o in catalog.objects_in(*here)}
        yield from ((name, "view" if isinstance(objects[name], View) else "table") for name in sorted(objects))
        entry = catalog.catalogs.get(catalog.current_catalog)
        if entry is not None and len(entry.databases) > 1:
            yield from ((name, "database") for name in sorted(entry.databases))
        if len(catalog.catalogs) > 1:
            yield from ((name, "catalog") for name in sorted(catalog.catalogs))


def scope_of(tokens: Sequence[Token], catalog: Catalog) -> Scope:
    """Return the tables that a statement names anywhere: what is selected is often written before its FROM."""
    scope = Scope(windowed=any(token.key in WINDOWS for token in tokens))
    if tokens and tokens[0].key == "WITH":
        scope.ctes = tuple(
            tokens[i].value
            for i in range(1, len(tokens) - 2)
            if tokens[i + 1].key == "AS" and tokens[i + 2].key == "(" and tokens[i].kind in (t.WORD, t.NAME)
        )
    for i, token in enumerate(tokens):
        if token.key in _SOURCES:
            _take_table(tokens, i + 1, catalog, scope)
    return scope


def _take_table(tokens: Sequence[Token], at: int, catalog: Catalog, scope: Scope) -> None:
    path: list[str] = []
    while at < len(tokens) and tokens[at].kind in (t.WORD, t.NAME):
        path.append(tokens[at].value)
        at += 1
        if at + 1 >= len(tokens) or tokens[at].key != ".":
            break
        at += 1
    columns = columns_of(catalog, tuple(path)) if path else ()
    if not columns:
        return
    if at < len(tokens) and tokens[at].key == "AS":
        at += 1
    named = at < len(tokens) and (
        tokens[at].kind == t.NAME or (tokens[at].kind == t.WORD and tokens[at].key not in RESERVED)
    )
    scope.aliases[tokens[at].value if named else path[-1]] = columns


def anywhere(catalog: Catalog, fragment: str) -> list[Named]:
    """Return the columns of every table here, for a SELECT list whose FROM is not written yet."""
    if not fragment:
        return []
    names = catalog.names()
    return list(dict.fromkeys(column for name in names for column in columns_of(catalog, (name,))))


def columns_of(catalog: Catalog, path: tuple[str, ...]) -> tuple[Named, ...]:
    """Return the columns of a table or view with their types; nothing for an unknown name."""
    found = catalog.find(path) if 0 < len(path) <= 3 else None
    if found is None:
        return ()
    return _described(_Key(catalog), found.path.catalog, found.path.database, found.path.name)


class _Key:
    """A catalog as a cache key: the very value, which statements replace and never change."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and other.catalog is self.catalog

    def __hash__(self) -> int:
        return id(self.catalog)


@lru_cache(maxsize=64)
def _described(key: _Key, *path: str) -> tuple[Named, ...]:
    from flinkddl.diagnostics import SourceText
    from flinkddl.script.compile import Answer, compile_script

    name = ".".join(f"`{part.replace('`', '``')}`" for part in path)
    for action in compile_script(SourceText("<completion>", f"DESCRIBE {name}"), key.catalog).actions:
        if isinstance(action, Answer):
            return tuple((str(row[0]), str(row[1])) for row in action.rows)
    return ()
