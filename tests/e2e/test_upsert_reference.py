# ruff: noqa: E501 (SQL reads better unbroken)
"""Connector reference, sections 5.5, 5.7 and 5.8: upsert-kafka, its buffer, and the changes of other databases."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.tables import Tables
from tests.support.nightly import nightly

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from flinkddl.runtime.kafka.admin import KafkaAdmin

pytestmark = pytest.mark.kafka
FORMATS = [nightly("avro"), nightly("csv"), "json"]
WORDS = "Good good study day day up Good boy"


@pytest.fixture
def db(spark: SparkSession, admin: KafkaAdmin) -> Tables:
    return Tables(spark, admin)


@pytest.mark.parametrize("form", FORMATS, ids=lambda f: f"F01-F02-F03-{f}")
def test_word_count(db: Tables, form: str) -> None:
    columns = "word STRING, `count` BIGINT, PRIMARY KEY (word) NOT ENFORCED"
    topic = db.create("counts", columns, db.topic(4), "upsert-kafka", key_format=form, value_format=form)
    listed = ", ".join(f"('{w}')" for w in WORDS.split())
    db.run(f"INSERT INTO counts SELECT LOWER(w), COUNT(*) FROM (VALUES {listed}) AS v(w) GROUP BY LOWER(w)")
    counted = [("boy", 1), ("day", 2), ("good", 3), ("study", 1), ("up", 1)]
    assert db.rows("SELECT * FROM counts") == counted
    raw = "key_word STRING NOT NULL, word STRING NOT NULL, `count` BIGINT"  # as a PRIMARY KEY is: Avro schemas differ
    keys = {"key_fields": "key_word", "key_fields__prefix": "key_", "value_fields__include": "EXCEPT_KEY"}
    db.create("messages", raw, topic, key_format=form, value_format=form, **keys)
    messages = db.rows("SELECT * FROM messages")  # no message takes a row back, none is a tombstone
    assert all(key == word for key, word, _ in messages)
    assert {word: max(n for w, n in counted if w == word) for word, _ in counted} == dict(counted)
    assert {(w, n) for _, w, n in messages} >= set(counted)
    rare = "SELECT `count`, COUNT(*) FROM counts GROUP BY `count` HAVING COUNT(*) < 2"
    assert db.rows(rare) == [(2, 1), (3, 1)]


USERS = [(100, "Bob", 1), (101, "Alice", 2), (102, "Greg", 3), (103, "Kevin", 4), (101, "Alice", 5), (103, "Kevin", 6),
         (104, "Ann", 7), (100, "Bob", 8)]  # fmt: skip


def declare_users(db: Tables) -> None:
    """Declare the table of users over a topic of their versions, each with its time as the record's."""
    from kafka import KafkaProducer

    topic = db.topic()
    producer = KafkaProducer(bootstrap_servers=db.admin.servers)
    base = int(dt.datetime(2020, 1, 1, tzinfo=dt.UTC).timestamp() * 1000)
    for i, name, second in USERS:
        value = f'{{"user_id":{i},"user_name":"{name}","region":"r{second}"}}'.encode()
        producer.send(topic, key=f'{{"user_id":{i}}}'.encode(), value=value, timestamp_ms=base + second * 1000)
    producer.flush()
    producer.close()
    columns = (
        "user_id BIGINT, region STRING, upper_region AS UPPER(region), "
        "modification_time TIMESTAMP(3) METADATA FROM 'timestamp', PRIMARY KEY (user_id) NOT ENFORCED, "
        "WATERMARK FOR modification_time AS modification_time"
    )
    db.create("users", columns, topic, "upsert-kafka", key_format="json", value_format="json")


def at(second: int) -> dt.datetime:
    return dt.datetime(2020, 1, 1, 0, 0, second)


def test_f04_versions_carry_their_time(db: Tables) -> None:
    declare_users(db)
    last = {i: second for i, _, second in USERS}
    assert db.rows("SELECT * FROM users") == [(i, f"r{s}", f"R{s}", at(s)) for i, s in sorted(last.items())]


