"""Sentences of the documents that no other test holds on the broker; tests/data/promises.toml names them."""

from __future__ import annotations

import uuid
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.diagnostics import FlinkDdlError
from tests.e2e.tables import SECONDS, Tables
from tests.e2e.test_watermarks import COLUMNS, ENDLESS, FAST, rows, running

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from flinkddl.runtime.kafka.admin import KafkaAdmin

pytestmark = pytest.mark.kafka


@pytest.fixture
def db(spark: SparkSession, admin: KafkaAdmin) -> Tables:
    return Tables(spark, admin)


KINDS = {"CreateTime": "1970-01-01 00:00:05", "LogAppendTime": "20"}


@pytest.mark.parametrize("kind", KINDS)
def test_the_kind_of_a_timestamp_is_the_topics(db: Tables, kind: str) -> None:
    """A written timestamp makes CreateTime; a topic that keeps the broker's own says so."""
    topic = f"kind-{uuid.uuid4().hex[:8]}"
    db.admin.create_topic(topic, 1, {"retention.ms": "-1", "message.timestamp.type": kind})
    columns = "n INT, ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp', kind STRING METADATA FROM 'timestamp-type' VIRTUAL"
    db.create("t", columns, topic, format="json")
    db.run("SET 'table.local-time-zone' = 'UTC'")
    db.run("INSERT INTO t VALUES (1, TO_TIMESTAMP_LTZ(5000, 3))")
    [(n, ts, found)] = db.rows("SELECT n, CAST(ts AS STRING), kind FROM t")
    assert (n, found) == (1, kind)
    assert ts.startswith(KINDS[kind])


def test_one_of_several_brokers_is_enough_and_a_sinks_group_commits_nothing(db: Tables) -> None:
    group = f"g-{uuid.uuid4().hex[:8]}"
    several = {"properties_bootstrap_servers": f"127.0.0.1:1,{db.admin.servers}", "properties_group_id": group}
    topic = db.create("t", "n INT", db.topic(), format="json", **several)
    db.run("INSERT INTO t VALUES (1), (2)")
    assert db.admin.committed(group, [topic]) == {topic: {}}
    assert db.rows("SELECT * FROM t") == [(1,), (2,)]


# Settings of Kafka 2.8's clients, some of which its present ones do without.
CLIENT = {
    "acks": "all", "batch.size": "4096", "buffer.memory": "16777216", "check.crcs": "false", "client.dns.lookup":
    "use_all_dns_ips", "compression.type": "gzip", "connections.max.idle.ms": "60000", "delivery.timeout.ms": "60000",
    "fetch.max.wait.ms": "200", "fetch.min.bytes": "1", "heartbeat.interval.ms": "2000", "linger.ms": "1",
    "max.in.flight.requests.per.connection": "1", "metadata.max.age.ms": "60000", "receive.buffer.bytes": "65536",
    "request.timeout.ms": "20000", "retries": "3", "security.providers": "", "session.timeout.ms": "20000",
}  # fmt: skip


def test_settings_of_kafkas_client_reach_it(db: Tables) -> None:
    given = {f"properties_{k.replace('.', '_')}": v for k, v in CLIENT.items()}
    topic = db.create("t", "s STRING", db.topic(), format="json", **given)
    db.run("INSERT INTO t VALUES ('a'), ('b')")
    assert db.rows("SELECT * FROM t") == [("a",), ("b",)]
    db.create("small", "s STRING", topic, format="json", properties_max_request_size="100")
    with pytest.raises(FlinkDdlError, match=r"max\.request\.size"):
        db.run("INSERT INTO small VALUES (REPEAT('x', 200))")


@pytest.mark.parametrize("form", ["csv", "avro"])
def test_key_and_value_in_each_format(db: Tables, form: str) -> None:
    keys = {"key_format": form, "key_fields": "id", "value_format": form, "value_fields__include": "EXCEPT_KEY"}
    topic = db.create("t", "id BIGINT NOT NULL, name STRING, price DECIMAL(6, 2)", db.topic(), **keys)
    db.run("INSERT INTO t VALUES (1, 'a', 1.50), (2, 'b', -2)")
    assert db.rows("SELECT * FROM t") == [(1, "a", Decimal("1.50")), (2, "b", Decimal("-2.00"))]
    keys_written = {"csv": {b"1", b"2"}, "avro": {b"\x02", b"\x04"}}
    assert {r.key for r in db.records(topic)} == keys_written[form]


def test_a_class_chooses_the_partition(db: Tables) -> None:
    """One of Kafka's Partitioner, as a property: Flink's own interface is none that Spark's producer knows."""
    one = {"properties_partitioner_class": "org.apache.kafka.clients.producer.RoundRobinPartitioner"}
    topic = db.create("t", "n INT, k STRING", db.topic(2), key_format="raw", key_fields="k", value_format="json", **one)
    db.run("INSERT INTO t VALUES (1, 'a'), (2, 'a'), (3, 'a'), (4, 'a')")
    assert {r.partition for r in db.records(topic)} == {0, 1}  # by its key it would be one


