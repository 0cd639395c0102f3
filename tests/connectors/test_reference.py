# ruff: noqa: E501 (SQL reads better unbroken)
"""Cases of the connector reference, section 5.1 to 5.4, from SQL text down to what Spark is told.

The base tables are those of Flink's own factory tests.
"""

from __future__ import annotations

from typing import Any

import pytest

from flinkddl.diagnostics import FlinkDdlError, SourceText
from flinkddl.script.compile import Start, compile_script
from flinkddl.spark.job import Read, Select, SparkJob, Write

COLUMNS = (
    "name STRING NOT NULL, `count` DECIMAL(38,18), `time` TIMESTAMP(3), computed AS `count` + 1.0, "
    "WATERMARK FOR `time` AS `time` - INTERVAL '5' SECOND"
)
SOURCE = {
    "connector": "kafka",
    "topic": "myTopic",
    "properties.bootstrap.servers": "dummy",
    "properties.group.id": "dummy",
    "scan.startup.mode": "specific-offsets",
    "scan.startup.specific-offsets": "partition:0,offset:100;partition:1,offset:123",
    "scan.topic-partition-discovery.interval": "1000 ms",
    "format": "json",
}
SINK = {
    "connector": "kafka",
    "topic": "myTopic",
    "properties.bootstrap.servers": "dummy",
    "sink.partitioner": "fixed",
    "sink.delivery-guarantee": "exactly-once",
    "sink.transactional-id-prefix": "kafka-sink",
    "format": "json",
}
UPSERT = {
    "connector": "upsert-kafka",
    "topic": "t",
    "properties.bootstrap.servers": "dummy",
    "key.format": "json",
    "value.format": "json",
}
UPSERT_COLUMNS = (
    "window_start TIMESTAMP(3), region STRING, view_count BIGINT, PRIMARY KEY (window_start, region) NOT ENFORCED"
)
REGION = "region STRING, view_count BIGINT, PRIMARY KEY (region) NOT ENFORCED"
KEYED = {"format": None, "key.format": "csv", "key.csv.field-delimiter": "#", "key.fields": "name",
         "value.format": "csv", "value.csv.field-delimiter": "|", "value.fields-include": "EXCEPT_KEY"}  # fmt: skip


def table(name: str, columns: str, options: dict[str, str | None]) -> str:
    listed = ", ".join(f"'{k}' = '{v}'" for k, v in options.items() if v is not None)
    return f"CREATE TABLE {name} ({columns}) WITH ({listed})"


def compiled(*statements: str) -> SparkJob:
    script = compile_script(SourceText("case.sql", ";\n".join(statements)))
    if script.has_errors:
        raise FlinkDdlError(script.diagnostics)
    return next(a.job for a in script.actions if isinstance(a, Start))


def read(change: dict[str, str | None], columns: str = COLUMNS, base: dict[str, Any] = SOURCE) -> Read:
    job = compiled(table("t", columns, {**base, **change}), "SELECT * FROM t")
    return next(s for s in job.steps if isinstance(s, Read))


def written(
    change: dict[str, str | None], columns: str, row: str, base: dict[str, Any] = SINK
) -> tuple[Write, dict[str, str]]:
    """Return the write of one row, and the expressions of the records it gets."""
    job = compiled(table("t", columns, {**base, **change}), f"INSERT INTO t SELECT {row}")
    (write,) = job.writes
    records = next(s for s in job.steps if s.name == write.input)
    assert isinstance(records, Select)
    return write, dict(records.columns)


