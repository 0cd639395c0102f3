"""Key and trust stores of every type, wherever a client of a cluster with mutual TLS is needed."""

from __future__ import annotations

import json
import os
import subprocess
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from flinkddl.api import Catalog
from flinkddl.cli.main import main
from flinkddl.diagnostics import FlinkDdlError, SourceText
from flinkddl.runtime.broker.config import Listener
from flinkddl.runtime.broker.server import Broker, BrokerOptions
from flinkddl.runtime.job.topics.handover import From, take_over
from flinkddl.runtime.kafka import stores
from flinkddl.runtime.kafka.admin import KafkaAdmin
from flinkddl.runtime.kafka.offsets import branches, spark_options
from flinkddl.runtime.machine.java import find_java
from flinkddl.script.compile import Start, compile_script
from flinkddl.spark import job as J
from tests.runtime.jobs import produce

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.kafka

KEY_PASSWORD = "of the key ü"
STORE_PASSWORD = "of the store"


def keytool(*arguments: str, **passwords: str) -> None:
    tool = Path(find_java()).with_name("keytool")
    given = [part for name in passwords for part in (f"-{name}:env", name)]
    subprocess.run([tool, *arguments, *given], env=os.environ | passwords, check=True, capture_output=True)


def openssl(*arguments: str, **environment: str) -> str:
    done = subprocess.run(
        ["openssl", *arguments], env=os.environ | environment, check=True, capture_output=True, text=True
    )
    return done.stdout


class Material:
    """One key that the broker trusts, and the broker's certificate, in stores of each type."""

    def __init__(self, broker: Broker, folder: Path) -> None:
        assert broker.security is not None
        self.made, self.folder = broker.security, folder
        source, own = str(self.made.keystore), self.made.password
        into = ("-importkeystore", "-srckeystore", source, "-srcalias", "broker")
        for name, kind, password in (("own.jks", "JKS", KEY_PASSWORD), ("same.jks", "JKS", STORE_PASSWORD)):
            passwords = {"srcstorepass": own, "deststorepass": STORE_PASSWORD, "destkeypass": password}
            keytool(*into, "-destkeystore", str(folder / name), "-deststoretype", kind, **passwords)
        trust = ("-importcert", "-noprompt", "-file", str(self.made.certificate), "-alias", "ca", "-storetype", "JKS")
        keytool(*trust, "-keystore", str(folder / "trust.jks"), storepass=STORE_PASSWORD)
        plain = openssl("pkcs12", "-in", source, "-nodes", "-nocerts", "-passin", "env:P", P=own)
        self.key = plain[plain.index("-----BEGIN") :]
        self.chain = self.made.certificate.read_text()
        (folder / "plain.pem").write_text(self.key)
        locked = openssl("pkcs8", "-topk8", "-in", str(folder / "plain.pem"), "-passout", "env:P", P=KEY_PASSWORD)
        self.locked = locked
        (folder / "plain.pem").write_text(self.key + self.chain)
        (folder / "locked.pem").write_text(locked + self.chain)

    def trust(self, name: str) -> dict[str, str]:
        store = str(self.folder / "trust.jks")
        pkcs12 = {"location": str(self.made.truststore), "password": self.made.password}
        table = {
            "pem": {"type": "PEM", "location": str(self.made.certificate)},
            "inline": {"type": "PEM", "certificates": self.chain},
            "jks": {"type": "JKS", "location": store, "password": STORE_PASSWORD},
            "jks-without-password": {"location": store},
            "pkcs12": {"type": "PKCS12", **pkcs12},
            "pkcs12-as-jks": pkcs12,
        }
        return {f"ssl.truststore.{k}": v for k, v in table[name].items()}

    def own(self, name: str) -> dict[str, str]:
        pkcs12 = {"keystore.location": str(self.made.keystore), "keystore.password": self.made.password}
        jks = {"keystore.password": STORE_PASSWORD}
        pem = {"keystore.type": "PEM"}
        secret = {"key.password": KEY_PASSWORD}
        table = {
            "pem": {**pem, "keystore.location": str(self.folder / "plain.pem")},
            "pem-locked": {**pem, **secret, "keystore.location": str(self.folder / "locked.pem")},
            "inline": {**pem, **secret, "keystore.key": self.locked, "keystore.certificate.chain": self.chain},
            "jks": {**jks, "keystore.type": "JKS", "keystore.location": str(self.folder / "same.jks")},
            "jks-key-password": {**jks, **secret, "keystore.location": str(self.folder / "own.jks")},
            "pkcs12": {**pkcs12, "keystore.type": "PKCS12"},
            "pkcs12-key-password": {**pkcs12, "keystore.type": "pkcs12", "key.password": self.made.password},
        }
        return {f"ssl.{k}": v for k, v in table[name].items()}


