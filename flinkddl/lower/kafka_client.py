"""Kafka client settings of a table, as Spark's source and sink take them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flinkddl.options import ResolvedOptions


def client_options(options: ResolvedOptions, config: Mapping[str, str]) -> dict[str, str]:
    """Return ``kafka.*`` options: the servers, the properties that are passed on, the session's Kerberos login."""
    servers = str(options["properties.bootstrap.servers"])
    properties = {**kerberos(options.properties, config), **options.properties}
    return {"kafka.bootstrap.servers": servers} | {f"kafka.{k}": v for k, v in properties.items()}


def kerberos(properties: Mapping[str, str], config: Mapping[str, str]) -> dict[str, str]:
    """Return the JAAS entry that ``security.kerberos.*`` of the session means for a client that logs in by GSSAPI.

    As in Flink: for clients named in ``login.contexts`` (``KafkaClient``), by keytab and principal, else from the
    ticket cache unless that is switched off. A login that the table itself gives is left alone.
    """
    contexts = [c.strip() for c in config.get("security.kerberos.login.contexts", "").split(",")]
    wanted = properties.get("security.protocol", "").upper().startswith("SASL")
    wanted = wanted and properties.get("sasl.mechanism", "GSSAPI") == "GSSAPI" and "sasl.jaas.config" not in properties
    if not wanted or "KafkaClient" not in contexts:
        return {}
    keytab, principal = (config.get(f"security.kerberos.login.{name}", "") for name in ("keytab", "principal"))
    if keytab and principal:
        known = {"useKeyTab": "true", "keyTab": keytab, "principal": principal, "storeKey": "true"}
    elif config.get("security.kerberos.login.use-ticket-cache", "true").lower() == "true":
        known = {"useTicketCache": "true", "renewTGT": "true"} | ({"principal": principal} if principal else {})
    else:
        return {}
    entry = " ".join(f'{k}="{_escaped(v)}"' for k, v in {**known, "doNotPrompt": "true"}.items())
    return {"sasl.jaas.config": f"com.sun.security.auth.module.Krb5LoginModule required {entry};"}


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')


def written_property(options: ResolvedOptions, name: str) -> str | None:
    """Return a ``properties.*`` option as it stands in the table, or None."""
    text = options.texts.get(f"properties.{name}")
    return text.value if text is not None else None
