"""Facts of ``kafka``, shared by ``upsert-kafka``. Rule numbers are those of the connector reference, section 2."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from flinkddl.connectors.base import Connector, Projection, field_of, of_format
from flinkddl.connectors.common import (
    check_batch,
    check_columns,
    check_layout,
    check_read_metadata,
    check_written_metadata,
)
from flinkddl.connectors.kafka.generated import GROUP_RULE, PREFIX_RULE
from flinkddl.connectors.kafka.metadata import check_topic, needed_column, of_kafka
from flinkddl.diagnostics import did_you_mean
from flinkddl.options.values import parse_int, parse_long

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flinkddl.catalog.model import Table
    from flinkddl.connectors.base import Use
    from flinkddl.diagnostics import Bag
    from flinkddl.options import ResolvedOptions


# ---- what it offers ----------------------------------------------------------------------------------------------


def _ends(resolved: ResolvedOptions) -> bool:
    return resolved["scan.bounded.mode"] not in (None, "unbounded")


def key_columns(table: Table, resolved: ResolvedOptions) -> tuple[str, ...]:
    """Return the columns of the message key in its order: ``key.fields``, or the PRIMARY KEY of upsert-kafka."""
    if resolved.connector == "upsert-kafka":
        return table.primary_key.columns if table.primary_key else ()
    return resolved["key.fields"] or () if resolved.key_format else ()


def projection(table: Table, resolved: ResolvedOptions) -> Projection:
    """Return how physical columns fill key and value (section 4.1). Unknown key columns are left out."""
    physical = [c.name for c in table.physical]
    prefix = resolved["key.fields-prefix"] or ""
    keys = [c for c in key_columns(table, resolved) if c in physical]
    taken = keys if resolved["value.fields-include"] == "EXCEPT_KEY" else []
    return Projection(
        tuple(field_of(table, c, prefix) for c in keys),
        tuple(field_of(table, c) for c in physical if c not in taken),
    )


def subjects(resolved: ResolvedOptions) -> Mapping[str, str]:
    """Return the registry subjects of a sink's "key" and "value", where it has any (K22 to K28)."""
    sides = {"key": resolved.key_format, "value": resolved.value_format}
    return {role: chosen["subject"] for role, chosen in sides.items() if chosen is not None and chosen["subject"]}


def parse_offsets(text: str) -> dict[int, int]:
    """Return partition to offset of ``partition:0,offset:42;...``; the last one of a partition counts (V23).

    Raises ValueError for another form or numbers out of range.
    """
    out: dict[int, int] = {}
    for part in text.removesuffix(";").split(";"):
        found = re.fullmatch(r"partition:([-+]?\d+),offset:([-+]?\d+)", part)
        if not found:
            raise ValueError(f"'{part}' is not of the form partition:0,offset:42")
        out[parse_int(found[1])] = parse_long(found[2])
    return out


# ---- checks ------------------------------------------------------------------------------------------------------


def check_source(connector: Connector, table: Table, resolved: ResolvedOptions, bag: Bag, use: Use) -> None:
    """Check a table of topics that is read."""
    _offsets(resolved, bag)
    _common(table, resolved, bag, use)
    check_read_metadata(table, connector.metadata(resolved), bag)
    check_batch(connector, table, resolved, bag, use)
    if use.cdc_duplicates and not table.primary_key and "UB" in of_format(resolved):
        message = f"'table.exec.source.cdc-events-duplicate' needs a PRIMARY KEY on table '{table.path.name}'"
        bag.error("FD231", message, table.span or use.span, "add PRIMARY KEY (...) NOT ENFORCED")


def check_sink(connector: Connector, table: Table, resolved: ResolvedOptions, bag: Bag, use: Use) -> None:
    """Check a table of topics that is written."""
    _common(table, resolved, bag, use)
    check_written_metadata(table, connector.metadata(resolved), bag)
    check_topic(table, resolved, bag, use)
    check_layout(connector, table, bag, use)
    for chosen in (resolved.key_format, resolved.value_format):
        if chosen and "subject" in chosen.options and not chosen["subject"]:
            key = f"{chosen.space}subject"
            message = f"'{key}' is required for writing to more than one topic"
            bag.error("FD218", message, resolved.span(chosen.key), f"add '{key}' = '...'")


def _common(table: Table, resolved: ResolvedOptions, bag: Bag, use: Use) -> None:
    _primary_key(table, resolved, bag, use)
    _key_fields(table, resolved, bag)
    fields = projection(table, resolved)
    if resolved.key_format is not None and fields.key:
        check_columns(table, resolved.key_format, fields.key, resolved.role, bag, use)
    if resolved.value_format is not None:
        check_columns(table, resolved.value_format, fields.value, resolved.role, bag, use)


def _primary_key(table: Table, resolved: ResolvedOptions, bag: Bag, use: Use) -> None:
    """V33: no key on an insert-only kafka table. V34: a key on every upsert-kafka table."""
    if resolved.connector == "upsert-kafka":
        if table.primary_key is None:
            message = f"table '{table.path.name}' needs a PRIMARY KEY, which selects the columns of the message key"
            bag.error("FD231", message, table.span or use.span, "add PRIMARY KEY (...) NOT ENFORCED")
        return
    chosen = resolved.value_format
    if table.primary_key and chosen is not None and chosen.insert_only:
        message = f"table '{table.path.name}' with format '{chosen.name}' can not have a PRIMARY KEY"
        help = "remove it, because uniqueness can not be guaranteed; or use 'upsert-kafka'"
        bag.error("FD230", message, table.primary_key.span, help)


def _key_fields(table: Table, resolved: ResolvedOptions, bag: Bag) -> None:
    """V28: key fields are physical columns. V29: they begin with the prefix."""
    physical = [c.name for c in table.physical]
    prefix = resolved["key.fields-prefix"] or ""
    place = resolved.span("key.fields", "key.fields-prefix")
    for name in key_columns(table, resolved):
        if name not in physical:
            message = f"key field '{name}' is not a physical column of table '{table.path.name}'"
            help = did_you_mean(name, physical) or f"physical columns: {', '.join(physical)}"
            bag.error("FD221", message, place, help)
        elif not name.startswith(prefix):
            message = f"key field '{name}' does not begin with 'key.fields-prefix' = '{prefix}'"
            bag.error("FD221", message, place, f"call the column '{prefix}{name}', or change the prefix")
        elif name == prefix:
            message = f"nothing is left of key field '{name}' without 'key.fields-prefix' = '{prefix}'"
            bag.error("FD221", message, place, f"call the column '{prefix}id' or the like")


def _offsets(resolved: ResolvedOptions, bag: Bag) -> None:
    """V23: numbers in range. The form itself is a rule of the registry."""
    for what in ("startup", "bounded"):
        key = f"scan.{what}.specific-offsets"
        text = resolved[key]
        if resolved[f"scan.{what}.mode"] != "specific-offsets" or not text:
            continue
        try:
            parse_offsets(text)
        except ValueError as error:
            if "form" not in str(error):
                bag.error("FD219", f"invalid offsets '{text}' for '{key}'", resolved.span(key), str(error))


CONNECTOR = Connector(
    name="kafka",
    source_mode=of_format,
    sink_mode=of_format,
    read="flinkddl.connectors.kafka.read",
    write="flinkddl.connectors.kafka.write",
    bounded=lambda table, resolved: _ends(resolved),
    lookup=_ends,  # the whole topic, as the table that it holds when the job begins
    metadata=of_kafka,
    projection=projection,
    check_source=check_source,
    check_sink=check_sink,
    written=needed_column,
    generated=(GROUP_RULE, PREFIX_RULE),
)
