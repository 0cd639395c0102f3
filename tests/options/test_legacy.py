# ruff: noqa: E501 (tables read better as one line a case)
"""WITH clauses of Flink 1.9 and 1.10 in today's options: a table of old clauses and new ones."""

from __future__ import annotations

import pytest

from flinkddl.diagnostics import Bag, SourceText, Span
from flinkddl.options import OptionText
from flinkddl.options.hints import legacy
from flinkddl.options.legacy import renew

KAFKA = {"connector.type": "kafka", "connector.version": "universal", "connector.topic": "t"}
JDBC = {"connector.type": "jdbc", "connector.url": "jdbc:mysql://h/d", "connector.table": "t"}
FILES = {"connector.type": "filesystem", "connector.path": "/x"}
CSV = {"format.type": "csv"}
JSON = {"format.type": "json"}
NEW_KAFKA = {"connector": "kafka", "topic": "t"}
NEW_JDBC = {"connector": "jdbc", "url": "jdbc:mysql://h/d", "table-name": "t"}
NEW_FILES = {"connector": "filesystem", "path": "/x"}
NO_QUOTES = {"csv.disable-quote-character": "true"}
ES = {"connector.type": "elasticsearch", "connector.index": "i"}
HBASE = {"connector.type": "hbase", "connector.table-name": "t", "connector.zookeeper.quorum": "z:1"}
NEW_HBASE = {"table-name": "t", "zookeeper.quorum": "z:1"}