def test_f05_the_version_of_the_time_of_the_view(db: Tables) -> None:
    declare_users(db)
    views = db.create(
        "views",
        "user_id BIGINT, page_id BIGINT, viewtime TIMESTAMP(3), WATERMARK FOR viewtime AS viewtime",
        db.topic(),
        format="json",
    )
    seen = [(100, 1, 2), (101, 2, 4), (101, 3, 5), (103, 4, 3), (100, 5, 9), (999, 6, 9)]
    db.send(views, [{"user_id": u, "page_id": p, "viewtime": f"2020-01-01 00:00:{s:02d}"} for u, p, s in seen])
    found = db.rows(
        "SELECT v.page_id, u.region FROM views v LEFT JOIN users FOR SYSTEM_TIME AS OF v.viewtime AS u "
        "ON v.user_id = u.user_id"
    )
    assert found == [(1, "r1"), (2, "r2"), (3, "r5"), (4, None), (5, "r8"), (6, None)]


BUFFER = {"sink_buffer__flush_max__rows": "2", "sink_buffer__flush_interval": "100000"}


def test_f06_b01_b02_b04_a_buffer_writes_a_key_once_a_flush(db: Tables) -> None:
    """Flink flushes the buffer at its end; so does every batch here."""
    columns = "k_user_id BIGINT, name STRING, PRIMARY KEY (k_user_id) NOT ENFORCED"
    keys = {"key_fields__prefix": "k_", "value_fields__include": "EXCEPT_KEY"}
    topic = db.create(
        "t", columns, db.topic(), "upsert-kafka", key_format="json", value_format="json", **keys, **BUFFER
    )
    db.run("INSERT INTO t VALUES (1, 'name 1'), (2, 'name 2'), (3, 'name 3'), (3, 'name 4')")
    records = [(r.key, r.value) for r in db.records(topic)]
    assert sorted(records) == [(f'{{"user_id":{i}}}'.encode(), f'{{"name":"name {n}"}}'.encode())
                               for i, n in ((1, 1), (2, 2), (3, 4))]  # fmt: skip
    assert db.rows("SELECT * FROM t") == [(1, "name 1"), (2, "name 2"), (3, "name 4")]


def test_b03_b05_a_delete_is_kept_in_a_flush(db: Tables) -> None:
    """An insert and a delete of one key leave its tombstone, a delete and an insert its value."""
    source = db.create("s", "id INT, n INT, PRIMARY KEY (id) NOT ENFORCED", db.topic(), format="debezium-json")
    first, second = {"id": 1001, "n": 1}, {"id": 1004, "n": 4}

    def change(op: str, before: Any, after: Any) -> dict[str, Any]:
        return {"op": op, "before": before, "after": after}

    db.send(
        source,
        [
            change("c", None, first), change("c", None, second), change("d", second, None),
            change("d", first, None), change("c", None, first),
        ],
    )  # fmt: skip
    columns = "id INT, n INT, PRIMARY KEY (id) NOT ENFORCED"
    topic = db.create("t", columns, db.topic(), "upsert-kafka", key_format="json", value_format="json", **BUFFER)
    db.run("SET 'execution.runtime-mode' = 'streaming'")
    db.run("INSERT INTO t SELECT id, n FROM s")
    last = {r.key: r.value for r in db.records(topic)}
    assert last[b'{"id":1001}'] == b'{"id":1001,"n":1}'
    assert last.get(b'{"id":1004}') is None
    assert db.rows("SELECT * FROM t") == [(1001, 1)]


def test_f07_nulls_through_a_buffer(db: Tables) -> None:
    columns = "user_id BIGINT, name STRING, ts TIMESTAMP(3), PRIMARY KEY (user_id) NOT ENFORCED"
    csv = {"key_format": "csv", "value_format": "csv", "value_csv_null__literal": "<NULL>"}
    topic = db.create("t", columns, db.topic(), "upsert-kafka", **csv, **BUFFER)
    nothing = "CAST(NULL AS TIMESTAMP(3))"
    db.run(f"INSERT INTO t VALUES (1, 'a', {nothing}), (2, 'b', {nothing}), (3, 'c', {nothing})")
    assert db.rows("SELECT * FROM t") == [(1, "a", None), (2, "b", None), (3, "c", None)]
    assert {r.value for r in db.records(topic)} == {b"1,a,<NULL>", b"2,b,<NULL>", b"3,c,<NULL>"}


KEYS = {
    "F08": ("k_event_id", "k_user_id", {"key_fields__prefix": "k_", "value_fields__include": "EXCEPT_KEY"}),
    "F09": ("event_id", "user_id", {"sink_parallelism": "4"}),
}


