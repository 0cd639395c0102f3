"""What a sink needs of its cluster, on a broker with an authorizer and a low limit: said before anything is started."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from flinkddl.api import Catalog
from flinkddl.cli.main import main
from flinkddl.diagnostics import FlinkDdlError, SourceText
from flinkddl.runtime.broker.config import Listener
from flinkddl.runtime.broker.server import Broker, BrokerOptions
from flinkddl.runtime.kafka import sink_needs
from flinkddl.runtime.kafka.admin import KafkaAdmin
from flinkddl.runtime.kafka.sink_needs import check_sink
from flinkddl.script.compile import Start, compile_script
from tests.support.topics import committed, send

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from flinkddl.spark.job import SparkJob

pytestmark = pytest.mark.kafka
LIMIT = "60000"
PROPERTIES = (
    ("authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer"),
    ("super.users", "User:ANONYMOUS"),
    ("transaction.max.timeout.ms", LIMIT),
    ("transaction.state.log.replication.factor", "3"),  # of one broker: until it is 1, there are no transactions
)
ID = "shop-default_catalog.default_database.snk"
LOGIN = (
    "'properties.security.protocol' = 'SASL_PLAINTEXT', 'properties.sasl.mechanism' = 'PLAIN', "
    "'properties.sasl.jaas.config' = 'org.apache.kafka.common.security.plain.PlainLoginModule required "
    'username="alice" password="secret-of-alice";\''
)
SCRIPT = """
CREATE TABLE src (id BIGINT) WITH ('connector' = 'kafka', 'topic' = 'src', 'format' = 'json',
  'properties.bootstrap.servers' = '{plain}', 'scan.startup.mode' = 'earliest-offset',
  'scan.bounded.mode' = 'latest-offset');
CREATE TABLE snk (id BIGINT) WITH ('connector' = 'kafka', 'topic' = '{topic}', 'format' = 'json',
  'properties.bootstrap.servers' = '{servers}', {more});