# name -> old options, new options
CASES: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "kafka": (KAFKA | JSON, NEW_KAFKA | {"format": "json"}),
    "versions of descriptors": (
        KAFKA | {"connector.property-version": "1", "format.property-version": "1", "format.derive-schema": "true"},
        NEW_KAFKA,
    ),
    "append": (KAFKA | {"update-mode": "append"}, NEW_KAFKA),
    "startup": (KAFKA | {"connector.startup-mode": "group-offsets"}, NEW_KAFKA | {"scan.startup.mode": "group-offsets"}),
    "a moment": (
        KAFKA | {"connector.startup-timestamp-millis": "5"}, NEW_KAFKA | {"scan.startup.timestamp-millis": "5"}
    ),
    "offsets with blanks": (
        KAFKA | {"connector.specific-offsets": "partition:0,offset:1; partition:1,offset:2"},
        NEW_KAFKA | {"scan.startup.specific-offsets": "partition:0,offset:1;partition:1,offset:2"},
    ),
    "offsets by number": (
        KAFKA | {
            "connector.specific-offsets.1.offset": "2", "connector.specific-offsets.1.partition": "1",
            "connector.specific-offsets.0.partition": "0", "connector.specific-offsets.0.offset": "1",
        },
        NEW_KAFKA | {"scan.startup.specific-offsets": "partition:0,offset:1;partition:1,offset:2"},
    ),
    "properties": (
        KAFKA | {"connector.properties.bootstrap.servers": "b:1", "connector.properties.zookeeper.connect": "z:1"},
        NEW_KAFKA | {"properties.bootstrap.servers": "b:1"},
    ),
    "properties by number": (
        KAFKA | {
            "connector.properties.0.key": "zookeeper.connect", "connector.properties.0.value": "z:1",
            "connector.properties.1.value": "g", "connector.properties.1.key": "group.id",
        },
        NEW_KAFKA | {"properties.group.id": "g"},
    ),
    "a partitioner": (KAFKA | {"connector.sink-partitioner": "fixed"}, NEW_KAFKA | {"sink.partitioner": "fixed"}),
    "a class": (
        KAFKA | {"connector.sink-partitioner": "custom", "connector.sink-partitioner-class": "a.B"},
        NEW_KAFKA | {"sink.partitioner": "a.B"},
    ),
    "a class without custom": (
        KAFKA | {"connector.sink-partitioner": "fixed", "connector.sink-partitioner-class": "a.B"},
        NEW_KAFKA | {"sink.partitioner": "fixed"},
    ),
    "upserts": (
        KAFKA | JSON | {"update-mode": "upsert", "connector.startup-mode": "earliest-offset"} |
        {"format.ignore-parse-errors": "true"},
        {"connector": "upsert-kafka", "topic": "t", "key.format": "json", "value.format": "json"} |
        {"value.json.ignore-parse-errors": "true"},
    ),
    "json": (
        KAFKA | JSON | {"format.fail-on-missing-field": "true", "format.ignore-parse-errors": "false"},
        NEW_KAFKA | {"format": "json", "json.fail-on-missing-field": "true", "json.ignore-parse-errors": "false"},
    ),
    "csv of a topic": (
        KAFKA | CSV | {
            "format.field-delimiter": ";", "format.quote-character": "'", "format.allow-comments": "true",
            "format.ignore-parse-errors": "true", "format.array-element-delimiter": "|",
            "format.escape-character": "\\", "format.null-literal": "n/a", "format.line-delimiter": "\n",
        },
        NEW_KAFKA | {
            "format": "csv", "csv.field-delimiter": ";", "csv.quote-character": "'", "csv.allow-comments": "true",
            "csv.ignore-parse-errors": "true", "csv.array-element-delimiter": "|",
            "csv.escape-character": "\\", "csv.null-literal": "n/a",
        },
    ),
    "csv without quotes": (KAFKA | CSV | {"format.disable-quote-character": "true"}, NEW_KAFKA | {"format": "csv"} | NO_QUOTES),
    "csv of files": (FILES | CSV, NEW_FILES | {"format": "csv"} | NO_QUOTES),
    "csv of files with quotes": (
        FILES | CSV | {"format.quote-character": '"', "format.comment-prefix": "#", "format.line-delimiter": "\n"},
        NEW_FILES | {"format": "csv", "csv.quote-character": '"', "csv.allow-comments": "true"},
    ),
    "parquet": (FILES | {"format.type": "parquet"}, NEW_FILES | {"format": "parquet"}),
    "jdbc": (
        JDBC | {
            "connector.driver": "D", "connector.username": "u", "connector.password": "p",
            "connector.read.partition.column": "c", "connector.read.partition.num": "2",
            "connector.read.partition.lower-bound": "0", "connector.read.partition.upper-bound": "9",
            "connector.read.fetch-size": "5", "connector.lookup.max-retries": "3",
            "connector.lookup.cache.max-rows": "10", "connector.lookup.cache.ttl": "1min",
            "connector.write.flush.max-rows": "1", "connector.write.flush.interval": "2s",
            "connector.write.max-retries": "4",
        },
        NEW_JDBC | {
            "driver": "D", "username": "u", "password": "p",
            "scan.partition.column": "c", "scan.partition.num": "2",
            "scan.partition.lower-bound": "0", "scan.partition.upper-bound": "9",
            "scan.fetch-size": "5", "lookup.max-retries": "3", "lookup.cache": "PARTIAL",
            "lookup.partial-cache.max-rows": "10", "lookup.partial-cache.expire-after-write": "1min",
            "sink.buffer-flush.max-rows": "1", "sink.buffer-flush.interval": "2s", "sink.max-retries": "4",
        },
    ),
    "elasticsearch 6": (
        ES | {"connector.version": "6", "connector.document-type": "d", "connector.hosts": "http://h:9200"},
        {"connector": "elasticsearch-6", "index": "i", "document-type": "d", "hosts": "http://h:9200"},
    ),
    "elasticsearch 7": (
        ES | JSON | {
            "connector.version": "7", "connector.document-type": "d", "connector.hosts.0.hostname": "h",
            "connector.hosts.0.port": "9200", "connector.hosts.0.protocol": "https",
            "connector.hosts.1.hostname": "i", "connector.hosts.1.port": "9201", "connector.hosts.1.protocol": "http",
            "update-mode": "upsert", "connector.key-delimiter": "$", "connector.failure-handler": "ignore",
            "connector.flush-on-checkpoint": "true", "connector.bulk-flush.max-actions": "42",
            "connector.bulk-flush.max-size": "2 mb", "connector.bulk-flush.interval": "1000",
            "connector.bulk-flush.backoff.type": "constant", "connector.bulk-flush.backoff.max-retries": "3",
            "connector.bulk-flush.backoff.delay": "10", "connector.connection-path-prefix": "/v1",
        },
        {
            "connector": "elasticsearch-7", "index": "i", "format": "json", "hosts": "https://h:9200;http://i:9201",
            "document-id.key-delimiter": "$", "failure-handler": "ignore", "sink.flush-on-checkpoint": "true",
            "sink.bulk-flush.max-actions": "42", "sink.bulk-flush.max-size": "2 mb", "sink.bulk-flush.interval": "1000",
            "sink.bulk-flush.backoff.strategy": "CONSTANT", "sink.bulk-flush.backoff.max-retries": "3",
            "sink.bulk-flush.backoff.delay": "10", "connection.path-prefix": "/v1",
        },
    ),
    "hbase 1": (
        HBASE | {
            "connector.version": "1.4.3", "connector.zookeeper.znode.parent": "/h",
            "connector.write.buffer-flush.max-size": "10mb", "connector.write.buffer-flush.max-rows": "5",
            "connector.write.buffer-flush.interval": "2s",
        },
        {"connector": "hbase-1.4"} | NEW_HBASE | {
            "zookeeper.znode.parent": "/h", "sink.buffer-flush.max-size": "10mb", "sink.buffer-flush.max-rows": "5",
            "sink.buffer-flush.interval": "2s",
        },
    ),
    "hbase 2": (HBASE | {"connector.version": "2.1.0"}, {"connector": "hbase-2.2"} | NEW_HBASE),
    "print": ({"connector.type": "print"}, {"connector": "print"}),
    "both styles": (KAFKA | {"properties.group.id": "g", "format": "json"}, NEW_KAFKA | {"properties.group.id": "g", "format": "json"}),
    "kafka-0.11": (
        {"connector": "kafka-0.11", "topic": "t", "properties.zookeeper.connect": "z:1"}, NEW_KAFKA
    ),
    "kafka-0.10": ({"connector": "kafka-0.10", "topic": "t"}, NEW_KAFKA),
    "a cache of today's jdbc": (
        {"connector": "jdbc", "lookup.cache.max-rows": "1", "lookup.cache.ttl": "2s"},
        {"connector": "jdbc", "lookup.cache": "PARTIAL", "lookup.partial-cache.max-rows": "1"} |
        {"lookup.partial-cache.expire-after-write": "2s"},
    ),
}  # fmt: skip