@pytest.mark.parametrize(("event", "user", "options"), KEYS.values(), ids=KEYS)
def test_key_of_two_columns(db: Tables, event: str, user: str, options: dict[str, str]) -> None:
    columns = f"{user} BIGINT, name STRING, {event} BIGINT, payload STRING, PRIMARY KEY ({event}, {user}) NOT ENFORCED"
    topic = db.create("t", columns, db.topic(), "upsert-kafka", key_format="json", value_format="json", **options)
    db.run(
        "INSERT INTO t VALUES (1, 'name 1', 100, 'payload 1'), (2, 'name 2', 101, 'payload 2'), "
        "(3, 'name 3', 102, 'payload 3'), (2, 'name 2', 101, 'payload')"
    )
    assert db.rows("SELECT * FROM t") == [
        (1, "name 1", 100, "payload 1"),
        (2, "name 2", 101, "payload"),
        (3, "name 3", 102, "payload 3"),
    ]
    assert {r.key for r in db.records(topic)} == {f'{{"event_id":{99 + i},"user_id":{i}}}'.encode() for i in (1, 2, 3)}


def send_versions(db: Tables, topic: str) -> None:
    from kafka import KafkaProducer

    producer = KafkaProducer(bootstrap_servers=db.admin.servers)
    for i, n, millis in ((1, 1, 1000), (1, 2, 2000), (2, 3, 3000), (1, 4, 4000)):
        producer.send(topic, key=f'{{"id":{i}}}'.encode(), value=f'{{"id":{i},"n":{n}}}'.encode(), timestamp_ms=millis)
    producer.flush()
    producer.close()


STOPS = {
    "F10": ({"scan_bounded_mode": "specific-offsets", "scan_bounded_specific__offsets": "partition:0,offset:2"}, [(1, 2)]),
    "F11": ({"scan_bounded_mode": "timestamp", "scan_bounded_timestamp__millis": "3500"}, [(1, 2), (2, 3)]),
    "F12": ({"scan_bounded_mode": "timestamp", "scan_bounded_timestamp__millis": "500"}, []),
}  # fmt: skip


@pytest.mark.parametrize(("stop", "expected"), STOPS.values(), ids=STOPS)
def test_bounded_upsert(db: Tables, stop: dict[str, str], expected: list[tuple[int, int]]) -> None:
    columns = "id INT, n INT, PRIMARY KEY (id) NOT ENFORCED"
    topic = db.create("t", columns, db.topic(), "upsert-kafka", key_format="json", value_format="json", **stop)
    send_versions(db, topic)
    assert db.rows("SELECT * FROM t") == expected


PRODUCTS = [(101, "scooter", 3.14), (102, "car battery", 8.1), (103, "hammer", 0.75), (104, "rocks", 5.3)]


def debezium() -> list[dict[str, Any]]:
    images = [{"id": i, "name": n, "weight": w} for i, n, w in PRODUCTS]
    source = {"ts_ms": 1589355606000, "db": "inventory", "schema": None, "table": "products"}
    made = [{"before": None, "after": image, "op": "c", "source": source, "ts_ms": 1589355606100} for image in images]
    lighter = {**images[3], "weight": 5.1}
    update = {"before": images[3], "after": lighter, "op": "u", "source": source, "ts_ms": 1589361987936}
    delete = {"before": images[0], "after": None, "op": "d", "source": source, "ts_ms": 1589361987940}
    return [*made, update, delete]


def test_c01_debezium_with_metadata(db: Tables) -> None:
    columns = (
        "origin_ts STRING METADATA FROM 'value.ingestion-timestamp' VIRTUAL, "
        "origin_table STRING METADATA FROM 'value.source.table' VIRTUAL, id INT NOT NULL, name STRING, "
        "weight DECIMAL(10,3), kafka_topic STRING METADATA FROM 'topic' VIRTUAL, "
        "kafka_partition STRING METADATA FROM 'partition' VIRTUAL"
    )
    topic = db.create("s", columns, db.topic(), value_format="debezium-json")
    db.send(topic, debezium())
    found = db.rows(
        "SELECT name, SUM(weight), MAX(kafka_topic), MAX(kafka_partition), MAX(origin_table) FROM s GROUP BY name"
    )
    assert [(n, str(w), *rest) for n, w, *rest in found] == [
        ("car battery", "8.100", topic, "0", "products"),
        ("hammer", "0.750", topic, "0", "products"),
        ("rocks", "5.100", topic, "0", "products"),
    ]


