"""The connector ``upsert-kafka``: topics as ``kafka`` reads and writes them, the last value of a key counts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from flinkddl.connectors.base import UPSERT, upserts
from flinkddl.connectors.kafka.facts import CONNECTOR as KAFKA
from flinkddl.connectors.kafka.generated import PREFIX_RULE
from flinkddl.connectors.kafka.metadata import of_upsert_kafka

if TYPE_CHECKING:
    from flinkddl.connectors.base import ChangelogMode
    from flinkddl.options import ResolvedOptions


def _source_mode(resolved: ResolvedOptions) -> ChangelogMode:
    return UPSERT


CONNECTOR = replace(
    KAFKA,
    name="upsert-kafka",
    source_mode=_source_mode,
    sink_mode=upserts,
    metadata=of_upsert_kafka,
    generated=(PREFIX_RULE,),
)
