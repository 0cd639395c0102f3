"""A Spark session with our functions, for tests below the runtime, and messages as a relation."""

from __future__ import annotations

import os
import time
from functools import cache
from typing import TYPE_CHECKING, Any

from tests.support.spark import SHARED, viewfs_conf

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession

_SQL = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
    "spark.sql.catalog.flinkddl": "flinkddl.Functions",
}


@cache
def _spark(start: frozenset[tuple[str, str]]) -> SparkSession:
    from flinkddl.runtime.session.sessions import SparkOptions, build_session

    return build_session(SparkOptions(master="local[2]", conf=dict(start)))


def kernel_session(**more: str) -> SparkSession:
    """Return a session of this process's Spark, which has every jar that other tests need as well."""
    from pyspark import SparkContext

    os.environ["TZ"] = "UTC"
    time.tzset()
    start = SHARED | viewfs_conf() | {k: v for k, v in more.items() if not k.startswith("spark.sql.")}
    if SparkContext._active_spark_context is None:
        _spark.cache_clear()
    session = _spark(frozenset(start.items())).newSession()
    for key, value in (_SQL | {k: v for k, v in more.items() if k.startswith("spark.sql.")}).items():
        session.conf.set(key, value)
    return session


def binary(value: bytes | None) -> str:
    """Return bytes as a Spark SQL literal."""
    return "CAST(NULL AS BINARY)" if value is None else f"X'{value.hex()}'"


def messages(records: Iterable[dict[str, Any]]) -> str:
    """Return records (key, value as hex or None) as a VALUES relation with the columns of Spark's Kafka source."""
    offsets: dict[tuple[str, int], int] = {}
    rows = []
    for r in records:
        place = (r.get("topic", "t"), r.get("partition", 0))
        offsets[place] = offset = offsets.get(place, -1) + 1
        key, value = (None if r.get(c) is None else bytes.fromhex(r[c]) for c in ("key", "value"))
        stamp = f"timestamp_millis({r.get('timestamp', 0)}L)"
        rows.append(f"({binary(key)}, {binary(value)}, '{place[0]}', {place[1]}, {offset}L, {stamp})")
    return f"VALUES {', '.join(rows)} AS m(key, value, topic, partition, offset, timestamp)"
