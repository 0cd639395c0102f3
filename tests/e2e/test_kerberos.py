"""Kerberos against a real KDC and a real broker: login by keytab and ticket cache, in all that asks the cluster.

The KDC is Debian's, unpacked for the run where it is not installed (tests/support/kdc.py).
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.api import Catalog
from flinkddl.cli.main import main
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.broker.config import Listener
from flinkddl.runtime.broker.server import Broker, BrokerOptions
from flinkddl.runtime.kafka.admin import KafkaAdmin
from samples.topics import read_topic
from tests.support.kdc import REALM, Kdc, NotHere, environment, gssapi_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.kafka

SERVICE = "hadoop"  # as on the document's page
HOST = socket.getnameinfo(("127.0.0.1", 0), 0)[0]  # Kafka's clients ask for the name of an address
MODULE = "com.sun.security.auth.module.Krb5LoginModule required"
SEED = Path(__file__).parents[1] / "cases" / "seeds" / "oceanus_4_kerberos.sql"


class Site:
    """A realm with a broker in it and a user ``flink``, who has a keytab and a ticket cache."""

    def __init__(self, kdc: Kdc, broker: Broker, keytab: Path) -> None:
        self.kdc, self.broker, self.keytab = kdc, broker, keytab
        self.cache = kdc.folder / "cache"

    def properties(self, login: str | None = None, service: str = SERVICE) -> dict[str, str]:
        entry = login or f'useKeyTab=true keyTab="{self.keytab}" principal="flink@{REALM}"'
        return {
            "bootstrap.servers": self.broker.address("KERBEROS"),
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "GSSAPI",
            "sasl.kerberos.service.name": service,
            "sasl.jaas.config": f"{MODULE} {entry} refreshKrb5Config=true;",
        }

    def by_cache(self) -> str:
        return f'useTicketCache=true ticketCache="{self.cache}"'


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("kerberos")
    try:
        path = gssapi_path(folder)
        kdc = Kdc(folder / "kdc")
    except NotHere as error:
        pytest.skip(f"no KDC for this test: {error}")
    if path is not None:
        sys.path.append(path)
    try:
        own = kdc.keytab(f"{SERVICE}/{HOST}")
        listener = Listener("KERBEROS", "SASL_PLAINTEXT", "GSSAPI", ((f"{SERVICE}/{HOST}@{REALM}", str(own)),))
        java = f"-Djava.security.krb5.conf={kdc.conf}"
        with environment(KRB5_CONFIG=str(kdc.conf)):
            with environment(JDK_JAVA_OPTIONS=java):
                broker = Broker(BrokerOptions(heap="400m", listeners=(listener,))).start()
            try:
                made = Site(kdc, broker, kdc.keytab("flink"))
                _fill(made)
                yield made
            finally:
                broker.stop()
    finally:
        kdc.stop()
        if path is not None:
            sys.path.remove(path)


def _fill(site: Site) -> None:
    """What kinit does: a ticket of the user into a cache."""
    import gssapi

    name = gssapi.Name("flink", gssapi.NameType.kerberos_principal)
    store = {"client_keytab": str(site.keytab), "ccache": f"FILE:{site.cache}"}
    assert gssapi.Credentials(name=name, usage="initiate", store=store).lifetime > 0


# ---- Python's clients ------------------------------------------------------------------------------------------------


def test_a_client_logs_in_by_keytab_and_by_ticket_cache(site: Site) -> None:
    for login in (None, site.by_cache()):
        with KafkaAdmin(site.properties(login)) as admin:
            name = f"k-{uuid.uuid4().hex[:8]}"
            admin.create_topic(name, 2)
            assert admin.end_offsets([name]) == {name: {0: 0, 1: 0}}
    with environment(KRB5CCNAME=f"FILE:{site.cache}"), KafkaAdmin(site.properties("useTicketCache=true")) as admin:
        assert name in admin.topics()


FAILURES: list[tuple[str, Callable[[Site], dict[str, str]], str]] = [
    (
        "no-keytab",
        lambda s: s.properties('useKeyTab=true keyTab="/no.keytab" principal=flink'),
        r"the keytab '/no\.keytab' cannot be read: No such file",
    ),
    (
        "another-principal",
        lambda s: s.properties(f'useKeyTab=true keyTab="{s.keytab}" principal=other'),
        f"does not hold 'other': No key table entry found for other@{REALM}",
    ),
    (
        "unknown-to-the-kdc",
        lambda s: s.properties(f'useKeyTab=true keyTab="{_stale(s)}" principal=gone'),
        r"the KDC gives no ticket for 'gone'",
    ),
    ("no-ticket", lambda s: s.properties('useTicketCache=true ticketCache="/no/cache"'), "there is no ticket"),
    ("another-service", lambda s: s.properties(service="kafka"), f"kafka/{HOST}: .*not found in Kerberos"),
]


def _stale(site: Site) -> Path:
    keytab = site.kdc.keytab("gone")
    site.kdc._run("kadmin.local", "-q", "delprinc -force gone")
    return keytab


@pytest.mark.parametrize(("properties", "message"), [f[1:] for f in FAILURES], ids=[f[0] for f in FAILURES])
def test_a_login_that_fails_says_of_what(site: Site, properties: Callable[[Site], Any], message: str) -> None:
    with pytest.raises(FlinkDdlError, match=f"FD851: .*{message}"):
        KafkaAdmin(properties(site))


# ---- jobs ------------------------------------------------------------------------------------------------------------


def table(name: str, topic: str, properties: dict[str, str], **more: str) -> str:
    options = {"connector": "kafka", "topic": topic, "format": "json", "scan.startup.mode": "earliest-offset"}
    options |= {f"properties.{k}": v for k, v in properties.items()} | more
    listed = ", ".join(f"'{k}' = '{v}'" for k, v in options.items())
    columns = "a INT, ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp', WATERMARK FOR ts AS ts"
    return f"CREATE TABLE {name} ({columns}) WITH ({listed})"


@pytest.fixture(scope="module")
def catalog(spark: Any, site: Site) -> Catalog:
    """Tables over one topic of two partitions with the rows 1 and 2, and a JVM that knows the realm.

    The session of the tests runs already: its JVM is told by its own function; what ``flinkddl run`` does is below.
    """
    call = f"reflect('java.lang.System', 'setProperty', 'java.security.krb5.conf', '{site.kdc.conf}')"
    spark.sql(f"SELECT {call}").collect()
    catalog = Catalog(spark, notice=lambda _: None)
    topic = f"k-{uuid.uuid4().hex[:8]}"
    with KafkaAdmin(site.properties()) as admin:
        admin.create_topic(topic, 2)
    catalog.execute(table("t", topic, site.properties()))
    assert catalog.execute(
        "INSERT INTO t VALUES (1, TO_TIMESTAMP_LTZ(1000, 3)), (2, TO_TIMESTAMP_LTZ(2000, 3))"
    ).await_termination(120)
    return catalog


END = "'scan.bounded.mode' = 'latest-offset'"
MODES = {
    "earliest-offset": ("", [1, 2]),
    "latest-offset": ("", []),
    "timestamp": ("'scan.startup.timestamp-millis' = '1500', ", [2]),
    "group-offsets": ("'properties.group.id' = 'g', 'properties.auto.offset.reset' = 'earliest', ", [1, 2]),
    "specific-offsets": ("'scan.startup.specific-offsets' = 'partition:0,offset:0;partition:1,offset:0', ", [1, 2]),
}


@pytest.mark.parametrize("mode", MODES)
def test_every_start_mode(catalog: Catalog, mode: str) -> None:
    more, rows = MODES[mode]
    options = f"/*+ OPTIONS('scan.startup.mode' = '{mode}', {more}{END}) */"
    assert sorted(a for (a,) in catalog.execute(f"SELECT a FROM t {options}").collect()) == rows


def test_a_stream_with_watermarks_of_its_partitions_commits_and_tells_its_lag(catalog: Catalog, site: Site) -> None:
    """By ticket cache, into an exactly-once sink; the view of the table reads what was written."""
    out = f"k-{uuid.uuid4().hex[:8]}"
    with KafkaAdmin(site.properties()) as admin:
        admin.create_topic(out)
    once = {"sink.delivery-guarantee": "exactly-once", "sink.transactional-id-prefix": out}
    catalog.execute(table("o", out, site.properties(site.by_cache()), **once))
    group = f"/*+ OPTIONS('properties.group.id' = '{out}') */"
    job = catalog.execute(f"INSERT INTO o SELECT a, ts FROM t {group}").job
    assert job is not None
    assert job.await_input(120)
    assert list(job.lag.values()) == [0]
    job.stop()
    with KafkaAdmin(site.properties(site.by_cache())) as admin:
        (topic,) = job.lag
        assert sum(admin.committed(out, [topic])[topic].values()) == 2
    assert sorted(a for (a,) in catalog.table("o", "batch").select("a").collect()) == [1, 2]
    catalog.execute(table("b", topic, site.properties(), **{"scan.bounded.mode": "latest-offset"}))
    window = "SELECT window_start, COUNT(*) FROM TUMBLE(TABLE b, DESCRIPTOR(ts), INTERVAL '1' SECOND)"
    lines: list[str] = []
    catalog.execute("SET 'execution.runtime-mode' = 'streaming'")
    shown = catalog.execute(f"{window} GROUP BY window_start, window_end").changes(lambda r: lines.extend(r.lines()))
    catalog.execute("RESET 'execution.runtime-mode'")
    assert shown.await_termination(120)
    assert sorted(lines) == [f"+I[1970-01-01T00:00:0{n}, 1]" for n in (1, 2)]


def test_doctor_handover_and_verify_ask_with_the_login(
    catalog: Catalog, site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of the session: they see the settings too."""
    script = tmp_path / "job.sql"
    topic = catalog.execute("SHOW CREATE TABLE t").rows[0][0].split("'topic' = '")[1].split("'")[0]
    given = {k: v for k, v in site.properties().items() if k != "sasl.jaas.config"}
    settings = {"contexts": "KafkaClient", "keytab": site.keytab, "principal": f"flink@{REALM}", "conf": site.kdc.conf}
    sets = [f"SET 'security.kerberos.login.{k}' = '{v}'" for k, v in settings.items()]
    tables = [table("s", topic, given), table("u", "nowhere", given)]
    script.write_text(";\n".join([*sets, *tables, "INSERT INTO u SELECT a, ts FROM s;\n"]), encoding="utf-8")
    assert main(["doctor", "--no-spark", str(script)]) == 0
    assert f"{topic}: 2 partitions, about 2 records" in capsys.readouterr().out
    assert main(["handover", "--dry-run", "--from", "0", str(script)]) == 0
    assert topic in capsys.readouterr().out
    assert main(["verify", "--ddl", str(script), "s", "s", "--by", "row"]) == 0


