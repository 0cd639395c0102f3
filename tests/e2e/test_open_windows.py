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
