# ruff: noqa: E501 (tables read better as one line a case)
"""One valid base per connector; each case is one change and one expectation. Ids are those of the reference."""

import pytest

from flinkddl.diagnostics import Bag, SourceText
from flinkddl.options import OptionText, validate
from flinkddl.script.compile import compile_script

BASE = {
    "kafka": {
        "connector": "kafka",
        "topic": "orders",
        "properties.bootstrap.servers": "b:9092",
        "properties.group.id": "g",
        "format": "json",
        "scan.startup.mode": "earliest-offset",
    },
    "upsert-kafka": {
        "connector": "upsert-kafka",
        "topic": "orders",
        "properties.bootstrap.servers": "b:9092",
        "key.format": "json",
        "value.format": "json",
    },
    "print": {"connector": "print"},
    "blackhole": {"connector": "blackhole"},
    "datagen": {"connector": "datagen"},
    "filesystem": {"connector": "filesystem", "path": "/data", "format": "json"},
    "jdbc": {"connector": "jdbc", "url": "jdbc:sqlite:x", "table-name": "t"},
    "redis": {"connector": "redis", "host": "h"},
    "faker": {
        "connector": "faker",
        "fields.a.expression": "#{number.numberBetween '1','9'}",
        "fields.b.expression": "#{Name.firstName}",
    },
    "socket": {"connector": "socket", "hostname": "h", "port": "9999", "format": "csv"},
}
REGISTRY = {"format": "avro-confluent", "avro-confluent.url": "http://registry:8081"}
ROLES = {"print": ("sink",), "redis": ("sink",), "blackhole": ("sink",), "datagen": ("source",)}
ROLES |= {"faker": ("source",), "socket": ("source",)}


def run(base, change, role):
    """Validate a base map with a change: None removes a key."""
    bag = Bag()
    merged = {k: v for k, v in {**BASE[base], **change}.items() if v is not None}
    resolved = validate({k: OptionText(v) for k, v in merged.items()}, role, bag)
    return resolved, list(bag)


@pytest.mark.parametrize("base", BASE)
@pytest.mark.parametrize("role", ["source", "sink"])
def test_base_is_valid(base, role):
    resolved, findings = run(base, {}, role)
    if role in ROLES.get(base, ("source", "sink")):
        assert findings == []
        assert resolved.connector == base
    else:
        assert [d.code for d in findings] == ["FD204"]


