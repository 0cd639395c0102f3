"""Checks that need the table. One valid base per connector; each case is one change and one expectation."""

import pytest

from flinkddl import connectors
from flinkddl import sqltypes as T
from flinkddl.catalog.model import Column, ObjectPath, OptionText, PrimaryKey, Table
from flinkddl.connectors import Use
from flinkddl.connectors.kafka.facts import parse_offsets, subjects
from flinkddl.diagnostics import Bag
from tests.options.test_validate import BASE

PHYSICAL = (Column("a", type=T.INT), Column("b", type=T.STRING))
KEY = PrimaryKey(("a",))


def meta(key, kind, virtual=True, name="m"):
    return Column(name, "metadata", kind, key, virtual)


def use(base, role, change=None, columns=PHYSICAL, circumstances=None, **table):
    """Use a table with a changed base map; return resolved options and the findings' codes and texts."""
    options = {k: OptionText(v) for k, v in {**BASE[base], **(change or {})}.items() if v is not None}
    table.setdefault("primary_key", KEY if base == "upsert-kafka" else None)
    bag = Bag()
    made = Table(ObjectPath("c", "d", "t"), tuple(columns), options, **table)
    resolved = connectors.use_table(made, role, None, bag, circumstances)
    return made, resolved, [(d.code, f"{d.message} | {d.help}") for d in bag]


CDC = {"format": "debezium-json"}
AVRO = {"format": "avro"}
RAW = {"format": "raw"}
CSV = {"format": "csv"}
REGISTRY = {"format": "avro-confluent", "avro-confluent.url": "http://r"}
KEYED = {"key.format": "json", "key.fields": "a"}
HEADERS, LIST = T.MAP(T.STRING, T.BYTES), T.ARRAY(T.ROW(("key", T.STRING), ("value", T.BYTES)))
TWO = {"topic": "x;y"}
FAKER_MAP = {"fields.b.key.expression": "k", "fields.b.value.expression": "1"}