# name -> old options, the keys that stay as they are
LOST: dict[str, tuple[dict[str, str], set[str]]] = {
    "a query": (JDBC | {"connector.read.query": "SELECT 1"}, {"connector.read.query"}),
    "retractions": (KAFKA | {"update-mode": "retract"}, {"update-mode"}),
    "an option of nobody": (KAFKA | {"connector.tropic": "x"}, {"connector.tropic"}),
    "an option of the format of nobody": (KAFKA | JSON | {"format.x": "y"}, {"format.x"}),
    "half a property": (KAFKA | {"connector.properties.0.key": "group.id"}, {"connector.properties.0.key"}),
    "half an offset": (KAFKA | {"connector.specific-offsets.0.offset": "1"}, {"connector.specific-offsets.0.offset"}),
    "a header": (FILES | CSV | {"format.ignore-first-line": "true"}, {"format.ignore-first-line"}),
    "comments by another sign": (FILES | CSV | {"format.comment-prefix": "//"}, {"format.comment-prefix"}),
    "lines by another sign": (FILES | CSV | {"format.line-delimiter": ";"}, {"format.line-delimiter"}),
    "a class of Avro": (KAFKA | {"format.type": "avro", "format.record-class": "a.B"}, {"format.record-class"}),
    "somebody's connector": ({"connector.type": "jdbc-ex", "connector.x": "y"}, {"connector.type"}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_clause_of_today(name: str) -> None:
    old, new = CASES[name]
    renewed = renew(old)
    assert renewed is not None
    assert dict(renewed.options) == new
    assert len(renewed.options) == len(new)
    assert set(renewed.pairs) == set(old)
    assert renewed.lost == {}


@pytest.mark.parametrize("name", LOST)
def test_what_has_no_equivalent_stays_and_is_told(name: str) -> None:
    old, lost = LOST[name]
    renewed = renew(old)
    assert renewed is not None
    assert set(renewed.lost) == lost
    assert all(renewed.pairs[key] == ((key, old[key]),) for key in lost)


def test_a_clause_of_today_stays() -> None:
    assert renew(NEW_KAFKA | {"format": "json"}) is None
    assert renew({}) is None


@pytest.mark.parametrize(
    ("more", "start"),
    [
        ({}, "latest-offset"),
        ({"connector.startup-mode": "group-offsets"}, "latest-offset"),
        ({"connector.properties.auto.offset.reset": "earliest"}, "earliest-offset"),
        ({"connector.startup-mode": "earliest-offset"}, "earliest-offset"),
        ({"connector.properties.group.id": "g"}, None),
        ({"connector.properties.group.id": "g", "connector.startup-mode": "group-offsets"}, "group-offsets"),
    ],
)
def test_a_table_that_is_read_without_a_group_says_where_it_begins(more: dict[str, str], start: str | None) -> None:
    renewed = renew(KAFKA | more, read=True)
    assert renewed is not None
    assert dict(renewed.options).get("scan.startup.mode") == start


def test_timestamps_of_json_are_iso() -> None:
    renewed = renew(KAFKA | JSON, timestamps=True)
    assert renewed is not None
    assert dict(renewed.options) == NEW_KAFKA | {"format": "json", "json.timestamp-format.standard": "ISO-8601"}


def test_check_gives_the_clause_and_no_secret() -> None:
    old = JDBC | {
        "connector.username": "u", "connector.password": "hunter2", "connector.read.query": "SELECT 1",
        "connector.properties.0.value": "hunter2",
    }  # fmt: skip
    place = Span(SourceText("x.sql", "'connector.type'"), 0, 16)
    bag = Bag()
    assert legacy({k: OptionText(v, place, place) for k, v in old.items()}, bag, "t")
    (found,) = bag
    assert found.code == "FD203"
    assert "table 't'" in found.message
    assert found.help is not None
    assert (
        "write WITH ('connector' = 'jdbc', 'url' = 'jdbc:mysql://h/d', 'table-name' = 't', 'username' = 'u', "
        in found.help
    )
    assert "'password' = '******')" in found.help
    assert "'connector.read.query' today: make the query a view" in found.help
    assert "hunter2" not in found.help


def test_check_gives_no_clause_for_a_connector_of_somebody() -> None:
    bag = Bag()
    assert legacy({"connector.type": OptionText("jdbc-ex"), "connector.url": OptionText("u")}, bag)
    (found,) = bag
    assert found.help is not None
    assert "write WITH" not in found.help
    assert "'jdbc-ex' is no connector of Flink" in found.help
