"""Every SQL block of the documents (tests/cases/seeds) against a real broker, with the result that its text describes.

Slips of the pages are kept in the files: each is refused at its place with what was meant, and the block runs when that
is written instead.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.api import Catalog
from flinkddl.diagnostics import SourceText
from flinkddl.runtime.broker.config import Listener
from flinkddl.runtime.broker.server import Broker, BrokerOptions
from flinkddl.runtime.machine.java import find_java
from flinkddl.script.compile import compile_script
from samples.topics import read_topic
from tests.support.seeds import NAMES, SLIPS, meant, seed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from flinkddl.runtime.kafka.admin import KafkaAdmin

SECONDS = 120.0

WARNED = {
    "baidu_2_source_table": {"FD227", "FD473"},
    "baidu_3_result_table": {"FD227", "FD473"},
    "streampark_1_example": {"FD227", "FD473"},
}
STRICT = {"baidu_2_source_table": "FD307", "baidu_3_result_table": "FD307", "streampark_1_example": "FD307"}
STRICT |= {"oceanus_2_example": "FD553"}


def said(text: str, strict: bool = False) -> list[Any]:
    begin = "SET 'flinkddl.strict' = 'true';" if strict else ""
    return compile_script(SourceText("seed.sql", begin + text)).diagnostics


def test_all_blocks_are_here() -> None:
    assert len(NAMES) == 17


@pytest.mark.parametrize("name", NAMES)
def test_slips_are_refused_with_what_was_meant(name: str) -> None:
    text = seed(name)
    for wrong, right, help in SLIPS.get(name, ()):
        errors = [d for d in said(text) if d.severity == "error"]
        assert errors
        assert [d for d in errors if help in d.message + (d.help or "")], (wrong, errors)
        text = text.replace(wrong, right)
    assert {(d.severity, d.code) for d in said(text)} == {("warning", code) for code in WARNED.get(name, ())}


@pytest.mark.parametrize("name", NAMES)
def test_strict_refuses_what_flink_refuses(name: str) -> None:
    errors = [d.code for d in said(meant(name), strict=True) if d.severity == "error"]
    assert errors[:1] == [STRICT[name]] if name in STRICT else errors == []


# ---- on the broker -------------------------------------------------------------------------------------------------

TOPIC = re.compile(r"('topic' *= *)'([^']+)'")


class Block:
    """A block whose topics are new, one a table, on a real broker."""

    def __init__(self, name: str, spark: SparkSession, servers: str) -> None:
        self.topics: list[str] = []
        text = TOPIC.sub(self._topic, meant(name))
        self.text = re.sub(r"'(localhost|172\.28\.28\.13):9092'", f"'{servers}'", text)
        self.servers, self.catalog = servers, Catalog(spark, views=False, notice=lambda _: None)

    def _topic(self, found: re.Match[str]) -> str:
        self.topics.append(f"seed-{len(self.topics)}-{uuid.uuid4().hex[:8]}")
        return f"{found[1]}'{self.topics[-1]}'"

    def send(self, n: int, *records: tuple[Any, Any]) -> None:
        from kafka import KafkaProducer

        producer = KafkaProducer(bootstrap_servers=self.servers)
        for key, value in records:
            texts = [r if r is None or isinstance(r, str) else json.dumps(r) for r in (key, value)]
            producer.send(self.topics[n], *(None if r is None else r.encode() for r in reversed(texts)))
        producer.flush()
        producer.close()

    def records(self, n: int) -> list[tuple[Any, Any]]:
        return [(r.key, r.value) for r in read_topic(self.servers, self.topics[n])]

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Return what a query gives that reads its table (``{}`` stands after it) from its beginning to its end."""
        first = "'scan.startup.mode'='earliest-offset', " if "'upsert-kafka'" not in self.text else ""
        bound = f"/*+ OPTIONS({first}'scan.bounded.mode'='latest-offset') */"
        return sorted((tuple(r) for r in self.catalog.execute(sql.replace("{}", bound)).collect()), key=repr)

    def wrote(self, sql: str) -> None:
        assert self.catalog.execute(sql).await_termination(SECONDS)


@pytest.fixture
def block(spark: SparkSession, admin: KafkaAdmin) -> Any:
    def make(name: str) -> Block:
        made = Block(name, spark, admin.servers)
        for topic in made.topics:
            admin.create_topic(topic, 1, {"retention.ms": "-1"})
        return made

    return make


VIEWS = [(1, 20, "Europe"), (2, 32, "Asia"), (1, 64, "Europe"), (3, 20, "Europe"), (4, 21, "Africa")]
COUNTS = [("Africa", 1, 1), ("Asia", 1, 1), ("Europe", 3, 2)]


def views(column: str) -> list[tuple[None, dict[str, Any]]]:
    """Return the page views; microseconds are cut."""
    return [
        (None, {"user_id": u, "page_id": p, column: f"2020-03-08 12:1{i}:00.123456", "user_region": r})
        for i, (u, p, r) in enumerate(VIEWS)
    ]