TRUSTS = ("pem", "inline", "jks", "jks-without-password", "pkcs12", "pkcs12-as-jks")
KEYS = ("pem", "pem-locked", "inline", "jks", "jks-key-password", "pkcs12", "pkcs12-key-password")
PAIRS = [*((t, "pem") for t in TRUSTS), *(("pem", k) for k in KEYS[1:]), ("jks", "jks-key-password"), ("pkcs12",) * 2]
MODES = {
    "group-offsets": {},
    "earliest-offset": {},
    "latest-offset": {},
    "timestamp": {"scan.startup.timestamp-millis": "0"},
    "specific-offsets": {"scan.startup.specific-offsets": "partition:0,offset:1"},
}


@pytest.fixture(scope="module")
def secured() -> Iterator[Broker]:
    listeners = (Listener("MUTUAL", "SSL", client_auth=True),)
    with Broker(BrokerOptions(heap="300m", listeners=listeners)) as broker:
        yield broker


@pytest.fixture(scope="module")
def material(secured: Broker, tmp_path_factory: pytest.TempPathFactory) -> Material:
    return Material(secured, tmp_path_factory.mktemp("stores"))


@pytest.fixture(scope="module")
def topic(secured: Broker) -> str:
    """Two partitions with records; the group ``done`` has committed after the first of partition 0."""
    name = f"stores-{uuid.uuid4().hex[:8]}"
    with KafkaAdmin({"bootstrap.servers": secured.bootstrap}) as admin:
        admin.create_topic(name, 2)
        produce(secured.bootstrap, name, [{"a": 1}, {"a": 2}, {"a": 3}])
        admin.commit("done", {name: {0: 1, 1: 0}})
    return name


def client(secured: Broker, material: Material, trust: str, key: str) -> dict[str, str]:
    return {
        "bootstrap.servers": secured.address("MUTUAL"),
        "security.protocol": "SSL",
        **material.trust(trust),
        **material.own(key),
    }


def script(topic: str, given: dict[str, str], mode: str, group: str = "done") -> str:
    options = {"connector": "kafka", "topic": topic, "format": "json", "scan.startup.mode": mode} | MODES[mode]
    options |= {f"properties.{k}": v for k, v in given.items()} | {"properties.group.id": group}
    listed = ", ".join(f"'{k}' = '{v}'" for k, v in options.items())
    columns = "a INT, ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp', WATERMARK FOR ts AS ts"
    return f"CREATE TABLE t ({columns}) WITH ({listed});\nSELECT a FROM t;\n"


def start_of(text: str) -> Start:
    return next(a for a in compile_script(SourceText("job.sql", text)).actions if isinstance(a, Start))


