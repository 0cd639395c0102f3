"""Jobs against a broker with security on, each protocol and mechanism; and where secrets must not be seen."""

from __future__ import annotations

import subprocess
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.api import Catalog
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.broker.config import Listener
from flinkddl.runtime.broker.server import Broker, BrokerOptions
from flinkddl.runtime.machine.cache import log_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.kafka

USERS = (("alice", "wonder-land-9"),)
LISTENERS = {
    "plain": Listener("LOGIN", "SASL_PLAINTEXT", "PLAIN", USERS),
    "scram-256": Listener("SMALL", "SASL_PLAINTEXT", "SCRAM-SHA-256", USERS),
    "scram-512": Listener("LARGE", "SASL_PLAINTEXT", "SCRAM-SHA-512", USERS),
    "tls": Listener("TLS", "SSL"),
    "mutual-tls": Listener("MUTUAL", "SSL", client_auth=True),
    "plain-over-tls": Listener("BOTH", "SASL_SSL", "PLAIN", USERS),
    "scram-over-tls": Listener("SAFE", "SASL_SSL", "SCRAM-SHA-512", USERS),
}
SECRET = USERS[0][1]
EACH_TIME = ("scram-over-tls", "mutual-tls")  # the others are nightly


def tiers(names: Iterable[str]) -> list[Any]:
    return [pytest.param(n, marks=[] if n in EACH_TIME else [pytest.mark.slow]) for n in names]


@pytest.fixture(scope="module")
def secured() -> Iterator[Broker]:
    with Broker(BrokerOptions(heap="400m", listeners=tuple(LISTENERS.values()))) as broker:
        yield broker


def properties(broker: Broker, name: str, folder: Path, password: str = SECRET) -> dict[str, str]:
    """Return the options as people write them for Flink: its shaded class names, quotes escaped."""
    listener = LISTENERS[name]
    out = {"bootstrap.servers": broker.address(listener.name), "security.protocol": listener.protocol}
    if listener.sasl:
        kind = "plain.Plain" if listener.mechanism == "PLAIN" else "scram.Scram"
        module = f"org.apache.flink.kafka.shaded.org.apache.kafka.common.security.{kind}LoginModule"
        out["sasl.mechanism"] = listener.mechanism
        out["sasl.jaas.config"] = f'{module} required username=\\"alice\\" password=\\"{password}\\";'
    if listener.tls:
        assert broker.security is not None
        out["ssl.truststore.location"] = str(broker.security.truststore)
        out["ssl.truststore.type"] = "PKCS12"
        out["ssl.truststore.password"] = broker.security.password
    if listener.client_auth:
        out["ssl.keystore.location"] = str(client_key(broker, folder))
        out["ssl.keystore.type"] = "PEM"
    return out


def client_key(broker: Broker, folder: Path) -> Path:
    """Return a key that the broker trusts, its own, as PEM: key first, then certificate."""
    assert broker.security is not None
    pem = folder / "client.pem"
    command = ["openssl", "pkcs12", "-in", str(broker.security.keystore), "-nodes", "-passin"]
    done = subprocess.run([*command, f"pass:{broker.security.password}"], capture_output=True, text=True, check=True)
    parts = [p.split("-----END")[0] for p in done.stdout.split("-----BEGIN ")[1:]]
    texts = sorted(("-----BEGIN " + p + f"-----END {p.split('-----')[0]}-----\n" for p in parts), reverse=True)
    pem.write_text("".join(texts), encoding="utf-8")
    return pem


def declare(name: str, topic: str, given: dict[str, str]) -> str:
    options = {"connector": "kafka", "topic": topic, "format": "json", "scan.startup.mode": "earliest-offset"}
    options |= {"scan.bounded.mode": "latest-offset"} | {f"properties.{k}": v for k, v in given.items()}
    listed = ", ".join(f"'{k}' = '{v}'" for k, v in options.items())
    return f"CREATE TABLE {name} (a INT, b STRING) WITH ({listed})"


@pytest.mark.parametrize("name", tiers(LISTENERS))
def test_a_job_writes_and_reads(spark: Any, secured: Broker, tmp_path: Path, name: str) -> None:
    catalog = Catalog(spark)
    catalog.execute(declare("t", f"s-{uuid.uuid4().hex[:8]}", properties(secured, name, tmp_path)))
    assert catalog.execute("INSERT INTO t VALUES (1, 'x'), (2, 'y')").await_termination(120)
    assert sorted(tuple(r) for r in catalog.execute("SELECT * FROM t").collect()) == [(1, "x"), (2, "y")]


@pytest.mark.parametrize("name", tiers(["plain", "scram-over-tls"]))
def test_secrets_are_seen_nowhere(spark: Any, secured: Broker, tmp_path: Path, name: str) -> None:
    catalog = Catalog(spark)
    given = properties(secured, name, tmp_path)
    secrets = [SECRET] + [v for k, v in given.items() if k.endswith("password")]
    script = declare("t", f"s-{uuid.uuid4().hex[:8]}", given)
    insert = f"{script};\nINSERT INTO t VALUES (1, 'x')"
    catalog.execute(script)
    shown = [catalog.execute(s).rows for s in ("SHOW CREATE TABLE t", "EXPLAIN INSERT INTO t SELECT * FROM t")]
    texts = [str(shown), Catalog(spark).compile(insert), Catalog(spark).explain(insert)]
    wrong = properties(secured, name, tmp_path, password="no-" + SECRET)
    catalog.execute(declare("u", f"s-{uuid.uuid4().hex[:8]}", wrong))
    with pytest.raises(FlinkDdlError) as failure:
        catalog.execute("INSERT INTO u VALUES (1, 'x')").await_termination(120)
    texts += [str(failure.value), repr(failure.value), str(failure.value.__cause__)]
    log = log_file()
    texts += [log.read_text(encoding="utf-8", errors="replace")] if log is not None else []
    for text in texts:
        assert [s for s in secrets if s in text] == []
