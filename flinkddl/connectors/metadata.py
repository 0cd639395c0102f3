"""Metadata columns: whether a declared column fits what its connector offers.

Source: kafka-connectors reference, section 3; formats reference, section 9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.diagnostics import did_you_mean
from flinkddl.typecasts import CastRefused, check_cast

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flinkddl.catalog.model import Column, Table
    from flinkddl.connectors.base import Metadata
    from flinkddl.diagnostics import Bag
    from flinkddl.sqltypes import DataType


def check_read(table: Table, offered: Mapping[str, Metadata], bag: Bag) -> None:
    """Check the metadata columns of a table that is read (V43, V45)."""
    for column in table.columns:
        if column.kind != "metadata":
            continue
        known = offered.get(column.metadata_key or "")
        if known is None:
            _unknown(column, offered, "read", bag)
        else:
            _castable(column, known.read, column.type, bag)


def check_write(table: Table, offered: Mapping[str, Metadata], bag: Bag) -> None:
    """Check the metadata columns of a table that is written (V44, V45, V47)."""
    columns = [c for c in table.columns if c.kind == "metadata" and not c.virtual]
    for column in columns:
        known = offered.get(column.metadata_key or "")
        if known is not None and known.write is not None:
            _castable(column, column.type, known.write, bag)
        elif known is not None:
            _read_only(column, offered, bag)
        else:
            _unknown(column, {k: m for k, m in offered.items() if m.write}, "written", bag)
    both = [c for c in columns if c.metadata_key in ("headers", "header-list")]
    if len(both) > 1:
        message = f"columns '{both[0].name}' and '{both[1].name}' both write the headers of the message"
        bag.error("FD235", message, both[1].span, "declare one of them VIRTUAL")


def _unknown(column: Column, offered: Mapping[str, Metadata], word: str, bag: Bag) -> None:
    key = column.metadata_key or ""
    help = did_you_mean(key, offered) or f"keys that can be {word}: {', '.join(offered) or 'none'}"
    bag.error("FD232", f"unknown metadata key '{key}' of column '{column.name}'", column.span, help)


def _read_only(column: Column, offered: Mapping[str, Metadata], bag: Bag) -> None:
    writable = ", ".join(k for k, m in offered.items() if m.write)
    message = f"metadata key '{column.metadata_key}' of column '{column.name}' can not be written"
    if column.metadata_key == "topic":
        message += " to a single topic"
    bag.error("FD233", message, column.span, f"declare the column VIRTUAL; writable keys: {writable or 'none'}")


def _castable(column: Column, source: DataType | None, target: DataType | None, bag: Bag) -> None:
    if source is None or target is None:
        return
    try:
        check_cast(source, target)
    except CastRefused:
        message = (
            f"metadata column '{column.name}' has type {column.type}, but its key '{column.metadata_key}' "
            f"is {target.summary if source is column.type else source.summary}"
        )
        bag.error("FD234", message, column.span, "declare a type that it can be cast to")
