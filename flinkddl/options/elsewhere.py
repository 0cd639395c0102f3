"""Connectors, formats and catalogs that exist elsewhere and do not run here: one table, ``registry/elsewhere.json``.

Each has a cause and a way on. Those of change data capture also say what the table to write instead is made of:
Debezium's rule for topic names and the keys of its metadata (sources: the connector pages of Flink CDC 3 and of
Debezium 3, "topic names" and "available metadata").
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from flinkddl.options import installed, registry

if TYPE_CHECKING:
    from collections.abc import Mapping

Kind = Literal["connectors", "catalogs"]
_SETTINGS = ("value.converter.schemas.enable=false",)  # Kafka Connect's default wraps each message in its schema


@dataclass(frozen=True)
class Refused:
    """Names that are refused together: ``cause`` is half a sentence, ``instead`` is in the imperative."""

    names: tuple[str, ...]
    cause: str
    instead: str


@dataclass(frozen=True)
class Capture:
    """How the changes of a CDC connector's table come through Kafka.

    ``writer`` puts them there, with ``settings``; ``topic`` are the options whose values its topic's name is made of,
    behind a prefix, () where the name is free; one with a question mark may be missing. ``filters``: options of the
    format that pick the table out of a topic of many, and the connector's option each takes its value from.
    ``metadata``: the connector's key of a metadata column to the new one; a key that is not there has none. ``note`` is
    what else to mind.
    """

    writer: str
    topic: tuple[str, ...]
    settings: tuple[str, ...]
    format: str
    filters: Mapping[str, str]
    metadata: Mapping[str, str]
    note: str | None


@cache
def families(kind: Kind) -> tuple[Refused, ...]:
    """Return all that is refused of a kind, names of one cause together."""
    return tuple(Refused(tuple(row["names"]), row["cause"], row["instead"]) for row in _table()[kind])


def names(kind: Kind) -> frozenset[str]:
    """Return all names that are refused of a kind."""
    return frozenset(name for row in families(kind) for name in row.names)


def connector(name: str) -> Refused | None:
    """Return why a connector does not run here, or None for one that does (a package may bring it) or nobody knows."""
    return _find("connectors", name) if name not in installed.names() else None


def catalog(type: str) -> Refused | None:
    """Return why a catalog of a type does not run here: its own row, else that of the connector of its name."""
    own, of_tables = _find("catalogs", type), _find("connectors", type)
    if own is not None or of_tables is None:
        return own
    return replace(of_tables, instead=f"declare each table with CREATE TABLE; {of_tables.instead}")


@cache
def capture(connector: str) -> Capture | None:
    """Return how the changes of a CDC connector come through Kafka, or None for another connector."""
    raw = _table()["cdc"].get(connector)
    if raw is None:
        return None
    format = raw.get("format", "debezium-json")
    return Capture(
        writer=raw["writer"],
        topic=tuple(raw["topic"]),
        settings=tuple(raw.get("settings", _SETTINGS)),
        format=format,
        filters=raw.get("filters", {}),
        metadata=_table()["metadata"][format],
        note=raw.get("note"),
    )


def _find(kind: Kind, name: str) -> Refused | None:
    return next((row for row in families(kind) if name in row.names), None)


def _table() -> Mapping[str, Any]:
    return registry.elsewhere()
