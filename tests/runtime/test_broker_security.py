from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.broker.config import Listener
from flinkddl.runtime.broker.server import Broker, BrokerOptions
from flinkddl.runtime.kafka.admin import KafkaAdmin

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.kafka

USERS = (("alice", "wonder-land"),)
LISTENERS = (
    Listener("LOGIN", "SASL_PLAINTEXT", "PLAIN", USERS),
    Listener("SCRAM", "SASL_PLAINTEXT", "SCRAM-SHA-512", USERS),
    Listener("TLS", "SSL"),
    Listener("BOTH", "SASL_SSL", "SCRAM-SHA-256", USERS),
)


@pytest.fixture(scope="module")
def secured() -> Iterator[Broker]:
    with Broker(BrokerOptions(heap="300m", listeners=LISTENERS)) as broker:
        yield broker


def _properties(broker: Broker, listener: Listener, password: str = "wonder-land") -> dict[str, str]:
    kind = "plain.Plain" if listener.mechanism == "PLAIN" else "scram.Scram"
    module = f"org.apache.kafka.common.security.{kind}LoginModule"
    properties = {"bootstrap.servers": broker.address(listener.name), "security.protocol": listener.protocol}
    if listener.sasl:
        properties["sasl.mechanism"] = listener.mechanism
        properties["sasl.jaas.config"] = f'{module} required username="alice" password="{password}";'
    if listener.tls:
        assert broker.security is not None
        properties["ssl.truststore.location"] = str(broker.security.truststore)
        properties["ssl.truststore.type"] = "PKCS12"
        properties["ssl.truststore.password"] = broker.security.password
    return properties


@pytest.mark.parametrize("listener", LISTENERS, ids=lambda x: f"{x.protocol}-{x.mechanism}")
def test_a_client_logs_in_with_java_properties(secured: Broker, listener: Listener) -> None:
    with KafkaAdmin(_properties(secured, listener)) as admin:
        admin.create_topic(f"made-by-{listener.name.lower()}")
        assert f"made-by-{listener.name.lower()}" in admin.topics()


@pytest.mark.parametrize("listener", LISTENERS[:2], ids=lambda x: x.mechanism)
def test_a_wrong_password_is_refused_in_words(secured: Broker, listener: Listener) -> None:
    words = "(Authentication failed.*|it hangs up without a word) .*password"
    with pytest.raises(FlinkDdlError, match=rf"FD814: the server at '127\.0\.0\.1:\d+' refuses the login: {words}"):
        KafkaAdmin(_properties(secured, listener, "wrong"))


def test_a_plain_client_at_a_tls_port_is_told_what_to_check(secured: Broker) -> None:
    with pytest.raises(FlinkDdlError, match=r"FD814: .*security\.protocol"):
        KafkaAdmin({"bootstrap.servers": secured.address("TLS")}, timeout=3)
