"""What a real-time job does inside a batch, from its topics: rates, lag, latency. Here the test itself is the job."""

from __future__ import annotations

import time
from statistics import median
from typing import TYPE_CHECKING

import pytest

from flinkddl.diagnostics import SourceText
from flinkddl.runtime.job.topics.flow import Flow, Topics, _Write, flow_fields, flow_line
from flinkddl.script.compile import Start, compile_script
from flinkddl.spark import job as J
from flinkddl.spark.realtime import not_one_to_one

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from flinkddl.runtime.broker.server import Broker

WRITE = J.Write(name="w", input="x", format="kafka", options={}, mode="update", table="t")

DDL = """
SET 'flinkddl.execution.mode' = 'realtime';
CREATE TABLE a (k STRING, n INT, ts TIMESTAMP(3)) WITH ('connector' = 'kafka', 'topic' = 'a', 'format' = 'json',
  'properties.bootstrap.servers' = 'b:1', 'scan.startup.mode' = 'earliest-offset' {0});
CREATE TABLE b (k STRING, n INT) WITH ('connector' = 'kafka', 'topic' = 'b', 'format' = 'json',
  'properties.bootstrap.servers' = 'b:1', 'scan.startup.mode' = 'earliest-offset');
CREATE TABLE up (k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'upsert-kafka', 'topic' = 'up',
  'properties.bootstrap.servers' = 'b:1', 'key.format' = 'json', 'value.format' = 'json');
"""


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("INSERT INTO b SELECT k, n + 1 FROM a", ""),
        ("INSERT INTO up SELECT k, COUNT(*) FROM a GROUP BY k", ""),
        ("INSERT INTO b SELECT k, n FROM a UNION ALL SELECT k, CAST(n AS INT) FROM up2", ""),
        ("INSERT INTO b SELECT k, n FROM a WHERE n > 1", "Filter may give more or fewer rows than it takes"),
    ],
)
def test_lag_and_latency_are_known_where_each_record_gives_one(sql: str, why: str) -> None:
    assert _why(DDL.format("") + "CREATE TABLE up2 WITH ('topic' = 'b2') LIKE b;\n" + sql) == why


def test_records_that_are_no_json_may_be_left_out() -> None:
    ddl = DDL.format(", 'json.ignore-parse-errors' = 'true'")
    assert _why(f"{ddl}INSERT INTO b SELECT k, n FROM a") == "not each record of 'a' is a row"


def _why(sql: str) -> str:
    compiled = compile_script(SourceText("job.sql", sql))
    assert not compiled.has_errors, compiled.diagnostics
    start = next(a for a in compiled.actions if isinstance(a, Start))
    return not_one_to_one(start.job.plan[0])


def test_what_is_not_known_is_said_and_left_out_of_the_log() -> None:
    known = Flow("w", "t", ("in",), 1000.2, 990.0, 20_000, 19_000, behind=1000, p50_ms=31.0, p99_ms=250.0, samples=500)
    assert flow_line(known).endswith(
        "1,000 records/s in, 990 out · 19,000 out so far · 1,000 behind · latency p50 31 ms, p99 250 ms"
    )
    unknown = Flow("w", "t", ("in",), 5.0, 1.0, 50, 10, unknown="Filter may give more or fewer rows than it takes")
    assert flow_line(unknown).endswith("lag and latency not known: Filter may give more or fewer rows than it takes")
    assert flow_fields(unknown).keys().isdisjoint({"behind", "latency_p50_ms", "latency_p99_ms"})
    assert flow_fields(known)["latency_p99_ms"] == 250.0


# ---- over a real broker ----------------------------------------------------------------------------------------------


def send(servers: str, topic: str, records: Iterable[tuple[int, int]]) -> None:
    """Write records of (partition, timestamp)."""
    from kafka import KafkaProducer

    producer = KafkaProducer(bootstrap_servers=servers)
    sent = [producer.send(topic, b"{}", partition=partition, timestamp_ms=stamp) for partition, stamp in records]
    assert [each.get(30) for each in sent]
    producer.close()


@pytest.fixture
def watch(broker: Broker, new_topic: Callable[..., str]) -> Iterable[_Write]:
    source, sink = new_topic("in", 3), new_topic("out", 2)
    topics = [Topics([({"bootstrap.servers": broker.bootstrap}, [name])]) for name in (source, sink)]
    begun = topics[0].ends(), topics[1].ends()
    yield _Write(WRITE, topics[0], topics[1], "", begun, begun)
    for each in topics:
        each.close()


def names(watch: _Write) -> tuple[str, str]:
    return next(iter(watch.begun[0]))[1], next(iter(watch.begun[1]))[1]


@pytest.mark.kafka
def test_latency_is_from_the_nth_record_in_to_the_nth_out(watch: _Write, broker: Broker) -> None:
    """2,000 records, one each 5 ms over three partitions; each comes out 40 ms later, every tenth 300 ms later."""
    (source, sink), servers = names(watch), broker.bootstrap
    began = int(time.time() * 1000) - 11_000
    stamps = [began + 5 * i for i in range(2000)]
    delays = [300 if i % 10 == 0 else 40 for i in range(2000)]
    out = sorted(s + d for s, d in zip(stamps, delays, strict=True))
    send(servers, source, ((i % 3, s) for i, s in enumerate(stamps)))
    send(servers, sink, ((i % 2, s) for i, s in enumerate(out[:1900])))
    watch.looked = out[500]
    flow = watch.look()
    assert (flow.records_in, flow.records_out, flow.behind, flow.unknown) == (2000, 1900, 100, "")
    wanted = sorted(b - a for a, b in zip(stamps[500:1000], out[500:1000], strict=True))
    assert flow.samples == 500
    assert flow.p50_ms is not None
    assert flow.p99_ms is not None
    assert abs(flow.p50_ms - median(wanted)) <= 5
    assert abs(flow.p99_ms - wanted[495]) <= 5


@pytest.mark.kafka
def test_a_batch_that_ends_sets_the_places_that_match(watch: _Write, broker: Broker) -> None:
    """Of 100 records 40 were left out: in lag they count until the batch ends, then no more."""
    (source, sink), servers = names(watch), broker.bootstrap
    began = int(time.time() * 1000) - 5000
    send(servers, source, ((i % 3, began + i) for i in range(100)))
    send(servers, sink, ((0, began + i + 20) for i in range(60)))
    assert watch.look().behind == 40
    watch.asked = watch.source.ends(), began + 1000
    assert watch.look().behind == 0
    send(servers, source, [(1, began + 2000), (2, began + 2001)])
    send(servers, sink, [(1, began + 2030)])
    watch.looked = began + 1500
    flow = watch.look()
    assert (flow.behind, flow.samples, flow.p50_ms) == (1, 1, 30.0)


@pytest.mark.kafka
def test_before_places_match_nothing_is_said_of_lag(watch: _Write, broker: Broker) -> None:
    source, _ = names(watch)
    watch.matched = None
    send(broker.bootstrap, source, [(0, int(time.time() * 1000))])
    flow = watch.look()
    assert (flow.records_in, flow.behind, flow.p50_ms) == (1, None, None)
    assert "until the first checkpoint" in flow.words[0]
