"""Connectors: one module each, found by name; and the check of one use of a table."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from flinkddl.connectors.base import Connector, Metadata, PayloadField, Projection, Use
from flinkddl.connectors.common import check_conflict
from flinkddl.connectors.generated import completed
from flinkddl.options import OptionText, ResolvedOptions, validate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flinkddl.catalog.model import Table
    from flinkddl.diagnostics import Bag

__all__ = ["Connector", "Metadata", "PayloadField", "Projection", "Use", "connector", "use_table", "with_hints"]

_MODULES = {
    "kafka": "kafka",
    "upsert-kafka": "upsert_kafka",
    "print": "print",
    "blackhole": "blackhole",
    "datagen": "datagen",
    "filesystem": "filesystem",
    "jdbc": "jdbc",
    "dataframe": "dataframe",
}


@cache
def connector(name: str) -> Connector:
    """Return a connector by name. Raises KeyError for one that is not here."""
    found: Connector = import_module(f"flinkddl.connectors.{_MODULES[name]}").CONNECTOR
    return found


def with_hints(table: Table, hints: Mapping[str, OptionText] | None) -> Table:
    """Return the table with OPTIONS hints laid over its options."""
    return replace(table, options={**table.options, **hints}) if hints else table


def use_table(
    table: Table,
    role: str,
    hints: Mapping[str, OptionText] | None,
    bag: Bag,
    use: Use | None = None,
) -> ResolvedOptions | None:
    """Check one use of a table and return its options typed; everything that is wrong goes into the bag.

    ``role`` is "source", "sink" or "lookup" (a source that must be able to look up single keys). Returns None where
    the connector is not usable at all.
    """
    use = use or Use()
    table = completed(with_hints(table, hints), role == "sink", bag, use)
    resolved = validate(table.options, "sink" if role == "sink" else "source", bag, use.span or table.span)
    if resolved is None:
        return None
    found = connector(resolved.connector)
    check = found.check_sink if role == "sink" else found.check_source
    check(table, resolved, bag, use)
    if role == "sink":
        check_conflict(found, resolved, bag, use)
    return resolved
