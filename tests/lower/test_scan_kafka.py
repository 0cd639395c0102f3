from __future__ import annotations

import pytest

from flinkddl.lower import job as J
from flinkddl.lower.printer import print_pyspark
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


DISCOVERY = ", 'scan.topic-partition-discovery.interval' = '{0}'"


@pytest.mark.parametrize(
    ("more", "fixed", "said"),
    [
        ("", False, ""),
        (DISCOVERY.format("0"), True, "; partitions as they are when a run starts"),
        (DISCOVERY.format("1 s"), False, ""),
        (DISCOVERY.format("0") + ", 'scan.bounded.mode' = 'latest-offset'", False, ""),
    ],
    ids=["default", "off", "second", "bounded"],
)
def test_discovery_is_said_and_kept(more: str, fixed: bool, said: str) -> None:
    script = SCRIPT.replace("CREATE", "SET 'execution.runtime-mode' = 'streaming';\nCREATE", 1)
    made = job(script.format(more=more))
    (read,) = [s for s in made.steps if isinstance(s, J.Read) and s.format == "kafka"]
    assert read.fixed is fixed
    assert read.note.endswith(f"src{said}")
    assert (".assigned({" in print_pyspark([made])) is fixed