# ---- the document's block --------------------------------------------------------------------------------------------

PARAMETERS = """SET 'security.kerberos.login.principal' = 'hadoop/{host}@{realm}';
SET 'security.kerberos.login.keytab' = '{keytab}';
SET 'security.kerberos.login.conf' = 'krb5.conf';
SET 'security.kerberos.login.contexts' = 'KafkaClient';
SET 'fs.hdfs.hadoop.security.authentication' = 'kerberos';
"""


def test_the_documents_block_runs_as_it_stands(site: Site, tmp_path: Path) -> None:
    """Table and job parameters of the page, files by their bare names: Spark is started with that krb5.conf."""
    (tmp_path / "krb5.conf").write_text(site.kdc.conf.read_text(encoding="utf-8"), encoding="utf-8")
    keytab = tmp_path / "emr.keytab"
    keytab.write_bytes((site.kdc.folder / f"hadoop-{HOST}.keytab").read_bytes())
    text = SEED.read_text(encoding="utf-8").replace("localhost:9092", site.broker.address("KERBEROS"))
    topic = f"k-{uuid.uuid4().hex[:8]}"
    text = PARAMETERS.format(realm=REALM, host=HOST, keytab=keytab.name) + text.replace("'YourTopic'", f"'{topic}'")
    (tmp_path / "job.sql").write_text(f"{text}\nINSERT INTO YourTable VALUES (1, 'a');\n", encoding="utf-8")
    environ = {k: v for k, v in os.environ.items() if k != "KRB5_CONFIG"}
    environ["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
    command = [sys.executable, "-m", "flinkddl", "run", "--quiet", "--master", "local[1]", "job.sql"]
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [json.loads(r.value) for r in read_topic(site.broker.bootstrap, topic)] == [{"id": 1, "name": "a"}]