@pytest.mark.kafka
def test_page_views_are_counted_per_region(block: Any) -> None:
    """The documents' main example: no group, so all that was there before the first start is counted."""
    blocks = [("baidu_3_result_table", 0, 1, "viewtime"), ("streampark_1_example", 1, 0, "view_time")]
    jobs = []
    for name, source, sink, column in blocks:
        made = block(name)
        made.send(source, *views(column))
        jobs.append((made, sink, made.catalog.execute(made.text).job))
    for made, sink, job in jobs:
        assert job.await_input(SECONDS)
        job.stop()
        job.await_termination()
        written = made.records(sink)
        assert {key for key, _ in written} == {b"\x0c" + b"Europe", b"\x08Asia", b"\x0cAfrica"}  # Avro, key first
        assert made.rows("SELECT * FROM pageviews_per_region {}") == COUNTS
    times = "/*+ OPTIONS('scan.startup.mode'='earliest-offset', 'scan.bounded.mode'='latest-offset') */"
    seen = jobs[0][0].catalog.execute(f"SELECT viewtime FROM pageviews {times}").collect()
    assert {time.microsecond for (time,) in seen} == {123000}


@pytest.mark.kafka
def test_page_views_are_shown_and_a_json_topic_becomes_a_table(block: Any) -> None:
    shown, copied = block("baidu_2_source_table"), block("oceanus_2_example")
    shown.send(0, *views("viewtime"))
    lines: list[str] = []
    select = shown.catalog.execute(shown.text).changes(lambda rows: lines.extend(rows.lines()))
    insert = copied.catalog.execute(copied.text).job
    assert insert.await_input(SECONDS)  # it reads from the latest offset: what comes now
    copied.send(0, (None, {"id": 1, "name": "a"}), (None, "no JSON"), (None, {"id": 2}), (None, {"id": 1, "name": "b"}))
    for job in (select, insert):
        assert job.await_input(SECONDS)
        job.stop()
        job.await_termination()
    assert sorted(line for line in lines if not line.startswith("-U")) == [
        "+I[Africa, 1, 1]", "+I[Asia, 1, 1]", "+I[Europe, 3, 2]",
    ]  # fmt: skip
    table = dict(copied.records(1))
    assert table == {b'{"id":1}': b'{"id":1,"name":"b"}', b'{"id":2}': b'{"id":2,"name":null}'}


@pytest.mark.kafka
def test_tables_are_written_and_read(block: Any) -> None:
    """The pages that declare a table only: rows go in and come out, laid out as the text beside them says."""
    made = block("baidu_1_syntax")
    made.catalog.execute(made.text)
    made.wrote("INSERT INTO upsert_kafka_sink VALUES ('north', 2, 1)")
    assert made.rows("SELECT * FROM upsert_kafka_sink {}") == [("north", 2, 1)]

    made = block("oceanus_1_ddl")
    made.catalog.execute(made.text)
    made.wrote("INSERT INTO kafka_upsert_sink_table VALUES (1, 'a')")
    assert made.records(0) == [(b'{"id":1}', b'{"id":1,"name":"a"}')]

    made = block("streampark_2_formats")
    made.catalog.execute(made.text)
    made.send(0, ({"user_id": 1}, {"item_id": 7, "behavior": "buy"}), ({"user_id": 1}, {"item_id": 8}))
    made.send(0, ({"user_id": 2}, {"item_id": 9}), ({"user_id": 2}, None), ("no JSON", {"item_id": 3}))
    assert made.rows("SELECT user_id, item_id, behavior FROM KafkaTable {}") == [(1, 8, None)]


@pytest.mark.kafka
def test_kafka_tables_are_written_and_read(block: Any) -> None:
    made = block("kafka_1_table")
    made.catalog.execute(made.text)
    made.wrote("INSERT INTO KafkaTable VALUES (1, 2, 'buy', TO_TIMESTAMP_LTZ(1000, 3))")
    assert made.records(0) == [(None, b"1,2,buy")]
    assert [r[:3] for r in made.rows("SELECT * FROM KafkaTable {}")] == [(1, 2, "buy")]

    made = block("kafka_2_metadata")
    made.catalog.execute(made.text)
    made.wrote("INSERT INTO KafkaTable VALUES (TO_TIMESTAMP_LTZ(1000, 3), 1, 2, 'buy')")
    found = made.rows("SELECT EXTRACT(EPOCH FROM event_time), `partition`, `offset`, behavior FROM KafkaTable {}")
    assert found == [(1, 0, 0, "buy")]

    made = block("kafka_4_value_format")
    made.catalog.execute(made.text)
    made.send(0, (None, {"user_id": 1, "item_id": 2, "behavior": "buy"}), (None, "no JSON"))
    assert [r[1:] for r in made.rows("SELECT * FROM KafkaTable {}") if r[1] is not None] == [(1, 2, "buy")]

    made = block("kafka_5_key_and_value")
    made.catalog.execute(made.text)
    made.wrote("INSERT INTO KafkaTable VALUES (TO_TIMESTAMP_LTZ(1000, 3), 1, 2, 'buy')")
    assert made.records(0) == [(b'{"user_id":1,"item_id":2}', b'{"user_id":1,"item_id":2,"behavior":"buy"}')]

    made = block("kafka_6_prefix")
    made.catalog.execute(made.text)
    made.wrote("INSERT INTO KafkaTable VALUES (1, 2, 3, 4, 'buy')")
    assert made.records(0) == [(b'{"version":1,"user_id":2,"item_id":3}', b'{"version":4,"behavior":"buy"}')]
    assert made.rows("SELECT * FROM KafkaTable {}") == [(1, 2, 3, 4, "buy")]


