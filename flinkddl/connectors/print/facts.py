"""The connector ``print``: takes every kind of row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.connectors.base import ALL_KINDS, Connector
from flinkddl.connectors.common import check_no_metadata

if TYPE_CHECKING:
    from flinkddl.catalog.model import Table
    from flinkddl.connectors.base import Use
    from flinkddl.diagnostics import Bag
    from flinkddl.options import ResolvedOptions


def _check_sink(connector: Connector, table: Table, resolved: ResolvedOptions, bag: Bag, use: Use) -> None:
    """Check a table of print or blackhole; both take partitioned tables."""
    persisted = [c for c in table.columns if c.kind == "metadata" and not c.virtual]
    if persisted:
        check_no_metadata(table, resolved, bag)
    if use.overwrite:
        bag.error("FD236", f"connector '{resolved.connector}' can not overwrite", use.span, "write INSERT INTO")


CONNECTOR = Connector(
    name="print",
    sink_mode=lambda resolved: ALL_KINDS,
    write="flinkddl.connectors.print.write",
    check_sink=_check_sink,
    partitions=True,
)
