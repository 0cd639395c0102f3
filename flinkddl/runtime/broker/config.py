"""What a development broker's server.properties says, listener by listener, and the keys and users behind it."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.machine.java import keytool
from flinkddl.spark.kerberos import MODULE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

Protocol = Literal["SASL_PLAINTEXT", "SSL", "SASL_SSL"]
Mechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "GSSAPI"]
_LOGIN = "org.apache.kafka.common.security"


@dataclass(frozen=True)
class Listener:
    """A further listener of the broker: its name (upper case), protocol, and for SASL the mechanism and its users.

    With GSSAPI the only "user" is the broker's own principal, with the path of its keytab.
    """

    name: str
    protocol: Protocol
    mechanism: Mechanism = "PLAIN"
    users: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    client_auth: bool = False

    @property
    def sasl(self) -> bool:
        """Whether clients log in by SASL."""
        return self.protocol.startswith("SASL")

    @property
    def tls(self) -> bool:
        """Whether the wire is encrypted."""
        return self.protocol.endswith("SSL")


def secure_listener() -> Listener:
    """Return the listener of ``flinkddl broker start --security``: TLS, and a user with a password made now."""
    return Listener("SECURE", "SASL_SSL", "SCRAM-SHA-512", (("flink", secrets.token_hex(12)),))


@dataclass(frozen=True)
class Security:
    """Where the self-signed key material of a broker lies: PKCS12 stores with one password, and the certificate."""

    keystore: Path
    truststore: Path
    certificate: Path
    password: str = field(repr=False)

    @staticmethod
    def make(folder: Path, listeners: tuple[Listener, ...]) -> Security | None:
        """Create a key for ``localhost`` with the JDK's keytool when a listener needs one. Raises FD804."""
        if not any(x.tls for x in listeners):
            return None
        made = Security(folder / "key.p12", folder / "trust.p12", folder / "ca.pem", secrets.token_hex(12))
        name = ("-alias", "broker", "-storetype", "PKCS12")
        pair = ("-genkeypair", "-keyalg", "RSA", "-validity", "30", "-dname", "CN=localhost")
        names = ("-ext", "SAN=dns:localhost,ip:127.0.0.1")
        made._keytool(*pair, *names, *name, "-keystore", str(made.keystore))
        made._keytool("-exportcert", "-rfc", *name, "-keystore", str(made.keystore), "-file", str(made.certificate))
        trust = ("-importcert", "-noprompt", *name, "-file", str(made.certificate))
        made._keytool(*trust, "-keystore", str(made.truststore))
        return made

    def _keytool(self, *arguments: str) -> None:
        done = keytool(*arguments, password=self.password)
        if done.returncode:
            raise FlinkDdlError.of("FD804", f"keytool could not make the broker's key: {done.stdout.strip()}")


def server_properties(
    data: Path, ports: Mapping[str, int], listeners: tuple[Listener, ...], security: Security | None
) -> dict[str, str]:
    """Return the properties of a single-node KRaft broker; ``ports`` names PLAIN, CONTROLLER and each listener."""
    protocols = {"PLAIN": "PLAINTEXT", "CONTROLLER": "PLAINTEXT", **{x.name: x.protocol for x in listeners}}
    addresses = {name: f"{name}://127.0.0.1:{port}" for name, port in ports.items()}
    base = {
        "process.roles": "broker,controller",
        "log.retention.ms": "-1",  # test records carry old timestamps, and retention goes by them
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{ports['CONTROLLER']}",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAIN",
        "listeners": ",".join(addresses.values()),
        "advertised.listeners": ",".join(a for name, a in addresses.items() if name != "CONTROLLER"),
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in protocols.items()),
        "log.dirs": str(data),
        **_SINGLE_NODE,
    }
    for listener in listeners:
        base |= _listener_properties(listener, security)
    return base


_SINGLE_NODE = {
    "num.partitions": "1",
    "auto.create.topics.enable": "true",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
    "num.network.threads": "2",
    "num.io.threads": "4",
    "log.cleaner.dedupe.buffer.size": "16777216",
}


def _listener_properties(listener: Listener, security: Security | None) -> dict[str, str]:
    prefix = f"listener.name.{listener.name.lower()}"
    lines: dict[str, str] = {}
    if listener.sasl:
        login = f"{prefix}.{listener.mechanism.lower()}.sasl.jaas.config"
        lines |= {f"{prefix}.sasl.enabled.mechanisms": listener.mechanism, login: _jaas(listener)}
    if listener.tls and security is not None:
        lines |= {
            f"{prefix}.ssl.keystore.location": str(security.keystore),
            f"{prefix}.ssl.keystore.type": "PKCS12",
            f"{prefix}.ssl.keystore.password": security.password,
            f"{prefix}.ssl.key.password": security.password,
            f"{prefix}.ssl.truststore.location": str(security.truststore),
            f"{prefix}.ssl.truststore.type": "PKCS12",
            f"{prefix}.ssl.truststore.password": security.password,
            f"{prefix}.ssl.client.auth": "required" if listener.client_auth else "none",
        }
    return lines


def _jaas(listener: Listener) -> str:
    if listener.mechanism == "GSSAPI":
        ((principal, keytab),) = listener.users
        entry = f'useKeyTab=true storeKey=true keyTab="{keytab}" principal="{principal}"'
        return f'{MODULE} required {entry} serviceName="{principal.split("/")[0]}";'
    if listener.mechanism != "PLAIN":
        return f"{_LOGIN}.scram.ScramLoginModule required;"
    users = " ".join(f'user_{name}="{password}"' for name, password in listener.users)
    return f"{_LOGIN}.plain.PlainLoginModule required {users};"


def storage_arguments(listeners: tuple[Listener, ...]) -> list[str]:
    """Return the arguments that make the SCRAM users when the storage is formatted."""
    return [
        argument
        for listener in listeners
        if listener.sasl and listener.mechanism.startswith("SCRAM")
        for name, password in listener.users
        for argument in ("--add-scram", f"{listener.mechanism}=[name={name},password={password}]")
    ]
