"""The connector ``upsert-kafka``: shares its rules with ``kafka``."""

from flinkddl.connectors.kafka import CONNECTORS

CONNECTOR = CONNECTORS["upsert-kafka"]
