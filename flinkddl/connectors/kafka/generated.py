"""Options that Flink 2.3 asks for and its own documents leave out: generated, each with a warning.

The documents of Flink 1.13 to 1.17 promise a group of its own to a source without one and show exactly-once sinks
without a prefix; Flink 2.3 refuses both (V38, V39, V50), and so does ``flinkddl.strict``.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from flinkddl.connectors.base import Generated

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flinkddl.catalog.model import Table
    from flinkddl.connectors.base import Use
    from flinkddl.options import OptionText

GROUP, RESET = "properties.group.id", "properties.auto.offset.reset"
PREFIX = "sink.transactional-id-prefix"
_START, _STOP = "scan.startup.mode", "scan.bounded.mode"
_NEAR = 0.85
_GUARANTEES = ("sink.semantic", "sink.delivery-guarantee")


def _no_group(table: Table) -> bool:
    given = table.options
    if get_close_matches(_START, [k for k in given if k != _START], cutoff=_NEAR):
        return False  # it is meant to begin elsewhere, and refused as it is
    return GROUP not in given and _mode(given, _START) == "group-offsets" and _mode(given, _STOP) != "group-offsets"


def _mode(given: Mapping[str, OptionText], key: str) -> str:
    return given[key].value.lower() if key in given else "group-offsets" if key == _START else ""


def _group(table: Table, use: Use) -> dict[str, str]:
    """Flink's name of a source without a group; nobody else commits under it, so it begins where the topic does."""
    reset = {} if RESET in table.options else {RESET: "earliest"}
    return {GROUP: f"KafkaSource-{table.path}", **reset}


def _no_prefix(table: Table) -> bool:
    asked = [table.options[k].value.lower().replace("_", "-") for k in _GUARANTEES if k in table.options]
    return PREFIX not in table.options and asked[:1] == ["exactly-once"]


def _prefix(table: Table, use: Use) -> dict[str, str]:
    """Job and topic: the table's path follows in each transactional id, and many scripts call their table ``sink``."""
    topic = table.options["topic"].value if "topic" in table.options else "any"
    return {PREFIX: f"{use.job or 'flinkddl'}-{topic}"}


GROUP_RULE = Generated(
    "FD227",
    "source",
    _no_group,
    _group,
    "table '{table}' has no 'properties.group.id', which Flink 2.3 asks for: it reads as group '{value}', whose "
    "first start is at the earliest offset (unless 'properties.auto.offset.reset' says otherwise)",
    "add 'properties.group.id' = '...', or 'scan.startup.mode' = 'earliest-offset'",
    (_START,),
)
PREFIX_RULE = Generated(
    "FD228",
    "sink",
    _no_prefix,
    _prefix,
    "table '{table}' has no 'sink.transactional-id-prefix', which Flink 2.3 asks for: its transactions begin with "
    "'{value}'; another job that writes exactly-once from such a table into this topic needs a 'pipeline.name' or "
    "a prefix of its own",
    "add 'sink.transactional-id-prefix' = '...', stable and unique per job",
    _GUARANTEES,
)
