"""The connector ``dataframe``: a DataFrame of the user's own under a name. ``Catalog.create_view`` alone makes such
tables: no SQL text can name a DataFrame.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.connectors.base import ALL_KINDS, INSERT_ONLY, Connector

if TYPE_CHECKING:
    from flinkddl.catalog.model import Table
    from flinkddl.connectors.base import Use
    from flinkddl.diagnostics import Bag
    from flinkddl.options import ResolvedOptions

SOURCE_NAME = "<DataFrame>"
"""Name of the text by which ``Catalog.create_view`` declares its tables."""


def _check_source(connector: Connector, table: Table, resolved: ResolvedOptions, bag: Bag, use: Use) -> None:
    made_here = table.span is not None and table.span.source.name == SOURCE_NAME
    if not made_here:
        help = "in Python: catalog.create_view('name', df)"
        bag.error("FD244", "a table over a DataFrame can not be declared in SQL", use.span or table.span, help)


CONNECTOR = Connector(
    name="dataframe",
    source_mode=lambda resolved: ALL_KINDS if resolved["changelog"] else INSERT_ONLY,
    read="flinkddl.connectors.dataframe.read",
    bounded=lambda table, resolved: bool(resolved["bounded"]),  # a batch one
    check_source=_check_source,
    local=True,
)
