"""Kafka client properties as Flink tables write them (Java names), turned into kafka-python's configuration."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from flinkddl.runtime.kafka.kerberos import sasl_config
from flinkddl.runtime.kafka.stores import tls_context
from flinkddl.spark.kerberos import uses_gssapi

if TYPE_CHECKING:
    from collections.abc import Mapping

_DIRECT: Mapping[str, str] = {
    "bootstrap.servers": "bootstrap_servers",
    "client.id": "client_id",
    "security.protocol": "security_protocol",
    "sasl.mechanism": "sasl_mechanism",
}
_LOGIN_FIELD = re.compile(r"""\b(username|password)\s*=\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s;]+)""")


def python_client_config(properties: Mapping[str, str]) -> dict[str, Any]:
    """Return keyword arguments for a kafka-python client that logs in as the Java client would.

    Understood: servers, protocol, SASL PLAIN and SCRAM through ``sasl.jaas.config``, TLS with key and trust
    stores of every kind that Java reads, GSSAPI. Raises FD813 for a store that cannot be read, FD850 and FD851 for a
    Kerberos login that cannot be made.
    """
    config: dict[str, Any] = {ours: properties[java] for java, ours in _DIRECT.items() if properties.get(java)}
    if "security_protocol" in config:
        config["security_protocol"] = config["security_protocol"].upper()
    if "sasl_mechanism" in config:
        config["sasl_mechanism"] = config["sasl_mechanism"].upper()
    if "bootstrap_servers" in config:
        config["bootstrap_servers"] = [s.strip() for s in config["bootstrap_servers"].split(",") if s.strip()]
    if uses_gssapi(properties):
        config |= sasl_config(properties)
    else:
        config |= _login(properties.get("sasl.jaas.config", ""))
    if config.get("security_protocol", "").endswith("SSL"):
        config["ssl_context"] = tls_context(properties)
        config["ssl_check_hostname"] = config["ssl_context"].check_hostname
    return config


def _login(jaas: str) -> dict[str, str]:
    fields = {name: _unquote(value) for name, value in _LOGIN_FIELD.findall(jaas)}
    return {f"sasl_plain_{name}": value for name, value in fields.items()}


def _unquote(text: str) -> str:
    quoted = len(text) > 1 and text[0] in "\"'" and text[-1] == text[0]
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if quoted else text
