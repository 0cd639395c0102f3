"""Where a query has no use for event time, a watermark drops no row: regular joins, GROUP BY, deduplication."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.tables import Tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from flinkddl.runtime.kafka.admin import KafkaAdmin

pytestmark = pytest.mark.kafka
START = datetime(2024, 3, 1)
COLUMNS = "k INT, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts"
MINUTES = (0, 100, 1, 50)  # a record a micro-batch; the last two are behind the watermark
FIRST = "SELECT v, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY {0} ORDER BY PROCTIME()) AS n FROM a) WHERE n = 1"
RARE = pytest.mark.slow
QUERIES = {
    "join": ("SELECT a.k, a.v, b.v, a.ts FROM a JOIN b ON a.k = b.k", 16),
    "first": (FIRST.format("v"), 4),
    "first-by-time": (FIRST.format("v, ts"), 4),
    "left": ("SELECT a.k, a.v, b.v, a.ts FROM a LEFT JOIN b ON a.k = b.k", 16),
    "join-one-bound": ("SELECT a.v, b.v, a.ts FROM a JOIN b ON a.k = b.k AND a.ts >= b.ts", 10),
    "semi": ("SELECT v, ts FROM a WHERE k IN (SELECT k FROM b)", 4),
    "distinct": ("SELECT DISTINCT v, ts FROM a", 4),
    "group": ("SELECT ts, COUNT(*) FROM a GROUP BY ts", 4),
    "top": ("SELECT v, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS n FROM a) WHERE n <= 9", 4),
    "union": ("SELECT v, ts FROM a UNION SELECT v, ts FROM b", 4),
    "intersect": ("SELECT v, ts FROM a INTERSECT SELECT v, ts FROM b", 4),
}
COMMON = ("join", "first", "first-by-time")


@pytest.fixture
def db(spark: SparkSession, admin: KafkaAdmin) -> Tables:
    return Tables(spark, admin)


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in COMMON else RARE) for n in QUERIES])
def test_no_row_is_late(db: Tables, name: str) -> None:
    query, rows = QUERIES[name]
    for table in "ab":
        records: list[dict[str, Any]] = [
            {"k": 0, "v": i, "ts": str(START + timedelta(minutes=m))} for i, m in enumerate(MINUTES)
        ]
        db.send(db.create(table, COLUMNS, db.topic(), format="json"), records)
    db.run("SET 'flinkddl.execution.max-offsets-per-trigger' = '1'")
    db.run("SET 'execution.runtime-mode' = 'streaming'")
    assert len(db.rows(query)) == rows
