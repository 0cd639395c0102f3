"""The metadata of Kafka's records, and the column that names the topic of a written row.

Source: kafka-connectors reference, section 3; formats reference, section 9.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from flinkddl import sqltypes as T
from flinkddl.connectors.base import Metadata, by_key
from flinkddl.formats import metadata_types

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flinkddl.catalog.model import Column, Table
    from flinkddl.connectors.base import Use
    from flinkddl.diagnostics import Bag
    from flinkddl.options import ResolvedOptions

_HEADER_READ = T.ROW(("key", T.STRING.not_null()), ("value", T.BYTES)).not_null()
_HEADER_WRITE = T.ROW(("key", T.STRING), ("value", T.BYTES))
KAFKA = by_key(
    Metadata("topic", T.STRING.not_null(), T.STRING.not_null()),
    Metadata("partition", T.INT.not_null()),
    Metadata("headers", T.MAP(T.STRING, T.BYTES).not_null(), T.MAP(T.STRING, T.BYTES)),
    Metadata("header-list", T.ARRAY(_HEADER_READ).not_null(), T.ARRAY(_HEADER_WRITE)),
    Metadata("leader-epoch", T.INT),
    Metadata("offset", T.BIGINT.not_null()),
    Metadata("timestamp", T.TIMESTAMP_LTZ(3).not_null(), T.TIMESTAMP_LTZ(3)),
    Metadata("timestamp-type", T.STRING.not_null()),
)


def of_kafka(resolved: ResolvedOptions) -> Mapping[str, Metadata]:
    """Return what a plain kafka table offers: Kafka's own keys, and the value format's under ``value.``."""
    out = dict(_kafka(resolved))
    if resolved.value_format is not None:
        for key, kind in metadata_types(resolved.value_format).items():
            out[f"value.{key}"] = Metadata(f"value.{key}", kind)
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


def needed_column(table: Table, resolved: ResolvedOptions) -> Column | None:
    """Return the column that names the topic where rows go to several; without it each of them would fail."""
    return topic_column(table) if several_topics(resolved) else None
