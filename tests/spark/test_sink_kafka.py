"""Which Kafka sink a table gets, with which options: connector reference 2.5, 4.9 to 4.13."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from flinkddl.diagnostics import SourceText
from flinkddl.script.compile import Start, compile_script
from flinkddl.spark import job as J

if TYPE_CHECKING:
    from collections.abc import Mapping

SOURCE = """
CREATE TABLE src (id BIGINT, name STRING, ts TIMESTAMP_LTZ(3)) WITH ('connector' = 'kafka', 'topic' = 's',
  'properties.bootstrap.servers' = 'b:1', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
"""
PREFIX = "p-default_catalog.default_database.snk"
ONCE = {"sink.delivery-guarantee": "exactly-once", "sink.transactional-id-prefix": "p"}
BUFFER = {"sink.buffer-flush.max-rows": "100", "sink.buffer-flush.interval": "1s"}
KAFKA, UPSERT = {"connector": "kafka", "format": "json"}, {
    "connector": "upsert-kafka", "key.format": "json", "value.format": "json"
}  # fmt: skip


def script(options: Mapping[str, str], columns: str = "id BIGINT, name STRING", select: str = "id, name") -> str:
    upsert = options["connector"] == "upsert-kafka"
    key = ", PRIMARY KEY (id) NOT ENFORCED" if upsert else ""
    common = {"topic": "t", "properties.bootstrap.servers": "b:1"}
    texts = ", ".join(f"'{k}' = '{v}'" for k, v in (common | dict(options)).items())
    return f"{SOURCE}CREATE TABLE snk ({columns}{key}) WITH ({texts});\nINSERT INTO snk SELECT {select} FROM src;"


def job(text: str) -> J.SparkJob:
    compiled = compile_script(SourceText("job.sql", text))
    assert not compiled.has_errors, compiled.diagnostics
    return next(a.job for a in compiled.actions if isinstance(a, Start))


@pytest.mark.parametrize(
    ("options", "format", "expected"),
    [
        pytest.param(KAFKA, "kafka", {}, id="K20"),
        pytest.param(KAFKA | ONCE | {"sink.partitioner": "fixed"}, J.KAFKA_SINK,
                     {"transactional-id": PREFIX, "partitioner": "fixed"}, id="K17"),
        pytest.param(KAFKA | ONCE | {"sink.semantic": "at-least-once"}, "kafka", {}, id="K18-at-least-once"),
        pytest.param(KAFKA | ONCE | {"sink.semantic": "none"}, "kafka", {"kafka.acks": "0"}, id="K18-none"),
        pytest.param(KAFKA | ONCE | {"sink.semantic": "exactly-once"}, J.KAFKA_SINK, {"transactional-id": PREFIX},
                     id="K18-exactly-once"),
        pytest.param(KAFKA | ONCE | {"sink.transaction-naming-strategy": "POOLING"}, J.KAFKA_SINK,
                     {"transactional-id": PREFIX}, id="K19"),
        pytest.param(KAFKA | {"sink.parallelism": "100"}, J.KAFKA_SINK, {"parallelism": "100"}, id="K21"),
        pytest.param(KAFKA | {"sink.partitioner": "round-robin"}, "kafka", {}, id="round-robin"),
        pytest.param(KAFKA | {"properties.partitioner.class": "com.acme.Mine"}, "kafka",
                     {"kafka.partitioner.class": "com.acme.Mine"}, id="class"),
        pytest.param(KAFKA | {"properties.interceptor.classes": "com.acme.Mine"}, "kafka",
                     {"kafka.interceptor.classes": "com.acme.Mine"}, id="interceptor"),
        pytest.param(KAFKA | ONCE | {"properties.transaction.timeout.ms": "60000"}, J.KAFKA_SINK,
                     {"transactional-id": PREFIX, "kafka.transaction.timeout.ms": "60000"}, id="timeout"),
        pytest.param(UPSERT | ONCE, J.KAFKA_SINK, {"transactional-id": PREFIX}, id="U04"),
        pytest.param(UPSERT | BUFFER, J.KAFKA_SINK, {"buffer-rows": "100"}, id="U06"),
        pytest.param(UPSERT | {"sink.parallelism": "100"}, J.KAFKA_SINK, {"parallelism": "100"}, id="U07"),
        pytest.param(UPSERT | ONCE | {"sink.transaction-naming-strategy": "INCREMENTING"}, J.KAFKA_SINK,
                     {"transactional-id": PREFIX}, id="U08"),
        pytest.param(UPSERT | {"sink.buffer-flush.max-rows": "0", "sink.buffer-flush.interval": "0"}, "kafka", {},
                     id="no-buffer"),
        pytest.param(KAFKA | {"properties.linger.ms": "50"}, "kafka", {"kafka.linger.ms": "50"}, id="linger"),
    ],
)  # fmt: skip
def test_options_choose_the_sink(options: dict[str, str], format: str, expected: dict[str, str]) -> None:
    (write,) = job(script(options)).writes
    assert write.format == format
    fixed = {"kafka.bootstrap.servers": "b:1", "kafka.linger.ms": "5", "kafka.batch.size": "131072", "topic": "t"}
    assert dict(write.options) == fixed | expected
    assert not write.on_driver


def test_a_written_timestamp_needs_our_sink() -> None:
    text = script(KAFKA, "id BIGINT, happened TIMESTAMP_LTZ(3) METADATA FROM 'timestamp'", "id, ts")
    (write,) = job(text).writes
    assert write.format == J.KAFKA_SINK
    assert "transactional-id" not in write.options


def test_the_buffer_interval_is_the_trigger() -> None:  # U06
    assert job(script(UPSERT | BUFFER)).trigger == ("processingTime", "1000 milliseconds")
    assert job(script(UPSERT)).trigger == ("processingTime", "0 milliseconds")


@pytest.mark.parametrize(
    ("options", "named"),
    [(ONCE, "exactly-once"), ({"sink.partitioner": "fixed"}, "fixed"), ({"sink.parallelism": "2"}, "parallelism")],
)
def test_real_time_mode_has_sparks_own_sinks_only(options: dict[str, str], named: str) -> None:
    text = "SET 'flinkddl.execution.mode' = 'realtime';\n" + script(KAFKA | options)
    found = [d for d in compile_script(SourceText("job.sql", text)).diagnostics if d.severity == "error"]
    assert [d.code for d in found] == ["FD649"]
    assert named in found[0].message


def test_inserts_of_a_set_into_one_table_are_told_apart() -> None:
    text = script(KAFKA | ONCE)
    insert = text[text.index("INSERT") :].strip()
    both = text.replace(insert, f"EXECUTE STATEMENT SET BEGIN {insert} {insert} END;")
    first, second = job(both).writes
    assert (first.name + "-2", first.table) == (second.name, second.table)
    assert [w.options["transactional-id"] for w in (first, second)] == [PREFIX, PREFIX + "-2"]
