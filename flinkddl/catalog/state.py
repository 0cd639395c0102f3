"""The catalog as a value: catalogs, databases, objects, the session. Statements fold into a new one (``apply``)."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from flinkddl.catalog.model import Function, ObjectPath, Table, View
from flinkddl.catalog.settings import NOTHING_SET, Settings
from flinkddl.diagnostics import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping


DEFAULT_CATALOG = "default_catalog"
DEFAULT_DATABASE = "default_database"
_DECLARE = "write CREATE {} before it, here or in a script given with -i"
_K = TypeVar("_K")
_V = TypeVar("_V")

CatalogObject = Table | View


def _none() -> Mapping[Any, Any]:
    return MappingProxyType({})


def _given(name: str, target: str) -> Function:
    if ":" in target:
        return Function(name, target.replace(":", "."), "PYTHON", None, True, given=True)
    identifier, *returns = re.split(r"\s+RETURNS\s+", target.strip(), maxsplit=1, flags=re.IGNORECASE)
    return Function(name, identifier, "JAVA", None, True, given=True, returns="".join(returns))


def is_named(jar: str, names: Iterable[str]) -> bool:
    """Whether a jar is among names, or lies in a folder among them: all are absolute paths."""
    return any(jar == n or jar.startswith(n.rstrip(os.sep) + os.sep) for n in names)


def put(mapping: Mapping[_K, _V], key: _K, value: _V) -> Mapping[_K, _V]:
    """Return a mapping with one more entry."""
    return MappingProxyType({**mapping, key: value})


def without(mapping: Mapping[_K, _V], key: _K) -> Mapping[_K, _V]:
    """Return a mapping with one entry less."""
    return MappingProxyType({k: v for k, v in mapping.items() if k != key})


@dataclass(frozen=True)
class Database:
    """The permanent objects of one database by name. ``absent``: it stands for one that nobody declared."""

    objects: Mapping[str, CatalogObject] = field(default_factory=_none)
    functions: Mapping[str, Function] = field(default_factory=_none)
    comment: str | None = None
    options: Mapping[str, str] = field(default_factory=_none, repr=False)
    absent: bool = False


def _first_databases() -> Mapping[str, Database]:
    return MappingProxyType({DEFAULT_DATABASE: Database()})


def _first_catalogs() -> Mapping[str, CatalogEntry]:
    options = MappingProxyType({"type": "generic_in_memory"})
    return MappingProxyType({DEFAULT_CATALOG: CatalogEntry(_first_databases(), options)})


@dataclass(frozen=True)
class CatalogEntry:
    """One catalog: its databases and how it was declared. ``absent``: it stands for one that is not available here."""

    databases: Mapping[str, Database] = field(default_factory=_none)
    options: Mapping[str, str] = field(default_factory=_none, repr=False)
    comment: str | None = None
    absent: bool = False


@dataclass(frozen=True)
class Catalog:
    """Everything that statements before this one have declared or set.

    ``settings`` holds what was SET, ``given`` what the session began with, which RESET restores.
    ``modules`` are those in use, in order; ``loaded_modules`` all. Temporary objects hide permanent ones of the
    same path. ``jars`` are those of the session, where classes of Java functions are looked for; ``named_jars`` are
    jars and folders that the user names: of others nothing runs. ``packaged_jars`` is the folder in which a packaged
    job has its jars, by their names alone, "" elsewhere.
    """

    catalogs: Mapping[str, CatalogEntry] = field(default_factory=_first_catalogs)
    temporary: Mapping[ObjectPath, CatalogObject] = field(default_factory=_none)
    temporary_functions: Mapping[ObjectPath, Function] = field(default_factory=_none)
    system_functions: Mapping[str, Function] = field(default_factory=_none)
    current_catalog: str = DEFAULT_CATALOG
    current_database: str = DEFAULT_DATABASE
    settings: Settings = field(default=NOTHING_SET, repr=False)
    given: Settings = field(default=NOTHING_SET, repr=False)
    python: frozenset[str] = frozenset()
    modules: tuple[str, ...] = ("core",)
    loaded_modules: tuple[str, ...] = ("core",)
    jars: tuple[str, ...] = ()
    named_jars: frozenset[str] = frozenset()
    packaged_jars: str = ""

    # ---- names ---------------------------------------------------------------------------------------------------

    def path(self, parts: tuple[str, ...]) -> ObjectPath:
        """Return the full path of a one- to three-part name."""
        full = (self.current_catalog, self.current_database, *parts)[-3:] if len(parts) < 3 else parts[-3:]
        if len(parts) == 2:
            full = (self.current_catalog, *parts)
        return ObjectPath(*full)

    def find(self, parts: tuple[str, ...]) -> CatalogObject | None:
        """Return the table or view of a one- to three-part name, or None. Temporary objects come first."""
        return self.get(self.path(parts))

    def get(self, path: ObjectPath) -> CatalogObject | None:
        """Return the table or view of a full path, or None."""
        return self.temporary.get(path) or self.permanent(path)

    def permanent(self, path: ObjectPath) -> CatalogObject | None:
        """Return the permanent table or view of a full path, or None."""
        database = self.database(path.catalog, path.database)
        return database.objects.get(path.name) if database else None

    def of_kind(self, path: ObjectPath, temporary: bool) -> CatalogObject | None:
        """Return the temporary or the permanent table or view of a full path, or None: the one may hide the other."""
        return self.temporary.get(path) if temporary else self.permanent(path)

    def database(self, catalog: str, database: str) -> Database | None:
        """Return a database, or None."""
        entry = self.catalogs.get(catalog)
        return entry.databases.get(database) if entry else None

    def is_absent(self, path: ObjectPath) -> bool:
        """Whether the catalog or database of a path only stands for one that is not here: anything may be in it."""
        entry, database = self.catalogs.get(path.catalog), self.database(path.catalog, path.database)
        return (entry is not None and entry.absent) or (database is not None and database.absent)

    def names(self) -> tuple[str, ...]:
        """Return the tables and views of the current database, temporary ones included, sorted."""
        return self.names_in(self.current_catalog, self.current_database)

    def names_in(self, catalog: str, database: str) -> tuple[str, ...]:
        """Return the tables and views of a database, temporary ones included, sorted."""
        return tuple(sorted({o.path.name for o in self.objects_in(catalog, database)}))

    def objects_in(self, catalog: str, database: str) -> Iterator[CatalogObject]:
        """Yield the objects of a database as a query sees them."""
        permanent = self.database(catalog, database) or Database()
        hidden = {p.name: o for p, o in self.temporary.items() if (p.catalog, p.database) == (catalog, database)}
        yield from {**permanent.objects, **hidden}.values()

    def nearest(self, parts: tuple[str, ...]) -> str | None:
        """Return the help line for a table name that nobody knows."""
        path = self.path(parts)
        if path.catalog not in self.catalogs:
            return did_you_mean(path.catalog, self.catalogs) or _DECLARE.format("CATALOG")
        if self.database(path.catalog, path.database) is None:
            return did_you_mean(path.database, self.catalogs[path.catalog].databases) or _DECLARE.format("DATABASE")
        return did_you_mean(path.name, self.names_in(path.catalog, path.database))

    def at(self, catalog: str, database: str) -> Catalog:
        """Return this catalog seen from another current catalog and database (for views)."""
        return replace(self, current_catalog=catalog, current_database=database)

    # ---- functions -----------------------------------------------------------------------------------------------

    def function(self, name: str) -> Function | None:
        """Return the user's function of a name with up to three parts, or None.

        Names of functions ignore case. Order as in Flink: temporary system, temporary catalog, catalog function.
        """
        parts = tuple(part.strip("`").lower() for part in name.split("."))
        if len(parts) > 3:
            return None
        if len(parts) == 1 and (found := self.system_functions.get(parts[0])):
            return self._named(found)
        path = self.path(parts)
        path = path if len(parts) < 3 else ObjectPath(*name.split("."))
        database = self.database(path.catalog, path.database)
        permanent = database.functions.get(path.name) if database else None
        found = self.temporary_functions.get(path) or permanent
        return found and self._named(found)

    def _named(self, function: Function) -> Function:
        if function.language != "PYTHON":
            jars = tuple(dict.fromkeys((*function.jars, *self.jars)))
            unnamed = tuple(j for j in jars if not is_named(j, self.named_jars))
            parameters = tuple((self.settings.pipeline_global_job_parameters or {}).items())
            return replace(function, class_path=jars, script_jars=unnamed, parameters=parameters)
        module = function.identifier.replace(":", ".").rpartition(".")[0]
        given = (f.identifier.rpartition(".")[0] for f in self.system_functions.values() if f.given)
        every = {*self.python, *given}
        return replace(function, named=any(module == m or module.startswith(f"{m}.") for m in every))

    def allowing_python(self, modules: Iterable[str]) -> Catalog:
        """Return the catalog whose scripts may have these Python modules, and those in them, imported."""
        return replace(self, python=self.python | frozenset(modules))

    def jar_path(self, given: str) -> str:
        """Return the absolute path of a jar: that of a package, if the job runs out of one; a URL as it is."""
        packaged = os.path.join(self.packaged_jars, os.path.basename(given)) if self.packaged_jars else ""
        if os.path.isfile(packaged):
            return packaged
        return given if "://" in given else os.path.abspath(given)

    def allowing_jars(self, paths: Iterable[str]) -> Catalog:
        """Return the catalog whose scripts may have classes of these jars run, or of all jars in a folder."""
        return replace(self, named_jars=self.named_jars | {os.path.abspath(p) for p in paths if p.strip()})

    def with_jars(self, paths: Iterable[str]) -> Catalog:
        """Return the catalog with jars in the session, as ADD JAR adds them, that the user names."""
        named = tuple(map(self.jar_path, paths))
        return replace(self.allowing_jars(named), jars=tuple(dict.fromkeys((*self.jars, *named))))

    def with_functions(self, given: Mapping[str, str]) -> Catalog:
        """Return the catalog with functions that no CREATE FUNCTION replaces, by their names.

        Python's are ``module:function``, Java's ``com.acme.Class``, or ``com.acme.Class RETURNS type`` where the class
        does not tell what it returns.
        """
        made = {n.lower(): _given(n, target) for n, target in given.items()}
        return replace(self, system_functions=MappingProxyType({**self.system_functions, **made}))

    # ---- settings ------------------------------------------------------------------------------------------------

    def starting(self, settings: Mapping[str, str]) -> Catalog:
        """Return the catalog with settings that a session begins with: RESET goes back to them."""
        given, now = ({**of.as_written, **settings} for of in (self.given, self.settings))
        return replace(self, settings=Settings.of(now), given=Settings.of(given))

    def standing_in(self, catalog: str, database: str | None = None) -> Catalog:
        """Return the catalog in which one that is not available here has a place, or a database that nobody declared.

        With the rest of a script read over it, what is wrong below it is one mistake and not many.
        """
        entry = self.catalogs.get(catalog)
        if entry is None:
            entry = CatalogEntry(MappingProxyType({"default": Database(absent=True)}), absent=True)
        if database is not None and database not in entry.databases:
            entry = replace(entry, databases=put(entry.databases, database, Database(absent=True)))
        return replace(self, catalogs=put(self.catalogs, catalog, entry))

    # ---- changes, used by the statements -------------------------------------------------------------------------

    def with_object(self, item: CatalogObject) -> Catalog:
        """Return the catalog with a table or view put in its place."""
        return self._with(item, lambda known, key: put(known, key, item))

    def without_object(self, item: CatalogObject) -> Catalog:
        """Return the catalog without a table or view."""
        return self._with(item, without)

    def _with(self, item: CatalogObject, change: Callable[[Mapping[Any, CatalogObject], Any], Any]) -> Catalog:
        path = item.path
        if item.temporary:
            return replace(self, temporary=change(self.temporary, path))
        database = self.database(path.catalog, path.database) or Database()
        changed = replace(database, objects=change(database.objects, path.name))
        return self.with_database(path.catalog, path.database, changed)

    def with_database(self, catalog: str, name: str, database: Database | None) -> Catalog:
        """Return the catalog with a database put in, or with None taken out."""
        entry = self.catalogs[catalog]
        databases = without(entry.databases, name) if database is None else put(entry.databases, name, database)
        return replace(self, catalogs=put(self.catalogs, catalog, replace(entry, databases=databases)))
