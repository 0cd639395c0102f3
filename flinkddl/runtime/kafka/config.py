"""Kafka client properties as Flink tables write them (Java names), turned into kafka-python's configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flinkddl.runtime.kafka.kerberos import jaas_fields, sasl_config
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


def python_client_config(properties: Mapping[str, str]) -> dict[str, Any]:
    """Return keyword arguments for a kafka-python client that logs in as the Java client would.

    Understood: servers, protocol, SASL PLAIN and SCRAM through ``sasl.jaas.config``, TLS with key and trust
    stores of every kind that Java reads, GSSAPI. Raises FD813 for a store that cannot be read, FD850 and FD851 for a
    Kerberos login that cannot be made.
    """
    config: dict[str, Any] = {ours: properties[java] for java, ours in _DIRECT.items() if properties.get(java)}
    config |= {name: config[name].upper() for name in ("security_protocol", "sasl_mechanism") if name in config}
    if "bootstrap_servers" in config:
        config["bootstrap_servers"] = [s.strip() for s in config["bootstrap_servers"].split(",") if s.strip()]
    if uses_gssapi(properties):
        config |= sasl_config(properties)
    else:
        known = jaas_fields(properties.get("sasl.jaas.config", ""))
        config |= {f"sasl_plain_{name}": known[name] for name in ("username", "password") if name in known}
    if config.get("security_protocol", "").endswith("SSL"):
        config["ssl_context"] = tls_context(properties)
        config["ssl_check_hostname"] = config["ssl_context"].check_hostname
    return config