# id, base, role, arguments of use, (code, words)
REFUSED = [
    ("K39-V33-source", "kafka", "source", {"primary_key": KEY}, ("FD230", "'json'")),
    ("K39-V33-sink", "kafka", "sink", {"primary_key": KEY}, ("FD230", "uniqueness")),
    ("U15-V34-source", "upsert-kafka", "source", {"primary_key": None}, ("FD231", "'t'")),
    ("U15-V34-sink", "upsert-kafka", "sink", {"primary_key": None}, ("FD231", "PRIMARY KEY")),
    ("P03-V28", "kafka", "source", {"change": {**KEYED, "key.fields": "zz"}}, ("FD221", "physical columns: a, b")),
    (
        "V28-metadata",
        "kafka",
        "source",
        {"change": {**KEYED, "key.fields": "m"}, "columns": (*PHYSICAL, meta("offset", T.BIGINT))},
        ("FD221", "'m'"),
    ),
    (
        "P04-V29",
        "kafka",
        "source",
        {"change": {**KEYED, "key.fields-prefix": "k_", "value.fields-include": "EXCEPT_KEY"}},
        ("FD221", "'k_'"),
    ),
    (
        "V43",
        "kafka",
        "source",
        {"columns": (*PHYSICAL, meta("Timestamp", T.STRING))},
        ("FD232", "did you mean 'timestamp'?"),
    ),
    (
        "V43-format",
        "kafka",
        "source",
        {"columns": (*PHYSICAL, meta("value.table", T.STRING))},
        ("FD232", "'value.table'"),
    ),
    (
        "V43-upsert",
        "upsert-kafka",
        "source",
        {"columns": (*PHYSICAL, meta("value.source.table", T.STRING))},
        ("FD232", "value.source.table"),
    ),
    (
        "V44",
        "kafka",
        "sink",
        {"columns": (*PHYSICAL, meta("offset", T.BIGINT, False))},
        ("FD233", "headers, header-list, timestamp"),
    ),
    ("V17", "kafka", "sink", {"columns": (*PHYSICAL, meta("topic", T.STRING, False))}, ("FD233", "single topic")),
    (
        "V45-read",
        "kafka",
        "source",
        {"columns": (*PHYSICAL, meta("timestamp", T.BOOLEAN))},
        ("FD234", "TIMESTAMP_LTZ(3)"),
    ),
    ("V45-write", "kafka", "sink", {"columns": (*PHYSICAL, meta("headers", T.STRING, False))}, ("FD234", "'headers'")),
    ("V45-bigint", "kafka", "source", {"columns": (*PHYSICAL, meta("timestamp", T.BIGINT))}, ("FD234", "BIGINT")),
    (
        "K40-V47",
        "kafka",
        "sink",
        {"columns": (*PHYSICAL, meta("headers", HEADERS, False), meta("header-list", LIST, False, "n"))},
        ("FD235", "'m' and 'n'"),
    ),
    ("V49-overwrite", "kafka", "sink", {"circumstances": Use(overwrite=True)}, ("FD236", "INSERT INTO")),
    ("V49-partitioned", "kafka", "sink", {"partition_keys": ("b",)}, ("FD236", "PARTITIONED BY")),
    ("V56-unbounded", "kafka", "source", {"circumstances": Use(batch=True)}, ("FD237", "latest-offset")),
    (
        "V56-changes",
        "kafka",
        "source",
        {"change": {**CDC, "scan.bounded.mode": "latest-offset"}, "circumstances": Use(batch=True)},
        ("FD237", "emits changes"),
    ),
    (
        "V61",
        "kafka",
        "source",
        {"change": CDC, "circumstances": Use(cdc_duplicates=True)},
        ("FD231", "cdc-events-duplicate"),
    ),
    (
        "V23-range",
        "kafka",
        "source",
        {
            "change": {
                "scan.startup.mode": "specific-offsets",
                "scan.startup.specific-offsets": "partition:2147483648,offset:1",
            }
        },
        ("FD219", "out of range"),
    ),
    ("raw-two-columns", "kafka", "source", {"change": RAW}, ("FD239", "single")),
    ("raw-type", "kafka", "source", {"change": RAW, "columns": (Column("a", type=T.DATE),)}, ("FD238", "DATE")),
    ("csv-map", "kafka", "sink", {"change": CSV, "columns": (Column("a", type=HEADERS),)}, ("FD238", "'a'")),
    (
        "csv-deep",
        "kafka",
        "sink",
        {"change": CSV, "columns": (Column("a", type=T.ARRAY(T.ARRAY(T.INT))),)},
        ("FD238", "ARRAY<INT>"),
    ),
    (
        "json-multiset",
        "kafka",
        "source",
        {"columns": (Column("a", type=T.MULTISET(T.INT)),)},
        ("FD238", "MULTISET<INT>"),
    ),
    (
        "avro-timestamp",
        "kafka",
        "source",
        {"change": AVRO, "columns": (Column("a", type=T.TIMESTAMP(6)),)},
        ("FD238", "use TIMESTAMP(3)"),
    ),
    (
        "avro-ltz",
        "kafka",
        "source",
        {"change": AVRO, "columns": (Column("a", type=T.TIMESTAMP_LTZ(3)),)},
        ("FD238", "timestamp_mapping.legacy"),
    ),
    ("avro-name", "kafka", "source", {"change": AVRO, "columns": (Column("a b", type=T.INT),)}, ("FD238", "'a b'")),
    (
        "K22-list",
        "kafka",
        "sink",
        {"change": {**REGISTRY, **TWO}, "columns": (*PHYSICAL, meta("topic", T.STRING, False))},
        ("FD218", "'avro-confluent.subject'"),
    ),
    ("V13-list", "kafka", "sink", {"change": TWO}, ("FD247", "several topics")),
    (
        "V13-virtual",
        "kafka",
        "sink",
        {"change": TWO, "columns": (*PHYSICAL, meta("topic", T.STRING))},
        ("FD247", "'t'"),
    ),
    ("V13-pattern", "kafka", "sink", {"change": {"topic": None, "topic-pattern": "x.*"}}, ("FD247", "several topics")),
    ("V13-upsert", "upsert-kafka", "sink", {"change": TWO}, ("FD247", "several topics")),
    ("datagen-column", "datagen", "source", {"change": {"fields.c.length": "1"}}, ("FD212", "'c'")),
    (
        "datagen-sequence",
        "datagen",
        "source",
        {"change": {"fields.a.kind": "sequence", "fields.a.start": "1"}},
        ("FD218", "'fields.a.end'"),
    ),
    ("datagen-length", "datagen", "source", {"change": {"fields.a.length": "1"}}, ("FD212", "INT")),
    ("datagen-bound", "datagen", "source", {"change": {"fields.a.min": "x"}}, ("FD211", "number")),
    ("faker-column", "faker", "source", {"change": {"fields.c.expression": "x"}}, ("FD478", "'c'")),
    (
        "faker-none",
        "faker",
        "source",
        {"change": {"fields.b.expression": None}},
        ("FD218", "add 'fields.b.expression'"),
    ),
    (
        "faker-length",
        "faker",
        "source",
        {"change": {"fields.a.length": "2"}},
        ("FD212", "it takes: expression, null-rate"),
    ),
    ("faker-rate", "faker", "source", {"change": {"fields.a.null-rate": "1.5"}}, ("FD211", "from 0 to 1")),
    ("faker-bytes", "faker", "source", {"columns": (*PHYSICAL[:1], Column("b", type=T.BYTES))}, ("FD238", "BYTES")),
    (
        "faker-map",
        "faker",
        "source",
        {"columns": (PHYSICAL[0], Column("b", type=T.MAP(T.STRING, T.INT))), "change": FAKER_MAP},
        ("FD212", "write 'fields.b.key.expression', 'fields.b.value.expression'"),
    ),
    ("faker-none-left", "faker", "source", {"columns": (*PHYSICAL, meta("x", T.INT))}, ("FD232", "'m'")),
    (
        "faker-name",
        "faker",
        "source",
        {"change": {"fields.b.expression": "#{Name.firstNam}"}},
        ("FD478", "did you mean"),
    ),
    (
        "faker-not-null",
        "faker",
        "source",
        {"columns": (Column("a", type=T.INT.not_null()), PHYSICAL[1]), "change": {"fields.a.null-rate": "0.1"}},
        ("FD211", "NOT NULL"),
    ),
    ("faker-batch", "faker", "source", {"circumstances": Use(batch=True)}, ("FD237", "'number-of-rows' = ")),
    ("socket-avro", "socket", "source", {"change": {"format": "avro"}}, ("FD216", "csv, debezium-json")),
    ("socket-batch", "socket", "source", {"circumstances": Use(batch=True)}, ("FD237", "| SET 'execution.")),
    ("filesystem-overwrite", "filesystem", "sink", {"circumstances": Use(overwrite=True)}, ("FD236", "batch")),
    ("jdbc-row", "jdbc", "source", {"columns": (Column("a", type=T.ROW(("x", T.INT))),)}, ("FD238", "ROW")),
    ("redis-key", "redis", "sink", {}, ("FD231", "PRIMARY KEY")),
    (
        "redis-bytes",
        "redis",
        "sink",
        {"primary_key": KEY, "columns": (*PHYSICAL, Column("c", type=T.BYTES))},
        ("FD238", "BYTES"),
    ),
    ("redis-partitions", "redis", "sink", {"primary_key": KEY, "partition_keys": ("b",)}, ("FD236", "partitioned")),
    ("redis-user", "redis", "sink", {"primary_key": KEY, "change": {"username": "u"}}, ("FD218", "'password'")),
]