# id, base, role, change, (code, words of message and help) of the only error
REFUSED = [
    ("V1-servers", "kafka", "source", {"properties.bootstrap.servers": None}, ("FD210", "'properties.bootstrap.servers'")),
    ("V1-key-format", "upsert-kafka", "source", {"key.format": None}, ("FD213", "required format 'key.format'")),
    ("V1-value-format", "upsert-kafka", "sink", {"value.format": None}, ("FD213", "required format 'value.format'")),
    ("V1-url", "kafka", "source", {"format": "avro-confluent"}, ("FD210", "'avro-confluent.url'")),
    ("V2-enum", "kafka", "source", {"scan.startup.mode": "earliest"}, ("FD211", "earliest-offset, latest-offset")),
    ("V2-enum-sink", "kafka", "sink", {"scan.startup.mode": "earliest"}, ("FD211", "earliest-offset")),
    ("V2-duration", "kafka", "sink", {"scan.topic-partition-discovery.interval": "abc"}, ("FD211", "duration")),
    ("V2-unused-millis", "kafka", "source", {"scan.startup.timestamp-millis": "abc"}, ("FD211", "whole number")),
    ("V2-bool", "kafka", "source", {"json.ignore-parse-errors": "yes"}, ("FD211", "true or false")),
    ("V3-typo", "kafka", "source", {"scan.startup.mod": "x"}, ("FD212", "did you mean 'scan.startup.mode'?")),
    ("V3-case", "kafka", "source", {"Topic": "x"}, ("FD212", "did you mean 'topic'?")),
    ("V3-prefix", "kafka", "source", {"value.json.ignore-parse-errors": "true"}, ("FD212", "write 'json.ignore-parse-errors'")),
    ("V3-no-prefix", "kafka", "source", {"ignore-parse-errors": "true"}, ("FD212", "write 'json.ignore-parse-errors'")),
    ("V3-group", "kafka", "source", {"group.id": "g"}, ("FD212", "did you mean 'properties.group.id'?")),
    ("V3-neighbour", "kafka", "sink", {"sink.buffer-flush.max-rows": "1"}, ("FD212", "is an option of jdbc and upsert-kafka; this table uses kafka")),
    ("V3-upsert", "upsert-kafka", "source", {"scan.startup.mode": "earliest-offset"}, ("FD212", "is an option of kafka")),
    ("V3-listed", "print", "sink", {"zzz": "1"}, ("FD212", "supported: connector, print-identifier")),
    ("V4", "kafka", "source", {"scan.watermark.alignment.group": "g"}, ("FD217", "max-drift")),
    ("V5-none", "kafka", "source", {"connector": None}, ("FD201", "'connector'")),
    ("V5-case", "kafka", "source", {"connector": "Kafka"}, ("FD202", "did you mean 'kafka'?")),
    ("V5-third-party", "kafka", "source", {"connector": "mysql-cdc"}, ("FD203", "debezium-json")),
    ("V5-legacy", "kafka", "source", {"connector": None, "connector.type": "kafka", "connector.topic": "t"}, ("FD203", "'connector' = 'kafka', 'topic' = 't') (`flinkddl modernize`")),
    ("V6", "kafka", "source", {"format": None}, ("FD213", "'value.format'")),
    ("V7", "kafka", "source", {"format": "jsn"}, ("FD214", "did you mean 'json'?")),
    ("V7-changelog-csv", "socket", "source", {"format": "changelog-csv"}, ("FD215", "example of Flink's documentation")),
    ("faker-rows", "faker", "source", {"number-of-rows": "0"}, ("FD211", "greater than zero")),
    ("faker-rate", "faker", "source", {"rows-per-second": "0"}, ("FD211", "greater than zero")),
    ("faker-unknown", "faker", "source", {"number-of-row": "1"}, ("FD212", "did you mean 'number-of-rows'?")),
    ("socket-port", "socket", "source", {"port": "70000"}, ("FD211", "65535")),
    ("socket-host", "socket", "source", {"hostname": None}, ("FD210", "'hostname'")),
    ("socket-delimiter", "socket", "source", {"byte-delimiter": "59"}, ("FD224", "line feed (10)")),
    ("socket-format", "socket", "source", {"format": None}, ("FD213", "'format'")),
    ("V7-protobuf", "kafka", "source", {"format": "protobuf"}, ("FD215", "avro")),
    ("V10", "kafka", "source", {"topic-pattern": "x"}, ("FD217", "'topic-pattern'")),
    ("V10-sink", "upsert-kafka", "sink", {"topic-pattern": "x"}, ("FD217", "'topic'")),
    ("V11", "kafka", "sink", {"topic": None}, ("FD210", "'topic-pattern'")),
    ("V12", "upsert-kafka", "source", {"topic": None}, ("FD210", "'topic'")),
    ("K32-V20", "kafka", "source", {"scan.startup.mode": "timestamp"}, ("FD218", "'scan.startup.timestamp-millis'")),
    ("K33-V21", "kafka", "source", {"scan.startup.mode": "specific-offsets"}, ("FD218", "'scan.startup.specific-offsets'")),
    ("V22", "kafka", "source", {"topic": "a;b", "scan.bounded.mode": "specific-offsets", "scan.bounded.specific-offsets": "partition:0,offset:1"}, ("FD219", "single topic")),
    ("V23", "kafka", "source", {"scan.startup.mode": "specific-offsets", "scan.startup.specific-offsets": "partition:0, offset:1"}, ("FD219", "partition:0,offset:42")),
    ("K12-V24", "kafka", "source", {"scan.bounded.mode": "specific-offsets"}, ("FD218", "'scan.bounded.specific-offsets'")),
    ("U10-V24", "upsert-kafka", "source", {"scan.bounded.mode": "timestamp"}, ("FD218", "'scan.bounded.timestamp-millis'")),
    ("V26", "kafka", "source", {"key.fields": "a"}, ("FD221", "'key.format'")),
    ("P02-V27", "kafka", "source", {"key.format": "json"}, ("FD221", "'key.fields'")),
    ("P05-V30", "kafka", "source", {"key.format": "json", "key.fields": "k_a", "key.fields-prefix": "k_"}, ("FD221", "EXCEPT_KEY")),
    ("V31", "kafka", "source", {"key.format": "canal-json", "key.fields": "a"}, ("FD216", "canal-json")),
    ("U16-V32", "upsert-kafka", "sink", {"value.format": "debezium-json"}, ("FD216", "'debezium-json' as value format")),
    ("K35-V35", "kafka", "sink", {"key.format": "json", "key.fields": "a", "sink.partitioner": "round-robin"}, ("FD222", "key.fields")),
    ("V36", "kafka", "sink", {"sink.partitioner": ""}, ("FD222", "empty")),
    ("K34-V37", "kafka", "sink", {"sink.partitioner": "abc"}, ("FD222", "'abc'")),
    ("V37-class", "kafka", "sink", {"sink.partitioner": "com.acme.ByRegion"}, ("FD222", "KafkaPartitioner")),
    ("V37-flink", "kafka", "sink", {"sink.partitioner": "org.apache.flink.x.FixedPartitioner"}, ("FD222", "KafkaPartitioner")),
    ("K36-V38", "kafka", "sink", {"sink.delivery-guarantee": "exactly-once"}, ("FD218", "'sink.transactional-id-prefix'")),
    ("U18-V38", "upsert-kafka", "sink", {"sink.delivery-guarantee": "exactly-once"}, ("FD218", "'sink.transactional-id-prefix'")),
    ("V39", "kafka", "sink", {"sink.semantic": "exactly-once"}, ("FD218", "'sink.transactional-id-prefix'")),
    ("V40", "kafka", "sink", {"sink.semantic": "maybe"}, ("FD211", "exactly-once, at-least-once, none")),
    ("U17-V41", "upsert-kafka", "sink", {"sink.buffer-flush.interval": "1s"}, ("FD217", "'sink.buffer-flush.max-rows'")),
    ("V42", "kafka", "sink", {"sink.parallelism": "0"}, ("FD211", "'sink.parallelism'")),
    ("V50", "kafka", "source", {"scan.startup.mode": None, "properties.group.id": None}, ("FD220", "'properties.group.id'")),
    ("K11-V51", "kafka", "source", {"scan.startup.mode": None, "properties.auto.offset.reset": "errorStrategy"}, ("FD220", "latest, earliest, none")),
    ("V52", "kafka", "source", {"properties.group.id": None, "properties.enable.auto.commit": "true"}, ("FD220", "commit")),
    ("json-both-flags", "kafka", "source", {"json.fail-on-missing-field": "true", "json.ignore-parse-errors": "true"}, ("FD217", "ignore-parse-errors")),
    ("json-standard", "kafka", "source", {"json.timestamp-format.standard": "iso-8601"}, ("FD211", "SQL, ISO-8601")),
    ("csv-delimiter", "kafka", "source", {"format": "csv", "csv.field-delimiter": "ab"}, ("FD211", "'csv.field-delimiter' must be a single character")),
    ("raw-lines", "kafka", "source", {"format": "raw", "raw.line-delimiter": ";"}, ("FD224", "a message is one row here")),
    ("client-map", "kafka", "source", {**REGISTRY, "avro-confluent.properties": "proxy.host:h"}, ("FD224", "'properties.<key>'")),
    ("basic-auth", "kafka", "source", {**REGISTRY, "avro-confluent.basic-auth.credentials-source": "SASL_INHERIT"}, ("FD211", "USER_INFO, URL")),
    ("bearer-auth", "kafka", "sink", {**REGISTRY, "avro-confluent.bearer-auth.credentials-source": "CUSTOM"}, ("FD211", "STATIC_TOKEN")),
]  # fmt: skip


