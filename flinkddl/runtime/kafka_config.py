"""Kafka client properties as Flink tables write them (Java names), turned into kafka-python's configuration."""

from __future__ import annotations

import re
import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.java import keytool

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

    Understood: servers, protocol, SASL PLAIN and SCRAM through ``sasl.jaas.config``, TLS with PEM, PKCS12 or JKS trust
    stores and PEM key stores. Raises FD813 for a key store that Python cannot open, and for GSSAPI.
    """
    if properties.get("security.protocol", "").upper().startswith("SASL") and _mechanism(properties) == "GSSAPI":
        raise FlinkDdlError.of(
            "FD813",
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
        config["ssl_context"] = _tls(properties)
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


def _tls(properties: Mapping[str, str]) -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = properties.get("ssl.endpoint.identification.algorithm", "https") != ""
    trusted = _certificates(properties)
    if trusted:
        context.load_verify_locations(cadata=trusted)
    _client_key(context, properties)
    return context


def _certificates(properties: Mapping[str, str]) -> str | None:
    """Return the trusted certificates as PEM text: inline, from a PEM file, or out of a Java store by keytool."""
    if inline := properties.get("ssl.truststore.certificates"):
        return inline
    location = properties.get("ssl.truststore.location")
    if location is None:
        return None
    if properties.get("ssl.truststore.type", "JKS").upper() == "PEM":
        return Path(location).read_text(encoding="utf-8")
    done = keytool("-list", "-rfc", "-keystore", location, password=properties.get("ssl.truststore.password"))
    found = re.findall(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", done.stdout, re.DOTALL)
    if not found:
        raise FlinkDdlError.of(
            "FD813",
            f"no certificate could be read from the trust store '{location}'",
            help="check 'properties.ssl.truststore.location', '.type' and '.password'",
        )
    return "\n".join(found)


def _client_key(context: ssl.SSLContext, properties: Mapping[str, str]) -> None:
    location = properties.get("ssl.keystore.location")
    if location is None:
        return
    if properties.get("ssl.keystore.type", "JKS").upper() != "PEM":
        raise FlinkDdlError.of(
            "FD813",
            f"the client key in '{location}' is in a Java key store, which only Java can open",
            help="convert it to PEM and set 'properties.ssl.keystore.type' = 'PEM'",
        )
    context.load_cert_chain(location, password=properties.get("ssl.key.password"))