@pytest.mark.parametrize(("base", "role", "args", "expected"), [c[1:] for c in REFUSED], ids=[c[0] for c in REFUSED])
def test_refused(base, role, args, expected):
    _, _, findings = use(base, role, **args)
    assert [code for code, _ in findings] == [expected[0]]
    assert expected[1] in findings[0][1]


ACCEPTED = [
    ("K38-source", "kafka", "source", {"change": CDC, "primary_key": KEY}),
    ("K38-sink", "kafka", "sink", {"change": CDC, "primary_key": KEY}),
    (
        "K41",
        "kafka",
        "source",
        {"columns": (*PHYSICAL, meta("headers", HEADERS), meta("header-list", LIST, True, "n"))},
    ),
    ("K29-topic", "kafka", "sink", {"change": TWO, "columns": (*PHYSICAL, meta("topic", T.STRING, False))}),
    (
        "K30-pattern",
        "kafka",
        "sink",
        {"change": {"topic": None, "topic-pattern": "x.*"}, "columns": (*PHYSICAL, meta("topic", T.STRING, False))},
    ),
    ("V44-virtual", "kafka", "sink", {"columns": (*PHYSICAL, meta("offset", T.BIGINT))}),
    ("V45-text", "kafka", "sink", {"columns": (*PHYSICAL, meta("timestamp", T.STRING, False))}),
    (
        "V43-debezium",
        "kafka",
        "source",
        {"change": CDC, "columns": (*PHYSICAL, meta("value.source.timestamp", T.TIMESTAMP(3)))},
    ),
    (
        "V56-bounded",
        "kafka",
        "source",
        {"change": {"scan.bounded.mode": "latest-offset"}, "circumstances": Use(batch=True)},
    ),
    ("V49-read", "kafka", "source", {"partition_keys": ("b",)}),
    (
        "avro-modern",
        "kafka",
        "source",
        {
            "change": {**AVRO, "avro.timestamp_mapping.legacy": "false"},
            "columns": (Column("a", type=T.TIMESTAMP_LTZ(6)),),
        },
    ),
    ("raw-except-key", "kafka", "source", {"change": {**RAW, **KEYED, "value.fields-include": "EXCEPT_KEY"}}),
    ("E13", "kafka", "sink", {"change": {**KEYED, "key.fields": "a;a"}}),
    ("filesystem-partitions", "filesystem", "sink", {"partition_keys": ("b",)}),
    ("filesystem-metadata", "filesystem", "source", {"columns": (*PHYSICAL, meta("file.name", T.STRING))}),
    (
        "datagen-sequence",
        "datagen",
        "source",
        {
            "change": {"fields.a.kind": "sequence", "fields.a.start": "1", "fields.a.end": "9"},
            "circumstances": Use(batch=True),
        },
    ),
    ("print", "print", "sink", {}),
    ("blackhole", "blackhole", "sink", {"partition_keys": ("b",)}),
    ("jdbc", "jdbc", "sink", {"primary_key": KEY}),
    ("redis", "redis", "sink", {"primary_key": KEY}),
]


