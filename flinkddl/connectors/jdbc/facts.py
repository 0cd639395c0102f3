"""The connector ``jdbc``: a bounded scan, a lookup table, and a sink that upserts by the PRIMARY KEY."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl import sqltypes as T
from flinkddl.connectors.base import Connector, always, inserts, upserts
from flinkddl.connectors.common import check_layout, check_no_metadata
from flinkddl.diagnostics.secrets import mask
from flinkddl.sqltypes import Root

if TYPE_CHECKING:
    from flinkddl.catalog.model import Table
    from flinkddl.connectors.base import Use
    from flinkddl.diagnostics import Bag
    from flinkddl.options import ResolvedOptions

_REFUSED = frozenset({Root.MAP, Root.MULTISET, Root.ROW, Root.VARIANT, Root.RAW}) | T.INTERVAL
# Flink has arrays for PostgreSQL alone, and no dialect of it takes TIMESTAMP_LTZ.
_INSTEAD = {
    Root.TIMESTAMP_LTZ: "declare it as TIMESTAMP(p)",
    Root.ARRAY: "read it from PostgreSQL, or store it as STRING",
}
DRIVERS = {
    "postgresql": "org.postgresql.Driver",
    "sqlite": "org.sqlite.JDBC",
    "mysql": "com.mysql.cj.jdbc.Driver",
    "mariadb": "org.mariadb.jdbc.Driver",
    "derby": "org.apache.derby.jdbc.EmbeddedDriver",
    "h2": "org.h2.Driver",
    "oracle": "oracle.jdbc.OracleDriver",
    "sqlserver": "com.microsoft.sqlserver.jdbc.SQLServerDriver",
    "db2": "com.ibm.db2.jcc.DB2Driver",
}
"""Driver class by the word behind ``jdbc:`` of a URL."""


def database_of(url: str) -> str:
    """Return the word behind ``jdbc:``, which names the kind of database, in lower case; empty for no JDBC URL."""
    scheme, _, rest = url.partition(":")
    return rest.partition(":")[0].lower() if scheme.lower() == "jdbc" else ""


def _check(connector: Connector, table: Table, resolved: ResolvedOptions, bag: Bag, use: Use) -> None:
    check_no_metadata(table, resolved, bag)
    database = database_of(str(resolved["url"]))
    if not database:
        message = f"'url' = '{mask('url', str(resolved['url']))}' is no JDBC URL"
        bag.error("FD211", message, resolved.span("url"), "write it as 'jdbc:postgresql://host:5432/database'")
    elif database not in DRIVERS and not resolved["driver"]:
        message = f"the driver class of '{database}' is not known"
        bag.warning("FD217", message, resolved.span("url"), "name it with 'driver'")
    arrays = resolved.role == "source" and database == "postgresql"
    for column in table.physical:
        if column.type is None or not column.type.is_a(_REFUSED | _INSTEAD.keys()):
            continue
        if column.type.root is Root.ARRAY and arrays:
            continue
        message = f"column '{column.name}' of type {column.type.summary} has no counterpart in a database"
        bag.error("FD238", message, column.span, _INSTEAD.get(column.type.root, "store it as STRING"))


def _check_sink(connector: Connector, table: Table, resolved: ResolvedOptions, bag: Bag, use: Use) -> None:
    _check(connector, table, resolved, bag, use)
    check_layout(connector, table, bag, use)


CONNECTOR = Connector(
    name="jdbc",
    source_mode=inserts,
    sink_mode=upserts,
    read="flinkddl.connectors.jdbc.read",
    write="flinkddl.connectors.jdbc.write",
    bounded=always,
    lookup=always,
    check_source=_check,
    check_sink=_check_sink,
    instead="declare the PRIMARY KEY of the table, by which its rows are updated and deleted",
)
