"""Metadata columns: what Kafka and the change formats offer, and whether a declared column fits it.

Source: kafka-connectors reference, section 3; formats reference, section 9.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from flinkddl import sqltypes as T
from flinkddl.connectors.base import Metadata
from flinkddl.diagnostics import did_you_mean
from flinkddl.formats import metadata_types
from flinkddl.typecasts import CastRefused, check_cast

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flinkddl.catalog.model import Column, Table
    from flinkddl.connectors.base import Use
    from flinkddl.diagnostics import Bag
    from flinkddl.options import ResolvedOptions
    from flinkddl.sqltypes import DataType

_HEADER_READ = T.ROW(("key", T.STRING.not_null()), ("value", T.BYTES)).not_null()
_HEADER_WRITE = T.ROW(("key", T.STRING), ("value", T.BYTES))


def _by_key(*items: Metadata) -> Mapping[str, Metadata]:
    return {m.key: m for m in items}


KAFKA = _by_key(
    Metadata("topic", T.STRING.not_null(), T.STRING.not_null()),
    Metadata("partition", T.INT.not_null()),
    Metadata("headers", T.MAP(T.STRING, T.BYTES).not_null(), T.MAP(T.STRING, T.BYTES)),
    Metadata("header-list", T.ARRAY(_HEADER_READ).not_null(), T.ARRAY(_HEADER_WRITE)),
    Metadata("leader-epoch", T.INT),
    Metadata("offset", T.BIGINT.not_null()),
    Metadata("timestamp", T.TIMESTAMP_LTZ(3).not_null(), T.TIMESTAMP_LTZ(3)),
    Metadata("timestamp-type", T.STRING.not_null()),
)
FILESYSTEM = _by_key(
    Metadata("file.path", T.STRING.not_null()),
    Metadata("file.name", T.STRING.not_null()),
    Metadata("file.size", T.BIGINT.not_null()),
    Metadata("file.modification-time", T.TIMESTAMP_LTZ(3).not_null()),
)


def of_kafka(resolved: ResolvedOptions) -> Mapping[str, Metadata]:
    """Return what a plain kafka table offers: Kafka's own keys, and the value format's under ``value.``."""
    out = dict(_kafka(resolved))
    if resolved.value_format is not None:
        for key, kind in metadata_types(resolved.value_format).items():
            out[f"value.{key}"] = Metadata(f"value.{key}", kind, None, key)
    return out


def of_upsert_kafka(resolved: ResolvedOptions) -> Mapping[str, Metadata]:
    """Return what an upsert-kafka table offers: Kafka's own keys only."""
    return _kafka(resolved)


def _kafka(resolved: ResolvedOptions) -> Mapping[str, Metadata]:
    if several_topics(resolved):
        return KAFKA
    return {**KAFKA, "topic": replace(KAFKA["topic"], write=None)}


def several_topics(resolved: ResolvedOptions) -> bool:
    """Whether rows must say which topic they belong to."""
    return resolved["topic-pattern"] is not None or len(resolved["topic"] or ()) > 1


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


def check_topic(table: Table, resolved: ResolvedOptions, bag: Bag, use: Use) -> None:
    """Check that rows for several topics name theirs; Flink plans such a sink and fails at its first row (V13)."""
    if not several_topics(resolved) or topic_column(table) is not None:
        return
    key = "topic" if resolved["topic"] else "topic-pattern"
    message = f"table '{table.path.name}' is written to several topics, and no column names a row's topic"
    help = "add a column `topic` STRING METADATA, or give one topic"
    bag.error("FD247", message, resolved.span(key) or use.span or table.span, help)


def topic_column(table: Table) -> Column | None:
    """Return the column that names the topic of a written row."""
    found = (c for c in table.columns if c.kind == "metadata" and not c.virtual and c.metadata_key == "topic")
    return next(found, None)


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
