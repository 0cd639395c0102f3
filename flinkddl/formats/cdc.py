"""The metadata of the CDC formats. Source: formats reference, section 9."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.sqltypes import ARRAY, INT, MAP, STRING, TIMESTAMP_LTZ, DataType

if TYPE_CHECKING:
    from collections.abc import Mapping

_MILLIS = TIMESTAMP_LTZ(3)
METADATA: Mapping[str, Mapping[str, DataType]] = {
    "debezium-json": {
        "schema": STRING,
        "ingestion-timestamp": _MILLIS,
        "source.timestamp": _MILLIS,
        "source.database": STRING,
        "source.schema": STRING,
        "source.table": STRING,
        "source.properties": MAP(STRING, STRING),
    },
    "canal-json": {
        "database": STRING,
        "table": STRING,
        "sql-type": MAP(STRING, INT),
        "pk-names": ARRAY(STRING),
        "ingestion-timestamp": _MILLIS,
        "event-timestamp": _MILLIS,
    },
    "maxwell-json": {
        "database": STRING,
        "table": STRING,
        "primary-key-columns": ARRAY(STRING),
        "ingestion-timestamp": _MILLIS,
    },
    "ogg-json": {
        "table": STRING,
        "primary-keys": ARRAY(STRING),
        "ingestion-timestamp": TIMESTAMP_LTZ(6),
        "event-timestamp": TIMESTAMP_LTZ(6),
    },
}
