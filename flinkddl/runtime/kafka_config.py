"""Kafka client properties as Flink tables write them (Java names), turned into kafka-python's configuration."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.stores import tls_context

if TYPE_CHECKING:
    from collections.abc import Mapping

_DIRECT: Mapping[str, str] = {
    "bootstrap.servers": "bootstrap_servers",
    "client.id": "client_id",
    "security.protocol": "security_protocol",
    "sasl.mechanism": "sasl_mechanism",
    "sasl.kerberos.service.name": "sasl_kerberos_service_name",
}
_LOGIN_FIELD = re.compile(r"""\b(username|password)\s*=\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s;]+)""")


def python_client_config(properties: Mapping[str, str]) -> dict[str, Any]:
    """Return keyword arguments for a kafka-python client that logs in as the Java client would.

    Understood: servers, protocol, SASL PLAIN and SCRAM through ``sasl.jaas.config``, TLS with key and trust
    stores of every kind that Java reads. Raises FD813 for a store that cannot be read, FD850 for GSSAPI.
    """
    if properties.get("security.protocol", "").upper().startswith("SASL") and _mechanism(properties) == "GSSAPI":
        raise FlinkDdlError.of(
            "FD850",
            "this client logs in by Kerberos, which only Java can",
            help="checks before the start are left out; start and stop at 'earliest-offset' or 'latest-offset'",
        )
    config: dict[str, Any] = {ours: properties[java] for java, ours in _DIRECT.items() if properties.get(java)}
    if "security_protocol" in config:
        config["security_protocol"] = config["security_protocol"].upper()
    if "bootstrap_servers" in config:
        config["bootstrap_servers"] = [s.strip() for s in config["bootstrap_servers"].split(",") if s.strip()]
    config |= _login(properties.get("sasl.jaas.config", ""))
    if config.get("security_protocol", "").endswith("SSL"):
        config["ssl_context"] = tls_context(properties)
        config["ssl_check_hostname"] = config["ssl_context"].check_hostname
    return config


def _mechanism(properties: Mapping[str, str]) -> str:
    return properties.get("sasl.mechanism", "GSSAPI").upper()


def _login(jaas: str) -> dict[str, str]:
    fields = {name: _unquote(value) for name, value in _LOGIN_FIELD.findall(jaas)}
    return {f"sasl_plain_{name}": value for name, value in fields.items()}


def _unquote(text: str) -> str:
    quoted = len(text) > 1 and text[0] in "\"'" and text[-1] == text[0]
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if quoted else text
