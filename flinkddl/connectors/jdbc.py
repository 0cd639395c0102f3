"""The connector ``jdbc``: a bounded scan, a lookup table, and a sink that upserts by the PRIMARY KEY."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl import sqltypes as T
from flinkddl.connectors.base import INSERT_ONLY, UPSERT, Connector, all_values, no_metadata
from flinkddl.connectors.common import check_layout, check_no_metadata
from flinkddl.sqltypes import Root

if TYPE_CHECKING:
    from flinkddl.catalog.model import Table
    from flinkddl.connectors.base import ChangelogMode, Use
    from flinkddl.diagnostics import Bag
    from flinkddl.options import ResolvedOptions

_REFUSED = frozenset({Root.MAP, Root.MULTISET, Root.ROW, Root.VARIANT, Root.RAW}) | T.INTERVAL


def _insert_only(resolved: ResolvedOptions) -> ChangelogMode:
    return INSERT_ONLY


def _takes(resolved: ResolvedOptions) -> ChangelogMode:
    """With a PRIMARY KEY the sink upserts; without one the planner lets it take inserts only."""
    return INSERT_ONLY | UPSERT


def _check(table: Table, resolved: ResolvedOptions, bag: Bag, use: Use) -> None:
    check_no_metadata(table, resolved, bag, use)
    for column in table.physical:
        if column.type is not None and column.type.is_a(_REFUSED):
            message = f"column '{column.name}' of type {column.type.summary} has no counterpart in a database"
            bag.error("FD238", message, column.span, "store it as STRING")


def _check_sink(table: Table, resolved: ResolvedOptions, bag: Bag, use: Use) -> None:
    _check(table, resolved, bag, use)
    check_layout(CONNECTOR, table, bag, use)


CONNECTOR = Connector(
    "jdbc", _insert_only, _takes, no_metadata, all_values, lambda _: True, _check, _check_sink, lookup=True
)