@pytest.mark.kafka
def test_metadata_of_debezium(block: Any) -> None:
    made = block("kafka_3_format_metadata")
    row = {"user_id": 1, "item_id": 2, "behavior": "buy"}
    made.send(0, (None, {"before": None, "after": row, "op": "c", "source": {"ts_ms": 1000, "table": "orders"}}))
    stop = "'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset'"
    made.catalog.execute(made.text.replace("'scan.startup.mode' = 'earliest-offset'", stop))
    made.catalog.execute("SET 'execution.runtime-mode' = 'streaming'")
    lines: list[str] = []
    query = "SELECT EXTRACT(EPOCH FROM event_time), origin_table, partition_id, `offset`, user_id FROM KafkaTable"
    assert made.catalog.execute(query).changes(lambda r: lines.extend(r.lines())).await_termination(SECONDS)
    assert lines == ["+I[1, orders, 0, 0, 1]"]


# The broker's own JAAS text can not hold a user with a '#', such as the page's 'ckafka-xxxxxxxx#YourUserName'.
LOGINS = (("username", "password"), ("ckafka-xxxxxxxx-YourUserName", "YourPassword"))
END = "/*+ OPTIONS('scan.bounded.mode'='latest-offset') */"
STORE = "test1234"  # the page's password of its stores


@pytest.fixture(scope="module")
def secured() -> Iterator[Broker]:
    listeners = (
        Listener("LOGIN", "SASL_PLAINTEXT", "PLAIN", LOGINS),
        Listener("SAFE", "SASL_SSL", "SCRAM-SHA-256", LOGINS[:1], client_auth=True),
    )
    with Broker(BrokerOptions(heap="400m", listeners=listeners)) as broker:
        yield broker


def written_and_read(made: Block, table: str, row: str) -> None:
    """The group is generated, so its offsets are looked up with the login too."""
    made.wrote(f"INSERT INTO {table} VALUES ({row})")
    made.catalog.execute("SET 'execution.runtime-mode' = 'batch'")
    assert [r[0] for r in made.catalog.execute(f"SELECT * FROM {table} {END}").collect()] == [1]


@pytest.mark.kafka
@pytest.mark.parametrize(
    ("name", "table", "row"),
    [
        ("kafka_7_sasl_plain", "KafkaTable", "1, 2, 'buy', TO_TIMESTAMP_LTZ(1000, 3)"),
        ("oceanus_3_sasl_plain", "YourTable", "1, 'a'"),
    ],
)
def test_sasl_plain_as_written(spark: SparkSession, secured: Broker, name: str, table: str, row: str) -> None:
    made = Block(name, spark, secured.address("LOGIN"))
    made.catalog.execute(made.text.replace("#", "-"))
    written_and_read(made, table, row)


@pytest.mark.kafka
def test_sasl_ssl_with_jks_stores_as_written(spark: SparkSession, secured: Broker, tmp_path: Path) -> None:
    """SCRAM-SHA-256 over TLS, and a key of the client's own: passwords of the page, its two files made for the test."""
    made = Block("kafka_8_sasl_ssl", spark, secured.address("SAFE"))
    jks_stores(secured, tmp_path)
    made.catalog.execute(made.text.replace("/path/to", str(tmp_path)))
    written_and_read(made, "KafkaTable", "1, 2, 'buy', TO_TIMESTAMP_LTZ(1000, 3)")


def jks_stores(broker: Broker, folder: Path) -> None:
    """Write kafka.client.truststore.jks and kafka.client.keystore.jks; the client's key is the broker's."""
    security = broker.security
    assert security is not None
    trust, own = (str(folder / f"kafka.client.{name}.jks") for name in ("truststore", "keystore"))
    from_broker = ("-srckeystore", str(security.keystore), "-srcalias", "broker", "-srcstorepass:env", "THEIRS")
    given = ("-importkeystore", *from_broker, "-destkeystore", own, "-deststoretype", "JKS", "-destkeypass:env", "OURS")
    certificate = ("-importcert", "-noprompt", "-file", str(security.certificate), "-alias", "ca")
    tool = Path(find_java()).with_name("keytool")
    passwords = os.environ | {"OURS": STORE, "THEIRS": security.password}
    for command in ((*given, "-deststorepass:env", "OURS"),
                    (*certificate, "-storetype", "JKS", "-keystore", trust, "-storepass:env", "OURS")):  # fmt: skip
        subprocess.run([tool, *command], env=passwords, check=True, capture_output=True)
