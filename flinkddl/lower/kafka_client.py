"""Kafka client settings of a table, as Spark's source and sink take them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flinkddl.options import ResolvedOptions


def client_options(options: ResolvedOptions) -> dict[str, str]:
    """Return ``kafka.*`` options: the servers, and the properties that are passed on."""
    servers = str(options["properties.bootstrap.servers"])
    return {"kafka.bootstrap.servers": servers} | {f"kafka.{k}": v for k, v in options.properties.items()}


def written_property(options: ResolvedOptions, name: str) -> str | None:
    """Return a ``properties.*`` option as it stands in the table, or None."""
    text = options.texts.get(f"properties.{name}")
    return text.value if text is not None else None
