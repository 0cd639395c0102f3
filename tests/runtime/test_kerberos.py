"""JAAS entries as Python reads them, and what is said before Spark starts; e2e/test_kerberos.py asks a KDC."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from flinkddl.api import Catalog
from flinkddl.catalog.settings import Settings
from flinkddl.cli.main import main
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.kafka.kerberos import Login, parse
from flinkddl.runtime.kafka.kerberos_start import check_session, joined, take_settings

if TYPE_CHECKING:
    from pathlib import Path

MODULE = "com.sun.security.auth.module.Krb5LoginModule required "
ENTRIES = [
    (
        "keytab",
        MODULE + 'useKeyTab=true storeKey=true keyTab="/k/a b.keytab" principal="flink/h@R";',
        Login("kafka", "/k/a b.keytab", "flink/h@R", None, False),
    ),
    (
        "as-flink-writes-it",
        MODULE + 'useKeyTab="TRUE" keyTab="FILE:/k" principal="p" doNotPrompt="true";',
        Login("kafka", "/k", "p", None, False),
    ),
    ("cache", MODULE + "useTicketCache=true renewTGT=true;", Login("kafka", None, None, None, True)),
    (
        "named-cache",
        MODULE + 'useTicketCache=true ticketCache="/tmp/c" principal=p;',
        Login("kafka", None, "p", "/tmp/c", True),
    ),
    (
        "cache-then-keytab",
        MODULE + "useTicketCache=true useKeyTab=true keyTab=k principal=p;",
        Login("kafka", "k", "p", None, True),
    ),
    ("none", "", Login("kafka")),
]
REFUSED = [
    ("other-module", "com.ibm.security.auth.module.Krb5LoginModule required useKeytab=k;", "ibm.*no login module"),
    ("asks", MODULE + "principal=p;", "neither useKeyTab"),
    ("no-principal", MODULE + "useKeyTab=true keyTab=k;", "without keyTab and principal"),
]


def _ids(cases: list[Any]) -> list[str]:
    return [case[0] for case in cases]


@pytest.mark.parametrize(("entry", "login"), [c[1:] for c in ENTRIES], ids=_ids(ENTRIES))
def test_an_entry_is_read_as_java_does(entry: str, login: Login) -> None:
    assert parse({"sasl.jaas.config": entry, "sasl.kerberos.service.name": "kafka"}) == login


@pytest.mark.parametrize(("entry", "message"), [c[1:] for c in REFUSED], ids=_ids(REFUSED))
def test_an_entry_that_cannot_be_followed(entry: str, message: str) -> None:
    with pytest.raises(FlinkDdlError, match=f"FD851: .*{message}"):
        parse({"sasl.jaas.config": entry, "sasl.kerberos.service.name": "kafka"})


def test_the_service_name() -> None:
    assert parse({"sasl.jaas.config": MODULE + 'useTicketCache=true serviceName="hadoop";'}).service == "hadoop"
    with pytest.raises(FlinkDdlError, match=r"FD851: .*properties\.sasl\.kerberos\.service\.name"):
        parse({})


SCRIPT = """CREATE TABLE t (a INT) WITH ('connector' = 'kafka', 'topic' = 't', 'format' = 'json',
  'properties.bootstrap.servers' = '127.0.0.1:1', 'properties.security.protocol' = 'SASL_PLAINTEXT',
  'properties.sasl.kerberos.service.name' = 'kafka');
INSERT INTO t VALUES (1);
"""


@pytest.fixture
def no_gssapi(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gssapi", None)  # Python's own way to say that a module does not load


@pytest.mark.usefixtures("no_gssapi")
def test_without_the_package_it_is_named_before_spark_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    catalog = Catalog(views=False)
    with pytest.raises(FlinkDdlError, match=r"FD850: .*pip install 'flinkddl\[kerberos\]'"):
        catalog.execute(SCRIPT)
    assert catalog._spark is None
    script = tmp_path / "job.sql"
    script.write_text(SCRIPT, encoding="utf-8")
    assert main(["run", str(script)]) == 3
    assert "FD850" in capsys.readouterr().err
    assert main(["doctor", "--no-spark", str(script)]) == 3
    assert "FD850" in capsys.readouterr().out


def test_a_krb5_conf_that_is_not_there() -> None:
    with pytest.raises(FlinkDdlError, match=r"FD851: .*'/no/krb5.conf' is no file"):
        take_settings(Settings.of({"security.kerberos.login.conf": "/no/krb5.conf"}))


CONF = {"security.kerberos.krb5-conf.path": "/e/krb5.conf"}
JAVA = "spark.driver.extraJavaOptions"


def test_what_spark_starts_with_is_joined_to_what_it_is_told() -> None:
    assert joined({JAVA: "-Xss4m", "spark.x": "1"}, Settings.of(CONF)) == {
        JAVA: "-Djava.security.krb5.conf=/e/krb5.conf -Xss4m",
        "spark.executor.extraJavaOptions": "-Djava.security.krb5.conf=/e/krb5.conf",
        "spark.x": "1",
    }


@pytest.mark.spark
def test_a_spark_that_runs_without_it_is_refused(spark: Any) -> None:
    check_session(
        spark, Settings.of({"security.kerberos.krb5-conf.path": "/etc/krb5.conf"})
    )  # it reads that one anyway
    hadoop = {"fs.hdfs.hadoop.security.authentication": "kerberos"}
    for config, missing in ((CONF, "extraJavaOptions"), (hadoop, "hadoop.security.authentication")):
        with pytest.raises(FlinkDdlError, match=f"FD852: Spark runs already.*{missing}"):
            check_session(spark, Settings.of(config))
