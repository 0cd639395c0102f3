from __future__ import annotations

import socket
import threading
import time
from typing import TYPE_CHECKING

import pytest

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.kafka.admin import KafkaAdmin, slow
from flinkddl.runtime.kafka.config import python_client_config
from flinkddl.runtime.kafka.opening import opened

if TYPE_CHECKING:
    from collections.abc import Callable

    from flinkddl.runtime.broker.server import Broker


@pytest.mark.kafka
def test_offsets_of_every_kind(broker: Broker, admin: KafkaAdmin, new_topic: Callable[..., str]) -> None:
    from kafka import KafkaProducer

    topic = new_topic("offsets", partitions=2)
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap)
    for n in range(3):
        producer.send(topic, b"x", partition=0, timestamp_ms=1000 + n)
    producer.flush()
    producer.close()
    assert admin.partitions([topic]) == {topic: [0, 1]}
    assert admin.begin_offsets([topic]) == {topic: {0: 0, 1: 0}}
    assert admin.end_offsets([topic]) == {topic: {0: 3, 1: 0}}
    assert admin.offsets_at([topic], 1001) == {topic: {0: 1, 1: 0}}
    assert admin.offsets_at([topic], 9999) == {topic: {0: 3, 1: 0}}
    assert admin.committed(f"g-{topic}", [topic]) == {topic: {}}
    admin.commit(f"g-{topic}", {topic: {0: 2}})
    assert admin.committed(f"g-{topic}", [topic]) == {topic: {0: 2}}
    assert topic in admin.matching("offsets-.*")
    admin.delete_topic(topic)
    assert topic not in admin.topics()


@pytest.mark.kafka
def test_a_missing_topic_is_named_with_its_neighbour(admin: KafkaAdmin, new_topic: Callable[..., str]) -> None:
    topic = new_topic("pageviews")
    with pytest.raises(FlinkDdlError, match=f"FD812: the topic '{topic[:-1]}' does not exist .*did you mean '{topic}'"):
        admin.partitions([topic[:-1]])


def test_an_unreachable_cluster_is_said_within_seconds_with_its_address() -> None:
    begin = time.monotonic()
    with pytest.raises(FlinkDdlError, match=r"FD811: no Kafka cluster answers at '127\.0\.0\.1:1'"):
        KafkaAdmin({"bootstrap.servers": "127.0.0.1:1"}, timeout=1)
    assert time.monotonic() - begin < 4


@pytest.mark.parametrize("kind", ["KafkaAdminClient", "KafkaConsumer"])
def test_a_client_that_finds_no_way_in_leaves_no_thread(kind: str) -> None:
    """A job that waits for its cluster opens one every few seconds."""
    import kafka

    def threads() -> list[str]:
        return [t.name for t in threading.enumerate() if t.name.startswith("kafka-io")]

    before = len(threads())
    for _ in range(3):
        with pytest.raises(kafka.errors.KafkaTimeoutError):
            opened(getattr(kafka, kind), {"bootstrap_servers": "127.0.0.1:1", "bootstrap_timeout_ms": 200})
    end = time.monotonic() + 5
    while len(threads()) > before and time.monotonic() < end:
        time.sleep(0.05)
    assert len(threads()) == before


def _answers(connection: socket.socket) -> None:
    connection.recv(100)
    connection.sendall(b"x")


# what a server does with a connection -> whether it may only be slow
SERVERS: dict[str, tuple[Callable[[socket.socket], object], bool]] = {
    "answers": (_answers, False),
    "hangs up": (socket.socket.close, False),
    "says nothing": (lambda connection: connection.recv(100), True),
}


@pytest.mark.parametrize(("does", "is_slow"), SERVERS.values(), ids=SERVERS)
def test_a_server_that_is_slow_is_told_from_one_that_refuses(
    does: Callable[[socket.socket], object], is_slow: bool
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken: list[socket.socket] = []

        def serve() -> None:
            taken.append(server.accept()[0])
            does(taken[0])

        thread = threading.Thread(target=serve)
        thread.start()
        assert slow(f"127.0.0.1:1, 127.0.0.1:{server.getsockname()[1]}") is is_slow
        thread.join()
        taken[0].close()


def test_a_host_without_an_address_is_named() -> None:
    with pytest.raises(FlinkDdlError, match=r"FD811: .*no host is called 'nobody\.invalid' here; check"):
        KafkaAdmin({"bootstrap.servers": "nobody.invalid:1"}, timeout=1)


@pytest.mark.long
def test_a_server_that_is_mute_is_told_apart() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(FlinkDdlError, match=f"FD811: the server at '{address}' takes connections and answers no"):
            KafkaAdmin({"bootstrap.servers": address}, timeout=0.5)


def test_no_server_is_none_that_is_slow() -> None:
    assert not slow("127.0.0.1:1,x")


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({"bootstrap.servers": "a:1, b:2"}, {"bootstrap_servers": ["a:1", "b:2"]}),
        (
            {
                "security.protocol": "sasl_plaintext",
                "sasl.mechanism": "PLAIN",
                "sasl.jaas.config": 'x.PlainLoginModule required username="al ice" password=\'s;e"c\';',
            },
            {
                "security_protocol": "SASL_PLAINTEXT",
                "sasl_mechanism": "PLAIN",
                "sasl_plain_username": "al ice",
                "sasl_plain_password": 's;e"c',
            },
        ),
    ],
)
def test_java_properties_become_a_python_configuration(properties: dict[str, str], expected: dict[str, object]) -> None:
    assert python_client_config(properties) == expected
