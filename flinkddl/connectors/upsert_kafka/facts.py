"""The connector ``upsert-kafka``: topics as ``kafka`` reads and writes them, the last value of a key counts."""

from dataclasses import replace

from flinkddl.connectors.base import UPSERT, upserts
from flinkddl.connectors.kafka.facts import CONNECTOR as KAFKA
from flinkddl.connectors.kafka.generated import PREFIX_RULE
from flinkddl.connectors.kafka.metadata import of_upsert_kafka

CONNECTOR = replace(
    KAFKA,
    name="upsert-kafka",
    source_mode=lambda resolved: UPSERT,
    sink_mode=upserts,
    metadata=of_upsert_kafka,
    generated=(PREFIX_RULE,),
)
