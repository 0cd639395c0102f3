"""Checks that connectors share."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from flinkddl.diagnostics import did_you_mean
from flinkddl.formats import columns
from flinkddl.options import OptionText
from flinkddl.typecasts import CastRefused, check_cast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from flinkddl.catalog.model import Column, Table
    from flinkddl.connectors.base import Connector, Metadata, PayloadField, Use
    from flinkddl.diagnostics import Bag
    from flinkddl.options import FormatOptions, ResolvedOptions
    from flinkddl.options.registry import Role
    from flinkddl.sqltypes import DataType

_BOUNDS = {"scan.bounded.mode": "latest-offset", "number-of-rows": "1000"}
"""What bounds a table, where its connector has the option."""


def completed(connector: Connector, table: Table, role: Role, bag: Bag, use: Use) -> Table:
    """Return a table with the options that are generated for this use; each is warned of, at the table's DDL."""
    for rule in connector.generated:
        if rule.role == role and rule.lacks(table) and not use.strict:
            added = rule.options(table, use)
            first = next(iter(added.values()))
            place = next((table.options[k].value_span for k in rule.at if k in table.options), None)
            bag.warning(rule.code, rule.says.format(table=table.path.name, value=first), place or table.span, rule.help)
            table = replace(table, options={**table.options, **{k: OptionText(v) for k, v in added.items()}})
    return table


def check_source(connector: Connector, table: Table, resolved: ResolvedOptions, bag: Bag, use: Use) -> None:
    """Check a table that is read: metadata columns, what its format can carry, batch mode."""
    _check_columns(connector, table, resolved, bag, use)
    check_batch(connector, table, resolved, bag, use)


def check_sink(connector: Connector, table: Table, resolved: ResolvedOptions, bag: Bag, use: Use) -> None:
    """Check a table that is written: metadata columns, what its format can carry, partitions, OVERWRITE."""
    _check_columns(connector, table, resolved, bag, use)
    check_layout(connector, table, bag, use)


def _check_columns(connector: Connector, table: Table, resolved: ResolvedOptions, bag: Bag, use: Use) -> None:
    if offered := connector.metadata(resolved):
        (check_read_metadata if resolved.role == "source" else check_written_metadata)(table, offered, bag)
    else:
        check_no_metadata(table, resolved, bag)
    if resolved.value_format is not None:
        fields = connector.projection(table, resolved).value
        check_columns(table, resolved.value_format, fields, resolved.role, bag, use)


def check_batch(connector: Connector, table: Table, resolved: ResolvedOptions, bag: Bag, use: Use) -> None:
    """Check that a table can be read in batch mode (V56)."""
    if not use.batch or connector.source_mode is None:
        return
    name = table.path.name
    if not connector.bounded(table, resolved):
        bound = next((f"bound it, as with '{k}' = '{v}', or " for k, v in _BOUNDS.items() if k in resolved.values), "")
        help = f"{bound}SET 'execution.runtime-mode' = 'streaming'"
        bag.error("FD237", f"table '{name}' is unbounded and can not be read in batch mode", use.span, help)
    elif connector.source_mode(resolved) != {"I"}:
        help = "SET 'execution.runtime-mode' = 'streaming'"
        bag.error("FD237", f"table '{name}' emits changes and can not be read in batch mode", use.span, help)


def check_layout(connector: Connector, table: Table, bag: Bag, use: Use) -> None:
    """Check OVERWRITE, PARTITIONED BY and DISTRIBUTED of a table that is written (V49)."""
    where = use.span or table.span
    if use.overwrite and not connector.overwrite:
        bag.error("FD236", f"connector '{connector.name}' can not overwrite", where, "write INSERT INTO")
    if table.partition_keys and not connector.partitions:
        message = f"connector '{connector.name}' can not write the partitioned table '{table.path.name}'"
        bag.error("FD236", message, where, "remove PARTITIONED BY")
    if table.distribution is not None:
        message = f"connector '{connector.name}' can not write the distributed table '{table.path.name}'"
        bag.error("FD236", message, where, "remove DISTRIBUTED")


def check_no_metadata(table: Table, resolved: ResolvedOptions, bag: Bag) -> None:
    """Check a table of a connector without metadata."""
    for column in table.columns:
        if column.kind == "metadata":
            message = f"connector '{resolved.connector}' has no metadata for column '{column.name}'"
            bag.error("FD232", message, column.span, "remove the column")


def check_conflict(connector: Connector, resolved: ResolvedOptions, bag: Bag, use: Use) -> None:
    """Check that ON CONFLICT stands only before a sink that upserts."""
    if use.conflict is None or connector.sink_mode is None:
        return
    takes = connector.sink_mode(resolved)
    if "UA" not in takes or "UB" in takes:
        why = "takes inserts only" if "UA" not in takes else "wants both halves of an update"
        message = f"ON CONFLICT is for upsert sinks, but connector '{connector.name}' {why}"
        bag.error("FD241", message, use.span, "remove ON CONFLICT")


def check_columns(
    table: Table, chosen: FormatOptions, fields: Sequence[PayloadField], role: Role, bag: Bag, use: Use
) -> None:
    """Check that a format can carry these fields; a finding about a column points at its declaration."""
    typed = [(f.name, f.type, table.column(f.column)) for f in fields]
    columns.check(chosen, typed, role, bag, table.span or use.span)


# ---- metadata columns: kafka-connectors reference, section 3; formats reference, section 9 -------------------------


def check_read_metadata(table: Table, offered: Mapping[str, Metadata], bag: Bag) -> None:
    """Check the metadata columns of a table that is read (V43, V45)."""
    for column in table.columns:
        if column.kind != "metadata":
            continue
        known = offered.get(column.metadata_key or "")
        if known is None:
            _unknown(column, offered, "read", bag)
        else:
            _castable(column, known.read, column.type, bag)


def check_written_metadata(table: Table, offered: Mapping[str, Metadata], bag: Bag) -> None:
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
