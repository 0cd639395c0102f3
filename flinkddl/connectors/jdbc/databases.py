"""The databases of jdbc tables: their quotes, how they say "insert or update", and how a connection is made.

Where a database has no word for that, a row is updated first and inserted if there was none: Flink's own way with an
unknown dialect.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flinkddl.connectors.jdbc.facts import DRIVERS, database_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flinkddl.options import ResolvedOptions

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Database:
    """A kind of database: its quote, ``upsert`` as the tail of an INSERT (``{sets}`` to be filled).

    ``new`` is the new value of a column in that tail, ``nothing`` the tail where every column is a key.
    """

    quote: str = '"'
    quotes_all: bool = False
    upsert: str = ""
    new: str = ""
    nothing: str = ""

    def name(self, column: str) -> str:
        """Return a column's name in SQL; as in Flink only MySQL's are always quoted, others fold to their case."""
        if _PLAIN.fullmatch(column) and not self.quotes_all:
            return column
        return self.quoted(column)

    def quoted(self, column: str) -> str:
        """Return a column's name in quotes, which keep its case."""
        return self.quote + column.replace(self.quote, self.quote * 2) + self.quote


_CONFLICT = "ON CONFLICT ({keys}) DO "
_POSTGRES = Database(upsert=_CONFLICT + "UPDATE SET {sets}", new="EXCLUDED.{name}", nothing=_CONFLICT + "NOTHING")
_MYSQL = Database(
    quote="`",
    quotes_all=True,
    upsert="ON DUPLICATE KEY UPDATE {sets}",
    new="VALUES({name})",
    nothing="ON DUPLICATE KEY UPDATE {first} = {first}",
)
DATABASES: Mapping[str, Database] = {
    "postgresql": _POSTGRES,
    "sqlite": _POSTGRES,
    "mysql": _MYSQL,
    "mariadb": _MYSQL,
}
"""By the word behind ``jdbc:``; others have no statement of their own."""


def database(options: ResolvedOptions) -> Database:
    """Return the database that the URL of a table names."""
    return DATABASES.get(database_of(str(options["url"])), Database())


def driver(options: ResolvedOptions) -> str:
    """Return the driver class of a table, empty where it is not known."""
    return str(options["driver"] or DRIVERS.get(database_of(str(options["url"])), ""))


def client(options: ResolvedOptions) -> dict[str, str]:
    """Return Spark's options for the connection itself."""
    name = driver(options)
    found = {"url": str(options["url"])} | ({"driver": name} if name else {})
    found |= {k: str(options[ours]) for ours, k in (("username", "user"), ("password", "password")) if options[ours]}
    return found | _properties(options)


def _properties(options: ResolvedOptions) -> dict[str, str]:
    return {k.removeprefix("properties."): t.value for k, t in options.texts.items() if k.startswith("properties.")}
