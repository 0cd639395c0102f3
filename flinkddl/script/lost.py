"""What a script has lost: names whose own statements failed. What only follows from that is not told again.

A catalog that is not available here gets a place all the same (``Catalog.standing_in``), so that the statements below
it are read; its one finding says in the end which of its tables are read and written.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from flinkddl.catalog.context import dotted, parts
from flinkddl.catalog.model import ObjectPath, Table
from flinkddl.diagnostics.kinds import NOT_LOADED
from flinkddl.dialect import nodes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from flinkddl.catalog.state import Catalog
    from flinkddl.diagnostics import Diagnostic, Span

_OF_NAMES = frozenset({"FD303", "FD452"})
_OF_FUNCTIONS = frozenset({"FD315", "FD400"})
_OF_OWNERS = frozenset({"FD301", "FD302"})
_OWNERS = _OF_OWNERS | {"FD312"}
_SHOWN = 5


@dataclass
class _Uses:
    """The finding about a catalog or database that is not here, and the names below it that are read and written."""

    finding: Diagnostic
    read: dict[str, None] = field(default_factory=dict)
    written: dict[str, None] = field(default_factory=dict)


@dataclass
class Lost:
    """The names that a script's failed statements would have declared, as written and in full."""

    names: set[tuple[str, ...]] = field(default_factory=set)
    functions: set[str] = field(default_factory=set)
    modules: set[str] = field(default_factory=set)
    _owners: dict[tuple[str, ...], _Uses] = field(default_factory=dict)

    def add(self, unread: Sequence[tuple[str, ...]]) -> None:
        """Add tables, views and functions whose statements could not be read."""
        self.names |= set(unread)
        self.functions |= {name[-1].lower() for name in unread}

    def causes(self, found: Iterable[Diagnostic], catalog: Catalog) -> list[Diagnostic]:
        """Return the findings of a statement without those that only say that a lost name is missing."""
        return [d for d in found if not self._follows(d, catalog)]

    def _follows(self, d: Diagnostic, catalog: Catalog) -> bool:
        if d.code in _OF_OWNERS:  # said of the name of a table, which may be one that could not be read
            return d.span is not None and tuple(d.span.text.replace("`", "").split(".")) in self.names
        if not d.about.name or d.code not in _OF_NAMES | _OF_FUNCTIONS | {"FD319"}:
            return False
        name = tuple(d.about.name.split("."))
        if d.code == "FD319":
            return name[0] in self.modules and d.about.kind == NOT_LOADED
        if d.code in _OF_FUNCTIONS:
            return name[-1].lower() in self.functions or _is_below(catalog, d.span)
        return name in self.names or _full(catalog, name) in self.names or catalog.is_absent(catalog.path(name[-3:]))

    def after(self, catalog: Catalog, tree: exp.Expression, told: Iterable[Diagnostic]) -> Catalog:
        """Return the catalog with which the script goes on behind a statement that failed."""
        self._note_uses(catalog, tree)
        finding = next((d for d in told if d.code in _OWNERS), None)
        match tree:
            case nodes.CreateTable() | nodes.CreateView():
                self.names |= {parts(tree.this), _full(catalog, parts(tree.this))}
            case nodes.CreateFunction():
                self.functions.add(parts(tree.this)[-1].lower())
            case nodes.Module():
                self.modules.add(tree.this.name)
            case nodes.CreateCatalog():
                return self._owner(catalog, (dotted(parts(tree.this)),), finding)
            case nodes.Use() if tree.args["kind"] == "CATALOG":
                name = dotted(parts(tree.this))
                return self._owner(catalog, (name,), finding).at(name, "default")
            case nodes.Use() if tree.args["kind"] != "MODULES":
                owner = catalog.path((*parts(tree.this), ""))
                return self._owner(catalog, (owner.catalog, owner.database), finding).at(owner.catalog, owner.database)
        return catalog

    def _owner(self, catalog: Catalog, name: tuple[str, ...], finding: Diagnostic | None) -> Catalog:
        if finding is None:  # there is one of that name: something else was wrong
            return catalog
        self._owners.setdefault(name, _Uses(finding))
        return catalog.standing_in(*name)

    # ---- what is read and written --------------------------------------------------------------------------------

    def _note_uses(self, catalog: Catalog, tree: exp.Expression) -> None:
        targets = [t.this for t in tree.find_all(nodes.Insert)]
        targets += [tree.this] if isinstance(tree, nodes.CreateTable) and tree.args.get("expression") else []
        written = {id(t) for t in targets}
        declared = id(tree.this) if isinstance(tree, nodes.Statement) else 0
        for table in tree.find_all(exp.Table):
            path = catalog.path(parts(table)[-3:])
            uses = self._uses(path)
            if uses is None or catalog.get(path) is not None or _full(catalog, parts(table)) in self.names:
                continue
            if id(table) in written:
                uses.written[str(path)] = None
            elif id(table) != declared:
                uses.read[str(path)] = None

    def _uses(self, path: ObjectPath) -> _Uses | None:
        return self._owners.get((path.catalog,)) or self._owners.get((path.catalog, path.database))

    def told(self, found: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
        """Yield the findings; those of a catalog or database that is not here say what is not read or written."""
        uses = {id(u.finding): u for u in self._owners.values()}
        for d in found:
            yield replace(d, message=d.message + _listed(uses[id(d)])) if id(d) in uses else d


def without_unknown(catalog: Catalog, path: ObjectPath) -> Catalog:
    """Return the catalog without a table that would be stored where nothing is: one with no connector of its own."""
    table = catalog.get(path)
    stored = isinstance(table, Table) and not any(key.startswith("connector") for key in table.options)
    return catalog.without_object(table) if table is not None and stored and catalog.is_absent(path) else catalog


def _full(catalog: Catalog, name: tuple[str, ...]) -> tuple[str, ...]:
    path = catalog.path(name[-3:])
    return path.catalog, path.database, path.name


def _is_below(catalog: Catalog, call: Span | None) -> bool:
    """Whether a function is called by a name below a catalog or database that is not here."""
    name = call.text.partition("(")[0].replace("`", "").split(".") if call is not None else []
    return len(name) > 1 and catalog.is_absent(catalog.path(tuple(name[-3:])))


def _listed(uses: _Uses) -> str:
    lists = [(f"not {word}", list(names)) for word, names in (("read", uses.read), ("written", uses.written)) if names]
    return "".join(f"; {word}: {_some(names)}" for word, names in lists)


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(f"'{n}'" for n in names[:_SHOWN]) + more
