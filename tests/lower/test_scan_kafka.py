from __future__ import annotations

import pytest

from flinkddl.lower import job as J
from tests.lower.test_sink_kafka import job

SCRIPT = """
CREATE TABLE src (id BIGINT) WITH ('connector' = 'kafka', 'topic' = 's', 'format' = 'json',
  'properties.bootstrap.servers' = 'b:1', 'scan.startup.mode' = 'earliest-offset'{more});
CREATE TABLE snk (id BIGINT) WITH ('connector' = 'blackhole');
INSERT INTO snk SELECT id FROM src;
"""


@pytest.mark.parametrize(
    ("more", "records"), [("", "100000"), (", 'properties.max.poll.records' = '700'", "700")], ids=["ours", "given"]
)
def test_a_poll_takes_many_records(more: str, records: str) -> None:
    (read,) = [s for s in job(SCRIPT.format(more=more)).steps if isinstance(s, J.Read)]
    assert read.options["kafka.max.poll.records"] == records
    assert read.options["kafka.max.partition.fetch.bytes"] == "4194304"
