"""Connectors: a folder each, found by name; and the check of one use of a table."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from flinkddl.connectors import common, refused
from flinkddl.connectors.base import Connector, Metadata, PayloadField, Projection, Use
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.options import OptionText, ResolvedOptions, installed, registry, validate
from flinkddl.options.hints import legacy
from flinkddl.options.legacy import is_old, still_read
from flinkddl.sqltypes import PLAIN, Root

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flinkddl.catalog.model import Table
    from flinkddl.diagnostics import Bag
    from flinkddl.options.registry import Role
    from flinkddl.sqltypes import DataType

__all__ = ["Connector", "Metadata", "PayloadField", "Projection", "Use", "connector", "use_table", "with_hints"]


@cache
def connector(name: str) -> Connector:
    """Return a connector by name. Raises KeyError for one that is not here, FD248 or FD249 for one that cannot be used.

    Its record must say what its options say: which roles it has.
    """
    package, document = installed.package(name), registry.connector(name)
    if package is None or document is None:
        raise KeyError(name)
    with installed.usable(name):
        found: Connector = import_module(f"{package}.facts").CONNECTOR
        if found.name != name:
            raise ValueError(f"its record is named '{found.name}'")
        for role, mode, module in (("source", found.source_mode, found.read), ("sink", found.sink_mode, found.write)):
            if len({role in document.roles, mode is not None, bool(module)}) > 1:
                raise ValueError(f"options, changelog mode and module do not agree whether it is a {role}")
    return found


def with_hints(table: Table, hints: Mapping[str, OptionText] | None) -> Table:
    """Return the table with OPTIONS hints laid over its options."""
    return replace(table, options={**table.options, **hints}) if hints else table


def use_table(
    table: Table, role: Role, hints: Mapping[str, OptionText] | None, bag: Bag, use: Use | None = None
) -> ResolvedOptions | None:
    """Check one use of a table and return its options typed; everything that is wrong goes into the bag.

    Returns None where the connector is not usable at all.
    """
    use = use or Use()
    declared, table = table, with_hints(table, hints)
    named = table.options.get("connector")
    try:
        found = connector(named.value) if named is not None and installed.package(named.value) is not None else None
    except FlinkDdlError as error:
        bag.extend(replace(d, span=named.value_span if named else None) for d in error.diagnostics)
        return None
    if named is not None and (others := installed.passed_over(named.value)):
        message = f"connector '{named.value}' is flinkddl's own; the one that package '{others}' brings is not used"
        bag.warning("FD525", message, named.value_span, "uninstall the package, or give its connector another name")
    if named is not None and found is None and refused.report(declared, named, bag):
        return None
    if found is not None:
        table = common.completed(found, table, role, bag, use)
    elif named is None and is_old(table.options):
        if role == "source" and (today := _still_read(table)) is not None:
            resolved = use_table(today, role, None, bag, use)
            return resolved and replace(resolved, texts=table.options)
        timestamps = any(c.type is not None and _holds_timestamp(c.type) for c in table.physical)
        legacy(table.options, bag, table.path.name, timestamps=timestamps, read=role == "source")
        return None
    resolved = validate(table.options, role, bag, table.span or use.span, use.span)
    if resolved is None or found is None:
        return None
    if role == "sink":
        (found.check_sink or common.check_sink)(found, table, resolved, bag, use)
        common.check_conflict(found, resolved, bag, use)
    else:
        (found.check_source or common.check_source)(found, table, resolved, bag, use)
    return resolved


def _still_read(table: Table) -> Table | None:
    """Return a table that Flink reads in its older options with those of today, at the places of the old ones."""
    kinds = {c.type.root for c in table.physical if c.type is not None}
    renewed = still_read({key: text.value for key, text in table.options.items()})
    if renewed is None or not kinds <= PLAIN or any(c.kind == "metadata" for c in table.columns):
        return None
    pairs = [(key, table.options[old], value) for old, new in renewed.pairs.items() for key, value in new]
    return replace(table, options={key: replace(text, value=value) for key, text, value in pairs})


def _holds_timestamp(t: DataType) -> bool:
    return t.root is Root.TIMESTAMP or any(map(_holds_timestamp, (*t.children, *(f.type for f in t.fields))))
