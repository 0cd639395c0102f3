"""Windows at the end of ``run --until-read``: those that are over have come out, what waits in the others is told."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

from flinkddl.api import Catalog
from tests.support.topics import send

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from flinkddl.runtime.broker.server import Broker

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

SCRIPT = """
CREATE TABLE clicks (k STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) WITH (
  'connector' = 'kafka', 'topic' = '{topic}', 'properties.bootstrap.servers' = '{servers}', 'format' = 'json',
  'scan.startup.mode' = 'earliest-offset');
CREATE TABLE minutes (k STRING, n BIGINT) WITH ('connector' = 'print');
INSERT INTO minutes SELECT k, COUNT(*) FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
  GROUP BY k, window_start, window_end;
"""


CHAINED = """
CREATE TABLE clicks (k STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) WITH (
  'connector' = 'kafka', 'topic' = '{topic}', 'properties.bootstrap.servers' = '{servers}', 'format' = 'json',
  'scan.startup.mode' = 'earliest-offset');
CREATE VIEW minutes AS SELECT k, window_start, window_end, COUNT(*) AS n
  FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY k, window_start, window_end;
CREATE TABLE pairs (k STRING, l STRING, n BIGINT) WITH ('connector' = 'print');
INSERT INTO pairs SELECT a.k, b.k, a.n FROM minutes a JOIN minutes b
  ON a.n = b.n AND a.window_start = b.window_start AND a.window_end = b.window_end;
"""


def test_windows_in_a_chain_tell_their_watermark_and_what_was_late(
    broker: Broker, spark: SparkSession, capfd: pytest.CaptureFixture[str]
) -> None:
    """Nobody asks for a chain: the table is mentioned twice."""
    topic = f"clicks-{uuid.uuid4().hex[:8]}"
    send(broker.bootstrap, topic, [{"k": k, "ts": f"2026-01-02 12:{t}"} for k, t in (("a", "00:10"), ("c", "01:10"))])
    catalog = Catalog(spark)
    job = catalog.execute(CHAINED.format(topic=topic, servers=broker.bootstrap)).job
    assert job is not None
    assert job.await_input(120)
    late = [{"k": k, "ts": "2026-01-02 12:00:20"} for k in "xyz"]
    send(broker.bootstrap, topic, [*late, {"k": "d", "ts": "2026-01-02 12:01:20"}])
    assert job.await_input(120)
    job.stop()
    assert [line for line in capfd.readouterr().out.splitlines() if line.startswith("+I[")] == ["+I[a, a, 1]"]
    assert sum(p.late_rows for p in job.progress) == 3
    assert [p.watermark for p in job.progress if p.rows_in][-1] == "2026-01-02T12:01:15.000Z"
    (line,) = job.open_windows()
    assert "in windows that are not over; the watermark is at 2026-01-02 12:01:15 UTC" in line, line


def test_windows_that_are_over_come_out_and_the_others_are_told(
    broker: Broker, spark: SparkSession, capfd: pytest.CaptureFixture[str]
) -> None:
    topic = f"clicks-{uuid.uuid4().hex[:8]}"
    times = {"a": "00:10", "b": "00:20", "c": "01:05", "d": "01:10"}
    send(broker.bootstrap, topic, [{"k": k, "ts": f"2026-01-02 12:{t}"} for k, t in times.items()])
    catalog = Catalog(spark)
    job = catalog.execute(SCRIPT.format(topic=topic, servers=broker.bootstrap)).job
    assert job is not None
    assert job.await_input(120)
    job.stop()
    assert sorted(line for line in capfd.readouterr().out.splitlines() if line.startswith("+I[")) == [
        "+I[a, 1]",
        "+I[b, 1]",
    ]
    (line,) = job.open_windows()
    assert line.startswith(
        "minutes: 2 groups or rows wait in windows that are not over; the watermark is at 2026-01-02 12:01:0"
    ), line
