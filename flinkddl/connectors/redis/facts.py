"""The connector ``redis``: a sink that keeps a hash for each row, put and deleted by the PRIMARY KEY."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl import sqltypes as T
from flinkddl.connectors import common
from flinkddl.connectors.base import Connector, upserts

if TYPE_CHECKING:
    from flinkddl.catalog.model import Table
    from flinkddl.connectors.base import Use
    from flinkddl.diagnostics import Bag
    from flinkddl.options import ResolvedOptions

_TEXTS = T.CHARACTER | T.NUMERIC | T.DATETIME | {T.Root.BOOLEAN}
"""Types whose values have one text, Flink's CAST AS STRING: a hash holds texts."""


def _check_sink(connector: Connector, table: Table, resolved: ResolvedOptions, bag: Bag, use: Use) -> None:
    common.check_sink(connector, table, resolved, bag, use)
    if table.primary_key is None:
        message = f"table '{table.path.name}' needs a PRIMARY KEY, whose values are the keys in Redis"
        bag.error("FD231", message, table.span or use.span, "add PRIMARY KEY (...) NOT ENFORCED")
    for column in table.physical:
        if column.type is not None and not column.type.is_a(_TEXTS):
            message = f"column '{column.name}' of type {column.type.summary} has no text to be stored as"
            bag.error("FD238", message, column.span, "store it as STRING")


CONNECTOR = Connector(
    name="redis",
    sink_mode=upserts,
    write="flinkddl.connectors.redis.write",
    check_sink=_check_sink,
)