@pytest.mark.parametrize(("base", "role", "args"), [c[1:] for c in ACCEPTED], ids=[c[0] for c in ACCEPTED])
def test_accepted(base, role, args):
    assert use(base, role, **args)[2] == []


def projected(change, columns, **table):
    made, resolved, _ = use("kafka", "source", change, columns, **table)
    split = connectors.connector("kafka").projection(made, resolved)
    return [(f.index, f.name) for f in split.key], [(f.index, f.name) for f in split.value]


WIDE = tuple(Column(n, type=T.STRING) for n in ("id", "name", "age", "address"))


def test_p01_p07_key_fields_in_their_order():
    change = {"key.format": "json", "key.fields": "address; name", "value.fields-include": "EXCEPT_KEY"}
    assert projected(change, WIDE) == ([(3, "address"), (1, "name")], [(0, "id"), (2, "age")])


def test_p06_the_prefix_is_cut_once_for_the_key_format():
    columns = (Column("k_k_a", type=T.INT), Column("m", "metadata", T.BIGINT, "offset", True), Column("a", type=T.INT))
    change = {
        "key.format": "json",
        "key.fields": "k_k_a",
        "key.fields-prefix": "k_",
        "value.fields-include": "EXCEPT_KEY",
    }
    assert projected(change, columns) == ([(0, "k_a")], [(1, "a")])


def test_k20_all_keeps_key_columns_in_the_value():
    assert projected(KEYED, PHYSICAL) == ([(0, "a")], [(0, "a"), (1, "b")])


def test_u01_upsert_keys_come_in_the_order_of_the_primary_key():
    made, resolved, _ = use("upsert-kafka", "source", primary_key=PrimaryKey(("b", "a")))
    split = connectors.connector("upsert-kafka").projection(made, resolved)
    assert [f.name for f in split.key] == ["b", "a"]


