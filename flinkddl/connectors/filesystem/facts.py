"""The connector ``filesystem``: files of a folder, partitioned or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl import sqltypes as T
from flinkddl.connectors import common
from flinkddl.connectors.base import Connector, Metadata, Projection, by_key, field_of, of_format
from flinkddl.options.legacy import is_old

if TYPE_CHECKING:
    from flinkddl.catalog.model import Table
    from flinkddl.connectors.base import Use
    from flinkddl.diagnostics import Bag
    from flinkddl.options import ResolvedOptions


LINES = frozenset({"csv", "json", "raw", "debezium-json", "canal-json", "maxwell-json", "ogg-json"})
"""The formats of which a line of a file is a message."""


METADATA = by_key(
    Metadata("file.path", T.STRING.not_null()),
    Metadata("file.name", T.STRING.not_null()),
    Metadata("file.size", T.BIGINT.not_null()),
    Metadata("file.modification-time", T.TIMESTAMP_LTZ(3).not_null()),
)


def projection(table: Table, resolved: ResolvedOptions) -> Projection:
    """Return the columns inside the files: all but the partition columns, whose values stand in folder names."""
    inside = [c.name for c in table.physical if c.name not in table.partition_keys]
    return Projection((), tuple(field_of(table, name) for name in inside))


def _check_source(connector: Connector, table: Table, resolved: ResolvedOptions, bag: Bag, use: Use) -> None:
    common.check_source(connector, table, resolved, bag, use)
    _folders(table, bag)


def _check_sink(connector: Connector, table: Table, resolved: ResolvedOptions, bag: Bag, use: Use) -> None:
    common.check_sink(connector, table, resolved, bag, use)
    _folders(table, bag)
    if use.overwrite and not use.batch:
        help = "SET 'execution.runtime-mode' = 'batch'"
        bag.error("FD236", "INSERT OVERWRITE is not possible in streaming mode", use.span, help)


def _folders(table: Table, bag: Bag) -> None:
    for column in table.physical:
        if column.name in table.partition_keys and column.type is not None and column.type.root not in T.PLAIN:
            message = f"partition column '{column.name}' of type {column.type.summary} cannot be the name of a folder"
            bag.error("FD238", message, column.span, "partition by a text, a number, a date or a TIMESTAMP")


CONNECTOR = Connector(
    name="filesystem",
    source_mode=of_format,
    sink_mode=of_format,
    read="flinkddl.connectors.filesystem.read",
    write="flinkddl.connectors.filesystem.write",
    bounded=lambda table, resolved: resolved["source.monitor-interval"] is None,
    lookup=lambda resolved: is_old(resolved.texts),  # Flink looks up in the CSV files of its older tables alone
    metadata=lambda resolved: METADATA,
    projection=projection,
    check_source=_check_source,
    check_sink=_check_sink,
    formats=(*LINES, "parquet"),
    partitions=True,
    overwrite=True,
    append_mode=True,
)