def test_c02_canal_with_metadata(db: Tables) -> None:
    columns = (
        "origin_database STRING METADATA FROM 'value.database' VIRTUAL, "
        "origin_table STRING METADATA FROM 'value.table' VIRTUAL, "
        "origin_sql_type MAP<STRING, INT> METADATA FROM 'value.sql-type' VIRTUAL, "
        "origin_pk_names ARRAY<STRING> METADATA FROM 'value.pk-names' VIRTUAL, "
        "origin_ts TIMESTAMP(3) METADATA FROM 'value.ingestion-timestamp' VIRTUAL, "
        "origin_es TIMESTAMP(3) METADATA FROM 'value.event-timestamp' VIRTUAL, "
        "id INT, name STRING, weight DECIMAL(10,3), WATERMARK FOR origin_es AS origin_es - INTERVAL '5' SECOND"
    )
    topic = db.create("s", columns, db.topic(), value_format="canal-json")
    about = {
        "database": "mydb",
        "table": "products2",
        "sqlType": {"id": 4, "name": 12},
        "pkNames": ["id"],
        "isDdl": False,
    }
    images = [{"id": str(i), "name": n, "weight": str(w)} for i, n, w in PRODUCTS]
    events = [
        {
            **about,
            "data": None,
            "old": None,
            "type": "CREATE",
            "sql": "CREATE TABLE ...",
            "isDdl": True,
            "ts": 1,
            "es": 1,
        },
        {**about, "data": images, "old": None, "type": "INSERT", "ts": 1589373515477, "es": 1589373515000},
        {
            **about,
            "data": [{**images[2], "weight": "1"}, {**images[3], "weight": "5.1"}],
            "old": [{"weight": "0.75"}, {"weight": "5.3"}],
            "type": "UPDATE",
            "ts": 1589373546301,
            "es": 1589373546000,
        },
    ]
    db.send(topic, events)
    sink = "name STRING, weight DECIMAL(10,3), ts TIMESTAMP(3), es TIMESTAMP(3), base STRING, PRIMARY KEY (name) NOT ENFORCED"
    db.create("t", sink, db.topic(), "upsert-kafka", key_format="json", value_format="json")
    db.run("INSERT INTO t SELECT name, weight, origin_ts, origin_es, origin_database FROM s")
    late, early = dt.datetime(2020, 5, 13, 12, 39, 6), dt.datetime(2020, 5, 13, 12, 38, 35)
    assert [(n, str(w), ts, es, base) for n, w, ts, es, base in db.rows("SELECT * FROM t")] == [
        ("car battery", "8.100", early + dt.timedelta(milliseconds=477), early, "mydb"),
        ("hammer", "1.000", late + dt.timedelta(milliseconds=301), late, "mydb"),
        ("rocks", "5.100", late + dt.timedelta(milliseconds=301), late, "mydb"),
        ("scooter", "3.140", early + dt.timedelta(milliseconds=477), early, "mydb"),
    ]
    assert db.rows("SELECT origin_pk_names, origin_sql_type FROM s WHERE id = 102") == [(["id"], {"id": 4, "name": 12})]


def test_c03_maxwell_with_metadata(db: Tables) -> None:
    columns = (
        "origin_database STRING METADATA FROM 'value.database' VIRTUAL, "
        "origin_keys ARRAY<STRING> METADATA FROM 'value.primary-key-columns' VIRTUAL, "
        "origin_ts TIMESTAMP(3) METADATA FROM 'value.ingestion-timestamp' VIRTUAL, "
        "id INT, name STRING, weight DECIMAL(10,3)"
    )
    topic = db.create("s", columns, db.topic(), value_format="maxwell-json")
    about = {"database": "test", "table": "product", "xid": 1, "commit": True}
    images = [{"id": i, "name": n, "weight": w} for i, n, w in PRODUCTS]
    events = [{**about, "type": "insert", "ts": 1596684883, "data": image} for image in images]
    events.append(
        {**about, "type": "update", "ts": 1596684893, "data": {**images[2], "weight": 1}, "old": {"weight": 0.75}}
    )
    db.send(topic, events)
    found = db.rows("SELECT name, weight, origin_ts, origin_keys, origin_database FROM s WHERE name = 'hammer'")
    assert [(n, str(w), ts, keys, base) for n, w, ts, keys, base in found if str(w) == "1.000"] == [
        ("hammer", "1.000", dt.datetime(2020, 8, 6, 3, 34, 53), None, "test")
    ]