SUBJECTS = [
    ("K22", {"format": "debezium-avro-confluent", "debezium-avro-confluent.url": "u"}, {"value": "orders-value"}),
    (
        "K23",
        {"format": None, "value.format": "avro-confluent", "value.avro-confluent.url": "u"},
        {"value": "orders-value"},
    ),
    (
        "K24",
        {**REGISTRY, **KEYED, "key.format": "avro-confluent", "key.avro-confluent.url": "u"},
        {"value": "orders-value", "key": "orders-key"},
    ),
    ("K25", {**REGISTRY, **KEYED, "key.format": "csv"}, {"value": "orders-value"}),
    ("K26", {**KEYED, "key.format": "avro-confluent", "key.avro-confluent.url": "u"}, {"key": "orders-key"}),
    ("K27", {**REGISTRY, "avro-confluent.subject": "sub1"}, {"value": "sub1"}),
    (
        "K28",
        {
            **REGISTRY,
            **KEYED,
            "key.format": "avro-confluent",
            "key.avro-confluent.url": "u",
            "key.avro-confluent.subject": "sub2",
        },
        {"value": "orders-value", "key": "sub2"},
    ),
]


@pytest.mark.parametrize(("change", "expected"), [c[1:] for c in SUBJECTS], ids=[c[0] for c in SUBJECTS])
def test_subjects(change, expected):
    _, resolved, findings = use("kafka", "sink", change)
    assert findings == []
    assert subjects(resolved) == expected


def test_changelog_modes():
    _, resolved, _ = use("upsert-kafka", "sink")
    found = connectors.connector("upsert-kafka")
    assert found.source_mode(resolved) == {"UA", "D"}  # U01
    assert found.sink_mode(resolved) == {"I", "UA", "D"}  # U04
    _, resolved, _ = use("kafka", "source", CDC)
    assert connectors.connector("kafka").source_mode(resolved) == {"I", "UB", "UA", "D"}


def test_k13_offsets():
    assert parse_offsets("partition:0,offset:2;partition:1,offset:5;partition:0,offset:3;") == {0: 3, 1: 5}


def test_hints_win():
    made, _, _ = use("kafka", "source")
    bag = Bag()
    resolved = connectors.use_table(made, "source", {"scan.startup.mode": OptionText("latest-offset")}, bag)
    assert resolved["scan.startup.mode"] == "latest-offset"


ROWS = (*PHYSICAL, Column("c", type=T.ROW(("x", T.INT), ("y", T.STRING))), Column("d", type=T.DATE))
SEQUENCE = {"fields.a.kind": "sequence", "fields.a.start": "1", "fields.a.end": "5"}
# What Flink 2.3 answered for the same table.
DATAGEN = [
    ("unknown", {"fields.zz.min": "1"}, "'zz'"),
    ("min-of-text", {"fields.b.min": "1"}, "'fields.b.min'"),
    ("length-not-a-number", {"fields.b.length": "x"}, "'fields.b.length'"),
    ("end-not-a-number", {**SEQUENCE, "fields.a.end": "x"}, "'fields.a.end'"),
    ("length-of-row", {"fields.c.length": "3"}, "'fields.c.length'"),
    ("max-of-sequence", {**SEQUENCE, "fields.a.max": "20"}, "'fields.a.max'"),
    ("start-of-random", {"fields.a.start": "1"}, "'fields.a.start'"),
    ("nested", {"fields.c.x.max": "3"}, None),
    ("no-rows", {"rows-per-second": "0"}, None),
    ("text", {"fields.b.var-len": "true", "fields.b.null-rate": "0.5", "fields.b.length": "20"}, None),
]


@pytest.mark.parametrize(("change", "named"), [c[1:] for c in DATAGEN], ids=[c[0] for c in DATAGEN])
def test_datagen_options_follow_type_and_generator(change, named):
    _, _, findings = use("datagen", "source", change, ROWS)
    assert len(findings) == (named is not None)
    assert named is None or named in findings[0][1]
