"""Kafka client settings of a table, as Spark's source and sink take them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.spark.kerberos import login

if TYPE_CHECKING:
    from flinkddl.catalog.settings import Settings
    from flinkddl.options import ResolvedOptions


def client_options(options: ResolvedOptions, config: Settings) -> dict[str, str]:
    """Return ``kafka.*`` options: the servers, the properties that are passed on, the session's Kerberos login."""
    servers = str(options["properties.bootstrap.servers"])
    properties = {**login(options.properties, config), **options.properties}
    return {"kafka.bootstrap.servers": servers} | {f"kafka.{k}": v for k, v in properties.items()}


def written_property(options: ResolvedOptions, name: str) -> str | None:
    """Return a ``properties.*`` option as it stands in the table, or None."""
    text = options.texts.get(f"properties.{name}")
    return text.value if text is not None else None