NO_START = {"scan.startup.mode": None, "scan.startup.specific-offsets": None}
OFFSETS = "partition:0,offset:2"
POSITIONS: list[tuple[str, dict[str, Any], dict[str, str | None], str, dict[str, str]]] = [
    ("K01", SOURCE, {}, "start", {"mode": "specific-offsets", "offsets": SOURCE["scan.startup.specific-offsets"]}),
    ("K01-end", SOURCE, {}, "stop", {"mode": "unbounded"}),
    ("K06", SOURCE, {"topic": None, "topic-pattern": r"myTopic-\d+", "scan.startup.mode": "earliest-offset"}, "start",
     {"mode": "earliest-offset"}),
    ("K07", SOURCE, {**KEYED, "scan.startup.mode": None}, "start", {"mode": "group-offsets", "group": "dummy"}),
    ("K10-none", SOURCE, {"scan.startup.mode": None, "properties.auto.offset.reset": "none"}, "start", {"reset": "none"}),
    ("K10-earliest", SOURCE, {**NO_START, "properties.auto.offset.reset": "earliest"}, "start", {"reset": "earliest"}),
    ("K10-latest", SOURCE, {**NO_START, "properties.auto.offset.reset": "latest"}, "start", {"reset": "latest"}),
    ("K13", SOURCE, {"scan.bounded.mode": "specific-offsets", "scan.bounded.specific-offsets": OFFSETS}, "stop",
     {"mode": "specific-offsets", "offsets": OFFSETS}),
    ("K14", SOURCE, {"scan.bounded.mode": "latest-offset"}, "stop", {"mode": "latest-offset"}),
    ("K15", SOURCE, {"scan.bounded.mode": "group-offsets"}, "stop", {"mode": "group-offsets", "group": "dummy"}),
    ("K16", SOURCE, {"scan.bounded.mode": "timestamp", "scan.bounded.timestamp-millis": "1"}, "stop",
     {"mode": "timestamp", "timestamp": "1"}),
    ("U01", UPSERT, {}, "start", {"mode": "earliest-offset"}),
    ("U01-end", UPSERT, {}, "stop", {"mode": "unbounded"}),
    ("U11", UPSERT, {"scan.bounded.mode": "specific-offsets", "scan.bounded.specific-offsets": OFFSETS}, "stop",
     {"mode": "specific-offsets", "offsets": OFFSETS}),
    ("U12", UPSERT, {"scan.bounded.mode": "latest-offset"}, "stop", {"mode": "latest-offset"}),
    ("U13", UPSERT, {"scan.bounded.mode": "group-offsets", "properties.group.id": "dummy"}, "stop",
     {"mode": "group-offsets", "group": "dummy"}),
    ("U14", UPSERT, {"scan.bounded.mode": "timestamp", "scan.bounded.timestamp-millis": "1"}, "stop",
     {"mode": "timestamp", "timestamp": "1"}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("base", "change", "which", "expected"), [c[1:] for c in POSITIONS], ids=[c[0] for c in POSITIONS]
)
def test_position(base, change, which, expected):
    found = getattr(read(change, COLUMNS if base is SOURCE else UPSERT_COLUMNS, base), which)
    assert {k: found.get(k) for k in expected} == expected


def test_k10_without_a_reset_none_is_kept_to():
    assert "reset" not in read(NO_START).start  # the runtime takes its absence for "none"


def test_k06_a_pattern_is_subscribed_to():
    options = read({"topic": None, "topic-pattern": r"myTopic-\d+", "scan.startup.mode": "earliest-offset"}).options
    assert options["subscribePattern"] == r"^(?:myTopic-\d+)$"  # Flink matches the whole name, Spark any part of it
    assert "subscribe" not in options


def test_k09_without_a_group_nothing_is_committed():
    assert "commit-group" not in read({"properties.group.id": None}).start
    assert read({}).start["commit-group"] == "dummy"


def test_k31_k37_topic_and_pattern_exclude_each_other():
    both = {"topic": "a;b", "topic-pattern": "a.*"}
    with pytest.raises(FlinkDdlError, match=r"'topic'.*'topic-pattern'"):
        read({**both, "scan.startup.mode": "earliest-offset"})
    with pytest.raises(FlinkDdlError, match=r"'topic'.*'topic-pattern'"):
        written(both, "a INT", "1")


def test_k08_connector_metadata_and_format_metadata_are_told_apart():
    columns = (
        "name STRING NOT NULL, `count` DECIMAL(38,18), `time` TIMESTAMP(3) METADATA FROM 'timestamp', "
        "metadata STRING METADATA FROM 'value.table' VIRTUAL"
    )
    options = {**SOURCE, **KEYED, "value.csv.field-delimiter": None, "value.format": "canal-json"}
    job = compiled(table("t", columns, options), "SELECT * FROM t")
    value = next(s for s in job.steps if isinstance(s, Select) and s.name == "t_value")
    assert value.generator is not None
    decoded = value.generator[0].split("CAST(NULL AS ")[1]
    assert decoded.startswith("STRUCT<`count`:DECIMAL(38,18),`value.table`:STRING")  # the key's column is not there


def test_k07_key_and_value_have_options_of_their_own():
    job = compiled(table("t", COLUMNS, {**SOURCE, **KEYED}), "SELECT * FROM t")
    key, value = (s.generator[0] for s in job.steps if isinstance(s, Select) and s.generator)
    assert '"field-delimiter":"#"' in key
    assert "CAST(NULL AS STRUCT<`name`:STRING>)" in key
    assert '"field-delimiter":"|"' in value
    assert "STRUCT<`count`:DECIMAL(38,18),`time`:TIMESTAMP_NTZ>" in value


PLAIN = "name STRING NOT NULL, `count` DECIMAL(38,18), `time` TIMESTAMP(3)"
ROW = "'n', CAST(1 AS DECIMAL(38,18)), TIMESTAMP '2020-01-01 00:00:00'"


def test_k17_exactly_once_is_asked_for_with_its_prefix():
    write, columns = written({}, PLAIN, ROW)
    assert write.format != "kafka"  # Spark's own sink has no transactions
    assert any("kafka-sink" in v for v in write.options.values())
    assert set(columns) == {"value"}


SEMANTIC = {"exactly-once": False, "at-least-once": True, "none": True}


@pytest.mark.parametrize(("semantic", "plain"), SEMANTIC.items(), ids=[f"K18-{s}" for s in SEMANTIC])
def test_the_older_option_of_the_guarantee_wins(semantic, plain):
    write, _ = written({"sink.semantic": semantic, "sink.partitioner": None}, PLAIN, ROW)
    assert (write.format == "kafka") is plain
    assert (write.options.get("kafka.acks") == "0") is (semantic == "none")


def test_k20_key_and_value_rows_of_a_sink():
    _, columns = written(KEYED, PLAIN, ROW)
    assert list(columns) == ["key", "value"]
    assert '["ROW!",["name","VARCHAR!"]]' in columns["key"]
    assert '["ROW!",["count",["DECIMAL",38,18]],["time",["TIMESTAMP",3]]]' in columns["value"]


def test_k21_u07_sink_parallelism_reaches_the_sink():
    write, _ = written({"sink.parallelism": "100"}, PLAIN, ROW)
    upsert, _ = written({"sink.parallelism": "100"}, REGION, "'a', CAST(1 AS BIGINT)", UPSERT)
    for options in (write.options, upsert.options):
        assert [v for k, v in options.items() if "parallelism" in k] == ["100"]


def test_u02_k02_scan_parallelism_is_accepted():
    assert read({"scan.parallelism": "100"}).options["subscribe"] == "myTopic"
    assert read({"scan.parallelism": "100"}, UPSERT_COLUMNS, UPSERT).options["subscribe"] == "t"


def test_u03_u05_a_topic_named_twice_is_a_list():
    assert read({"topic": "t;t"}, UPSERT_COLUMNS, UPSERT).options["subscribe"] == "t,t"
    write, columns = written(
        {"topic": "s;s"}, f"tp STRING METADATA FROM 'topic', {REGION}", "'s', 'a', CAST(1 AS BIGINT)", UPSERT
    )
    assert "topic" not in write.options
    assert "IN ('s', 's')" in columns["topic"]


ROUTES = {
    "R01": ({}, None),
    "R02-R04": ({"topic": "topic1;topic2"}, "IN ('topic1', 'topic2')"),
    "R03-R05": ({"topic": None, "topic-pattern": "topic.*"}, "RLIKE '^(?:topic.*)$'"),
}


@pytest.mark.parametrize(("change", "check"), ROUTES.values(), ids=ROUTES)
def test_route(change, check):
    columns = (
        "a INT, tp STRING METADATA FROM 'topic' VIRTUAL" if check is None else "a INT, tp STRING METADATA FROM 'topic'"
    )
    write, record = written({**change, **PLAIN_SINK}, columns, "1" if check is None else "1, 'topic1'")
    if check is None:
        assert write.options["topic"] == "myTopic"
        assert "topic" not in record
    else:
        assert "topic" not in write.options
        assert check in record["topic"]
        assert record["topic"].count("raise_error") == 2  # another topic, and none


PLAIN_SINK = {"sink.partitioner": None, "sink.delivery-guarantee": None, "sink.transactional-id-prefix": None}


def test_u08_naming_strategies_are_taken():
    once = {"sink.delivery-guarantee": "exactly-once", "sink.transactional-id-prefix": "p"}
    for strategy in ("INCREMENTING", "pooling"):
        written({**once, "sink.transaction-naming-strategy": strategy}, REGION, "'a', CAST(1 AS BIGINT)", UPSERT)


AVRO = {"key.format": "avro-confluent", "key.avro-confluent.url": "http://r", "value.format": "avro-confluent",
        "value.avro-confluent.url": "http://r"}  # fmt: skip
SUBJECTS = [
    ("U09-both", AVRO, ("t-key", "t-value")),
    ("U09-value", {**AVRO, "key.format": "csv", "key.avro-confluent.url": None}, (None, "t-value")),
    ("U09-key", {**AVRO, "value.format": "json", "value.avro-confluent.url": None}, ("t-key", None)),
    ("U09-key-given", {**AVRO, "key.avro-confluent.subject": "sub1"}, ("sub1", "t-value")),
    ("U09-value-given", {**AVRO, "value.avro-confluent.subject": "sub2"}, ("t-key", "sub2")),
]


@pytest.mark.parametrize(("change", "expected"), [c[1:] for c in SUBJECTS], ids=[c[0] for c in SUBJECTS])
def test_subject(change, expected):
    _, columns = written(change, REGION, "'a', CAST(1 AS BIGINT)", UPSERT)
    for part, subject in zip(("key", "value"), expected, strict=True):
        assert (f'"subject":"{subject}"' in columns[part]) is (subject is not None)