INSERT INTO snk SELECT id FROM src;
"""
ONCE = "'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = 'shop'"


@pytest.fixture(scope="module")
def strict() -> Iterator[Broker]:
    """A broker that allows alice nothing at first."""
    listener = Listener("LOGIN", "SASL_PLAINTEXT", "PLAIN", (("alice", "secret-of-alice"),))
    with Broker(BrokerOptions(heap="400m", listeners=(listener,), properties=PROPERTIES)) as broker:
        with KafkaAdmin({"bootstrap.servers": broker.bootstrap}) as admin:
            admin.create_topic("src")
            admin.create_topic("dst")
        send(broker.bootstrap, "src", [{"id": i} for i in range(10)])
        yield broker


def script(broker: Broker, more: str, topic: str = "dst", user: str = LOGIN) -> str:
    servers = broker.address("LOGIN") if user else broker.bootstrap
    options = ", ".join(x for x in (more, user) if x)
    return SCRIPT.format(plain=broker.bootstrap, servers=servers, topic=topic, more=options)


def start(spark: SparkSession, text: str) -> str:
    """Run the job; return "" or what refused it."""
    try:
        Catalog(spark).execute(text).await_termination(120)
    except FlinkDdlError as error:
        return str(error)
    return ""


def job(text: str) -> SparkJob:
    return next(a.job for a in compile_script(SourceText("job.sql", text)).actions if isinstance(a, Start))


def grant(broker: Broker, operation: str, kind: str, name: str, prefixed: bool = False) -> None:
    from kafka.admin import ACL, ACLOperation, ACLPermissionType, ACLResourcePatternType, ResourcePattern, ResourceType

    pattern = ACLResourcePatternType.PREFIXED if prefixed else ACLResourcePatternType.LITERAL
    resource = ResourcePattern(ResourceType[kind], name, pattern)
    with KafkaAdmin({"bootstrap.servers": broker.bootstrap}) as admin:
        admin._client.create_acls([ACL("User:alice", "*", ACLOperation[operation], ACLPermissionType.ALLOW, resource)])


def doctor(capsys: pytest.CaptureFixture[str], folder: Path, text: str) -> tuple[int, str]:
    path = folder / "job.sql"
    path.write_text(text)
    code = main(["doctor", "--no-spark", str(path)])
    return code, capsys.readouterr().out


def test_rights_and_limits_are_said_one_by_one(
    spark: SparkSession, strict: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sink_needs, "TRANSACTION_SECONDS", 3.0)
    plain = script(strict, "'sink.parallelism' = '1'")
    assert "FD863" in (said := start(spark, plain))
    assert "does not let the user of table 'default_catalog.default_database.snk' write the topic 'dst'" in said
    grant(strict, "WRITE", "TOPIC", "dst")
    assert start(spark, plain) == ""
    assert len(committed(strict.bootstrap, "dst")) == 10

    once = script(strict, ONCE)
    assert "read the topic 'dst'" in start(spark, once)
    grant(strict, "READ", "TOPIC", "dst")
    assert f"use the transactional id '{ID}'" in start(spark, once)
    grant(strict, "WRITE", "TRANSACTIONAL_ID", ID, prefixed=True)
    assert "FD864" in (said := start(spark, once))
    assert "no coordinator for the transactions" in said
    with KafkaAdmin({"bootstrap.servers": strict.bootstrap}) as admin:
        admin.create_topic("__transaction_state", 1, {"cleanup.policy": "compact", "min.insync.replicas": "1"})
    # alice may not read the brokers' settings, so their limit is not compared; the group is
    assert f"commit for the groups '{ID}-...'" in start(spark, once)
    grant(strict, "READ", "GROUP", f"{ID}-", prefixed=True)
    grant(strict, "DESCRIBE_CONFIGS", "CLUSTER", "kafka-cluster")
    assert "FD862" in (said := start(spark, once))
    assert "the default of 900000 ms of table 'default_catalog.default_database.snk' is more than" in said
    assert f"transaction.max.timeout.ms = {LIMIT}" in said
    assert "'properties.transaction.timeout.ms' = '60001'" in start(spark, script(strict, f"{ONCE}, {timeout(60001)}"))
    assert start(spark, script(strict, f"{ONCE}, {timeout(60000)}")) == ""
    assert len(committed(strict.bootstrap, "dst")) == 20


def timeout(millis: int) -> str:
    return f"'properties.transaction.timeout.ms' = '{millis}'"


def test_doctor_says_the_same(strict: Broker, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, said = doctor(capsys, tmp_path, script(strict, f"{ONCE}, {timeout(30000)}"))
    assert code == 0, said
    version = re.search(r"^ok    kafka +\S+ answers, Kafka (\d+)\.\d+, \d+ topics$", said, re.M)
    assert version is not None
    assert int(version[1]) >= 4
    assert f"ok    transactions the transactional id '{ID}' may be used" in said
    assert f"ok    transactions a transaction may take 30000 ms; the brokers allow {LIMIT}" in said
    assert f"ok    transactions the groups '{ID}-...' may be used" in said
    code, said = doctor(capsys, tmp_path, script(strict, ONCE, topic="hidden"))
    assert code == 3
    assert "secret-of-alice" not in said
    assert re.search(r"^fail  topic +FD863: .* write the topic 'hidden'\n +-> grant WRITE on that topic$", said, re.M)
    assert re.search(
        r"^fail  transactions FD862: the default of 900000 ms .*\n +-> write '.*' = '60000' or", said, re.M
    )


def test_looking_fences_no_running_job(strict: Broker) -> None:
    from kafka import KafkaProducer

    topic = "fenced"
    with KafkaAdmin({"bootstrap.servers": strict.bootstrap}) as admin:
        admin.create_topic(topic)
        running = KafkaProducer(bootstrap_servers=strict.bootstrap, transactional_id=ID, transaction_timeout_ms=30000)
        running.init_transactions()
        running.begin_transaction()
        running.send(topic, b"{}")
        running.flush()
        (write,) = job(script(strict, f"{ONCE}, {timeout(30000)}", topic, user="")).writes
        check_sink(write, admin)
        running.commit_transaction()
        running.close()
        assert len(committed(strict.bootstrap, topic)) == 1
        assert admin.committed(f"{ID}-check", [topic]) == {topic: {}}


@pytest.mark.parametrize(("asked", "made"), [("false", False), ("true", True)])
def test_no_topic_is_made_by_the_way(spark: SparkSession, strict: Broker, asked: str, made: bool) -> None:
    topic = f"made-{asked}"
    said = start(spark, script(strict, f"'properties.allow.auto.create.topics' = '{asked}'", topic, user=""))
    with KafkaAdmin({"bootstrap.servers": strict.bootstrap}) as admin:
        assert (topic in admin.topics()) == made
    assert ("FD867" in said) != made
    assert ("shall not be made" in said) != made


@pytest.mark.parametrize(
    ("version", "more", "said"),
    [
        ((0, 9), "'sink.parallelism' = '1'", "is of version 0.9"),
        ((0, 10, 2), ONCE, "is exactly-once, and Kafka at"),
        ((0, 10, 2), "'sink.parallelism' = '1'", ""),
    ],
)
def test_versions(
    spark: SparkSession, strict: Broker, monkeypatch: pytest.MonkeyPatch, version: tuple[int, ...], more: str, said: str
) -> None:
    """What would be said of an old broker; of a real one only the version is changed."""
    monkeypatch.setattr(KafkaAdmin, "version", lambda self: version)
    found = start(spark, script(strict, more, user=""))
    assert said in found.replace("\n", " ")
    assert bool(said) == bool(found)
