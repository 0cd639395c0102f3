"""What a countdown is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl import sqltypes as T
from flinkddl.connectors import common
from flinkddl.connectors.base import Connector, always, inserts

if TYPE_CHECKING:
    from flinkddl.catalog.model import Table
    from flinkddl.connectors.base import Use
    from flinkddl.diagnostics import Bag
    from flinkddl.options import ResolvedOptions


def _check_source(connector: Connector, table: Table, resolved: ResolvedOptions, bag: Bag, use: Use) -> None:
    common.check_source(connector, table, resolved, bag, use)
    if [c.type.root for c in table.physical if c.type] != [T.BIGINT.root]:
        bag.error("FD238", "a countdown has one column, of type BIGINT", table.span, "declare it so")


CONNECTOR = Connector(
    name="countdown",
    source_mode=inserts,
    sink_mode=inserts,
    read="countdown.read",
    write="countdown.write",
    bounded=always,
    lookup=always,
    check_source=_check_source,
)