@pytest.mark.parametrize(("trust", "key"), PAIRS)
def test_every_path_of_the_control_plane(
    secured: Broker, material: Material, topic: str, trust: str, key: str, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    given = client(secured, material, trust, key)
    starts = {}
    for mode in MODES:
        start = start_of(script(topic, given, mode))
        (read,) = (s for s in start.job.steps if isinstance(s, J.Read) and s.format == "kafka")
        starts[mode] = spark_options(read.options, read.start, read.stop, streaming=True)["startingOffsets"]
        assert len(branches(read.options, read.start, read.stop)) == 2, "a branch for each partition's watermark"
    assert json.loads(starts["group-offsets"]) == {topic: {"0": 1, "1": 0}}
    assert json.loads(starts["specific-offsets"]) == {topic: {"0": 1, "1": 0}}
    assert json.loads(starts["timestamp"]) == {topic: {"0": 0, "1": 0}}
    _, taken = take_over(start_of(script(topic, given, "earliest-offset")), From({"": "done"}))
    assert sum(t.offset for t in taken) == 1
    assert sum(t.end for t in taken) == 3
    file = tmp_path / "job.sql"
    file.write_text(script(topic, given, "group-offsets"), encoding="utf-8")
    main(["doctor", str(file), "--no-spark"])
    printed = capsys.readouterr().out
    assert f"ok    kafka       {given['bootstrap.servers']} answers" in printed
    assert "fail  kafka" not in printed


@pytest.mark.spark
@pytest.mark.parametrize(("trust", "key"), [("jks", "jks-key-password"), ("pkcs12", "pkcs12")])
def test_a_job_starts_at_its_group_and_knows_its_lag(
    spark: SparkSession, secured: Broker, material: Material, topic: str, trust: str, key: str
) -> None:
    table, _ = script(topic, client(secured, material, trust, key), "group-offsets").split("\n", 1)
    sink = "CREATE TABLE s (a INT) WITH ('connector' = 'blackhole');\n"
    catalog = Catalog(spark)
    job = catalog.start(start_of(f"{table}\n{sink}INSERT INTO s SELECT a FROM t;\n"), notice=lambda _: None)
    try:
        assert job.await_input(120)
        assert job.lag == {topic: 0}
        described = catalog.execute(f"DESCRIBE JOB '{job.id}'")
        assert dict(zip(described.columns, *described.rows, strict=True))["records behind"] == f"{topic} 0"
    finally:
        job.stop()


WRONG = {
    "trust-password": ("jks", "pem", {"ssl.truststore.password": "wrong"}, "trust store .*password was incorrect"),
    "no-store": (
        "jks",
        "pem",
        {"ssl.truststore.location": __file__},
        "test_stores.py' cannot be read: Invalid keystore",
    ),
    "unknown-type": ("jks", "pem", {"ssl.truststore.type": "JCKSS"}, "trust store .*JCKSS not found"),
    "no-file": ("jks", "pem", {"ssl.truststore.location": "/no/such"}, "'/no/such' cannot be read: No such file"),
    "key-store-password": ("pem", "jks", {"ssl.keystore.password": "wrong"}, "key store .*password was incorrect"),
    "key-password": ("pem", "jks-key-password", {"ssl.key.password": "wrong"}, "key store .*cannot be read"),
    "pem-key-password": ("pem", "pem-locked", {"ssl.key.password": "wrong"}, "ssl.key.password' does not open its key"),
    "no-key": ("pem", "jks", {}, "holds no private key"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_store_that_does_not_open_says_why(secured: Broker, material: Material, case: str) -> None:
    trust, key, change, words = WRONG[case]
    given = client(secured, material, trust, key) | change
    if case == "no-key":
        given["ssl.keystore.location"] = str(material.folder / "trust.jks")
    with pytest.raises(FlinkDdlError, match=f"FD813: .*{words}") as failure:
        KafkaAdmin(given)
    assert all(secret not in str(failure.value) for secret in (STORE_PASSWORD, KEY_PASSWORD))


def test_an_encrypted_key_without_password_asks_nobody(secured: Broker, material: Material) -> None:
    given = client(secured, material, "pem", "pem-locked")
    del given["ssl.key.password"]
    with pytest.raises(FlinkDdlError, match="FD813"):
        KafkaAdmin(given)


@pytest.mark.parametrize("memory", [True, False], ids=["in-memory", "in-a-file"])
def test_a_key_lies_nowhere_afterwards(
    material: Material, memory: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    if not memory:
        monkeypatch.delattr(os, "memfd_create")
    with stores._private_file("secret") as file:
        assert Path(file).read_text() == "secret"
        names = list(tmp_path.rglob("*"))
        assert [oct(n.stat().st_mode & 0o777) for n in names] == ([] if memory else ["0o700", "0o600"])
    assert list(tmp_path.rglob("*")) == []


def test_a_changed_store_is_read_anew(secured: Broker, material: Material, tmp_path: Path) -> None:
    store = tmp_path / "trust.pem"
    store.write_text(material.chain)
    given = client(secured, material, "pem", "pem") | {"ssl.truststore.location": str(store)}
    assert stores.tls_context(given) is stores.tls_context(dict(given))
    store.write_text("nothing\n")
    with pytest.raises(FlinkDdlError, match="shows no certificate"):
        stores.tls_context(given)
