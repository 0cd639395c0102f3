"""``security.kerberos.*`` of the session becomes the login of Kafka clients that ask for GSSAPI."""

from __future__ import annotations

import pytest

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.lower.kafka_client import kerberos
from flinkddl.runtime.kafka_config import python_client_config

CONTEXTS = {"security.kerberos.login.contexts": "Client, KafkaClient"}
KEYTAB = {"security.kerberos.login.keytab": "/etc/a b.keytab", "security.kerberos.login.principal": "flink@REALM"}
GSSAPI = {"security.protocol": "SASL_SSL", "sasl.mechanism": "GSSAPI", "sasl.kerberos.service.name": "kafka"}
MODULE = "com.sun.security.auth.module.Krb5LoginModule required "
BY_KEYTAB = 'useKeyTab="true" keyTab="/etc/a b.keytab" principal="flink@REALM" storeKey="true" doNotPrompt="true";'
BY_CACHE = 'useTicketCache="true" renewTGT="true" doNotPrompt="true";'
NO_CACHE = {"security.kerberos.login.use-ticket-cache": "false"}
CASES = [
    ("keytab", GSSAPI, CONTEXTS | KEYTAB, MODULE + BY_KEYTAB),
    ("gssapi-is-the-default", {"security.protocol": "SASL_PLAINTEXT"}, CONTEXTS | KEYTAB, MODULE + BY_KEYTAB),
    ("ticket-cache", GSSAPI, CONTEXTS, MODULE + BY_CACHE),
    ("no-ticket-cache", GSSAPI, CONTEXTS | NO_CACHE, None),
    ("other-contexts", GSSAPI, {"security.kerberos.login.contexts": "Client"} | KEYTAB, None),
    ("own-login", GSSAPI | {"sasl.jaas.config": "x"}, CONTEXTS | KEYTAB, None),
    ("other-mechanism", GSSAPI | {"sasl.mechanism": "PLAIN"}, CONTEXTS | KEYTAB, None),
    ("no-sasl", {"security.protocol": "SSL"}, CONTEXTS | KEYTAB, None),
]


@pytest.mark.parametrize(("properties", "config", "login"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_login(properties: dict[str, str], config: dict[str, str], login: str | None) -> None:
    assert kerberos(properties, config).get("sasl.jaas.config") == login


def test_kerberos_is_left_to_java() -> None:
    with pytest.raises(FlinkDdlError, match="FD850"):
        python_client_config(GSSAPI)