def test_a_row_that_comes_back_within_a_flush_leaves_no_tombstone(db: Tables) -> None:
    source = db.create("s", "id INT, n INT, PRIMARY KEY (id) NOT ENFORCED", db.topic(), format="debezium-json")
    one, two = {"id": 1, "n": 1}, {"id": 1, "n": 2}
    changes = [("c", None, one), ("d", one, None), ("c", None, two)]
    db.send(source, [{"op": op, "before": before, "after": after} for op, before, after in changes])
    columns = "id INT, n INT, PRIMARY KEY (id) NOT ENFORCED"
    buffer = {"sink_buffer__flush_max__rows": "100", "sink_buffer__flush_interval": "1 s"}
    topic = db.create("t", columns, db.topic(), "upsert-kafka", key_format="json", value_format="json", **buffer)
    db.run("SET 'execution.runtime-mode' = 'streaming'")
    db.run("INSERT INTO t SELECT id, n FROM s")
    assert [(r.key, r.value) for r in db.records(topic)] == [(b'{"id":1}', b'{"id":1,"n":2}')]


KEYS = 8


def test_changes_of_a_key_stand_in_one_partition_in_their_order(db: Tables) -> None:
    source = db.create("s", "id INT, n INT, PRIMARY KEY (id) NOT ENFORCED", db.topic(), format="debezium-json")
    columns = "id INT, n INT, PRIMARY KEY (id) NOT ENFORCED"
    topic = db.create("t", columns, db.topic(3), "upsert-kafka", key_format="json", value_format="json")
    steps: list[list[dict[str, Any]]] = [[], [], []]
    for i in range(KEYS):
        one, two = {"id": i, "n": 1}, {"id": i, "n": 2}
        steps[0].append({"op": "c", "before": None, "after": one})
        steps[1].append({"op": "u", "before": one, "after": two})
        if i % 2:
            steps[2].append({"op": "d", "before": two, "after": None})
    db.send(source, [event for step in steps for event in step])
    db.run("SET 'execution.runtime-mode' = 'streaming'")
    db.run(f"SET 'flinkddl.execution.max-offsets-per-trigger' = '{KEYS}'")  # a step a batch
    db.run("INSERT INTO t SELECT id, n FROM s")
    places: dict[bytes, set[int]] = {}
    last: dict[bytes, bytes | None] = {}
    for record in db.records(topic):  # partition by partition, in order of offsets
        places.setdefault(record.key, set()).add(record.partition)
        last[record.key] = record.value
    assert {len(found) for found in places.values()} == {1}
    assert {p for found in places.values() for p in found} == {0, 1, 2}
    assert last == {f'{{"id":{i}}}'.encode(): None if i % 2 else f'{{"id":{i},"n":2}}'.encode() for i in range(KEYS)}


VERSIONED = f"{COLUMNS}, PRIMARY KEY (k) NOT ENFORCED"
JOINED = "SELECT l.k, l.v, r.v FROM l JOIN r FOR SYSTEM_TIME AS OF l.ts ON l.k = r.k"


def test_an_upsert_table_has_a_watermark_a_partition(db: Tables) -> None:
    """The partition of its versions that lags holds the join back, and an idle one does not."""
    orders, versions = db.topic(), db.topic(2)
    db.create("l", COLUMNS, orders, **ENDLESS)
    keyed = {"key_format": "json", "value_format": "json", "scan_bounded_mode": None}
    db.create("r", VERSIONED, versions, "upsert-kafka", **keyed)
    db.send(versions, rows(0, 0, 100), 0, key=b'{"k":0}')
    db.send(versions, rows(1, 0), 1, key=b'{"k":1}')
    db.send(orders, rows(0, 5, 1000, 3000))
    with running(db, JOINED) as seen:
        assert seen.settled() == []  # the least is minute 0
        db.send(versions, rows(1, 10), 1, key=b'{"k":1}')
        assert seen.wait(1) == [(0, 0, 0)]
    db.run(FAST)
    db.send(versions, rows(0, 2000), 0, key=b'{"k":0}')
    with running(db, JOINED) as seen:
        assert seen.wait(2) == [(0, 0, 0), (0, 1, 1)]  # minute 10 of the other does not count: it is idle


def test_readers_see_open_transactions_unless_they_ask_for_committed_records(db: Tables) -> None:
    from kafka import KafkaProducer

    topic = db.topic()
    db.create("everything", "n INT", topic, format="json")
    db.create("committed", "n INT", topic, format="json", properties_isolation_level="read_committed")
    db.send(topic, [{"n": 1}])
    producer = KafkaProducer(bootstrap_servers=db.admin.servers, transactional_id=f"t-{topic}")
    producer.init_transactions()
    producer.begin_transaction()
    producer.send(topic, b'{"n": 2}').get(SECONDS)
    try:
        assert db.rows("SELECT * FROM committed") == [(1,)]
        assert db.rows("SELECT * FROM everything") == [(1,), (2,)]
    finally:
        producer.abort_transaction()
        producer.close()