@pytest.mark.parametrize(("base", "role", "change", "expected"), [c[1:] for c in REFUSED], ids=[c[0] for c in REFUSED])
def test_refused(base, role, change, expected):
    _, findings = run(base, change, role)
    errors = [d for d in findings if d.severity == "error"]
    assert [d.code for d in errors] == [expected[0]]
    assert expected[1] in f"{errors[0].message} | {errors[0].help}"


ACCEPTED = [
    ("V2-case", "kafka", "source", {"scan.startup.mode": "LATEST-OFFSET"}, "scan.startup.mode", "latest-offset"),
    ("V2-all", "kafka", "source", {"value.fields-include": "all"}, "value.fields-include", "ALL"),
    ("V25", "kafka", "source", {"scan.startup.specific-offsets": "nonsense"}, "scan.startup.mode", "earliest-offset"),
    ("K01", "kafka", "sink", {}, "sink.delivery-guarantee", "at-least-once"),
    ("U03", "upsert-kafka", "source", {"topic": "t;t"}, "topic", ("t", "t")),
    ("U06", "upsert-kafka", "sink", {"sink.buffer-flush.max-rows": "100", "sink.buffer-flush.interval": "1s"}, "sink.buffer-flush.interval", 1000),
    ("U19", "upsert-kafka", "source", {"scan.topic-partition-discovery.interval": "100 ms"}, "scan.topic-partition-discovery.interval", 100),
    ("K03", "kafka", "source", {"scan.topic-partition-discovery.interval": "100 ms"}, "scan.topic-partition-discovery.interval", 100),
    ("K04", "kafka", "source", {}, "scan.topic-partition-discovery.interval", 300_000),
    ("K05", "kafka", "source", {"scan.topic-partition-discovery.interval": "0"}, "scan.topic-partition-discovery.interval", 0),
    ("K19", "kafka", "sink", {"sink.transaction-naming-strategy": "pooling"}, "sink.transaction-naming-strategy", "POOLING"),
    ("observed-12", "kafka", "source", {"topic": ""}, "topic", ()),
    ("observed-13-mode-other-role", "kafka", "sink", {"scan.startup.mode": "timestamp"}, "scan.startup.mode", "timestamp"),
    ("datagen-kind", "datagen", "source", {"fields.a.b.kind": "SEQUENCE"}, "fields.a.b.kind", "sequence"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("base", "role", "change", "key", "value"), [c[1:] for c in ACCEPTED], ids=[c[0] for c in ACCEPTED]
)
def test_accepted(base, role, change, key, value):
    resolved, findings = run(base, change, role)
    assert [d for d in findings if d.severity == "error"] == []
    assert resolved[key] == value


def test_formats_and_their_options():
    change = {
        "format": None,
        "value.format": "csv",
        "value.csv.field-delimiter": "|",
        "key.format": "raw",
        "key.fields": "a",
    }
    resolved, findings = run("kafka", change, "source")
    assert findings == []
    assert (resolved.value_format.name, resolved.value_format["field-delimiter"]) == ("csv", "|")
    assert (resolved.key_format.name, resolved.key_format["charset"]) == ("raw", "UTF-8")
    assert resolved.value_format.given == {"field-delimiter"}


def test_registry_alias_is_read_under_its_main_name():
    change = {"format": "avro-confluent", "avro-confluent.schema-registry.url": "http://r"}
    resolved, findings = run("kafka", change, "source")
    assert findings == []
    assert resolved.value_format["url"] == "http://r"


def test_several_mistakes_are_found_at_once():
    change = {"scan.startup.mode": "x", "topics": "a", "format": "jsn", "scan.parallelism": "x"}
    _, findings = run("kafka", change, "source")
    assert sorted(d.code for d in findings) == ["FD211", "FD211", "FD212", "FD214"]


JAAS = (
    'org.apache.flink.kafka.shaded.org.apache.kafka.common.security.plain.PlainLoginModule required password=\\"p\\";'
)


def test_properties_are_cleaned_and_secrets_masked():
    change = {"properties.sasl.jaas.config": JAAS, "properties.max.poll.records": "7"}
    resolved, findings = run("kafka", change, "source")
    assert findings == []
    assert resolved.properties == {
        "max.poll.records": "7",
        "sasl.jaas.config": 'org.apache.kafka.common.security.plain.PlainLoginModule required password="p";',
    }
    assert "'properties.sasl.jaas.config'='******'" in str(resolved)
    assert "Plain" not in repr(resolved)


@pytest.mark.parametrize(
    ("role", "change", "expected"),
    [
        ("source", {"properties.client.id": "me"}, {"client.id": "me"}),
        ("sink", {"properties.client.id": "me"}, {"client.id": "me"}),
        ("source", {"properties.client.id.prefix": "readers"}, {"client.id": "readers"}),
        ("sink", {"properties.interceptor.classes": "com.acme.Seen"}, {"interceptor.classes": "com.acme.Seen"}),
        ("source", {"properties.allow.auto.create.topics": "false"}, {"allow.auto.create.topics": "false"}),
        ("sink", {"properties.allow.auto.create.topics": "false"}, {"allow.auto.create.topics": "false"}),
    ],
)
def test_properties_that_are_carried(role, change, expected):
    resolved, findings = run("kafka", change, role)
    assert findings == []
    assert resolved.properties == expected


WARNED = [
    ("serializer", "sink", {"properties.key.serializer": "x.Y"}, "FD223"),
    ("reset", "source", {"properties.auto.offset.reset": "latest"}, "FD223"),
    ("prefix-of-a-sink", "sink", {"properties.client.id.prefix": "p"}, "FD223"),
    ("two-client-ids", "source", {"properties.client.id.prefix": "p", "properties.client.id": "x"}, "FD223"),
    ("misspelt", "source", {"properties.sasl.jaas.confg": "x"}, "FD223"),
    ("metrics", "source", {"properties.register.consumer.metrics": "false"}, "FD223"),
    ("interceptors-of-a-source", "source", {"properties.interceptor.classes": "a.B"}, "FD223"),
    ("semantic", "sink", {"sink.semantic": "none"}, "FD226"),
    ("alignment", "source", {"scan.watermark.emit.strategy": "on-event"}, "FD225"),
    ("client", "source", {**REGISTRY, "avro-confluent.properties.proxy.host": "h"}, "FD225"),
]


@pytest.mark.parametrize(("role", "change", "code"), [w[1:] for w in WARNED], ids=[w[0] for w in WARNED])
def test_warned(role, change, code):
    resolved, findings = run("kafka", change, role)
    assert [(d.code, d.severity) for d in findings] == [(code, "note" if code == "FD225" else "warning")]
    assert resolved is not None


def test_a_misspelt_client_property_is_pointed_at() -> None:
    script = (
        "CREATE TABLE t (a INT) WITH ('connector' = 'kafka', 'topic' = 'x', 'format' = 'json',\n"
        "  'properties.bootstrap.server' = 'b:1', 'scan.startup.mode' = 'earliest-offset'); SELECT * FROM t"
    )
    (found,) = compile_script(SourceText("t.sql", script)).diagnostics
    assert (found.code, str(found.span)) == ("FD210", "t.sql:2:3")
    assert found.help == "'properties.bootstrap.server': did you mean 'properties.bootstrap.servers'?"
