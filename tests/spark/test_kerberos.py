"""``security.kerberos.*`` of the session becomes the login of Kafka clients that ask for GSSAPI, and Spark's start."""

from __future__ import annotations

import pytest

from flinkddl.api import Catalog
from flinkddl.catalog.settings import Settings
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.spark.kerberos import login, start_conf, uses_gssapi

CONTEXTS = {"security.kerberos.login.contexts": "Client, KafkaClient"}
KEYTAB = {"security.kerberos.login.keytab": "/etc/a b.keytab", "security.kerberos.login.principal": "flink@REALM"}
OLD = {"security.keytab": "/etc/a b.keytab", "security.principal": "flink@REALM"}
GSSAPI = {"security.protocol": "SASL_SSL", "sasl.mechanism": "GSSAPI", "sasl.kerberos.service.name": "kafka"}
MODULE = "com.sun.security.auth.module.Krb5LoginModule required "
BY_KEYTAB = (
    'useKeyTab="true" keyTab="/etc/a b.keytab" principal="flink@REALM" storeKey="true" refreshKrb5Config="true" '
)
BY_KEYTAB = MODULE + BY_KEYTAB + 'doNotPrompt="true";'
BY_CACHE = MODULE + 'useTicketCache="true" renewTGT="true" doNotPrompt="true";'
NO_CACHE = {"security.kerberos.login.use-ticket-cache": "false"}
CASES = [
    ("keytab", GSSAPI, CONTEXTS | KEYTAB, BY_KEYTAB),
    ("keytab-by-its-older-names", GSSAPI, CONTEXTS | OLD, BY_KEYTAB),
    ("keytab-without-ticket-cache", GSSAPI, CONTEXTS | KEYTAB | NO_CACHE, BY_KEYTAB),
    ("gssapi-is-the-default", {"security.protocol": "SASL_PLAINTEXT"}, CONTEXTS | KEYTAB, BY_KEYTAB),
    (
        "lower-case",
        GSSAPI | {"security.protocol": "sasl_ssl", "sasl.mechanism": "gssapi"},
        CONTEXTS | KEYTAB,
        BY_KEYTAB,
    ),
    ("ticket-cache", GSSAPI, CONTEXTS, BY_CACHE),
    ("no-ticket-cache", GSSAPI, CONTEXTS | NO_CACHE, None),
    ("other-contexts", GSSAPI, {"security.kerberos.login.contexts": "Client"} | KEYTAB, None),
    ("own-login", GSSAPI | {"sasl.jaas.config": "x"}, CONTEXTS | KEYTAB, None),
    ("other-mechanism", GSSAPI | {"sasl.mechanism": "PLAIN"}, CONTEXTS | KEYTAB, None),
    ("no-sasl", {"security.protocol": "SSL"}, CONTEXTS | KEYTAB, None),
]


@pytest.mark.parametrize(("properties", "config", "entry"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_login(properties: dict[str, str], config: dict[str, str], entry: str | None) -> None:
    assert login(properties, Settings.of(config)).get("sasl.jaas.config") == entry
    assert uses_gssapi(properties) == (properties not in (CASES[-1][1], CASES[-2][1]))


def test_a_keytab_without_principal_is_refused() -> None:
    with pytest.raises(FlinkDdlError, match=r"FD853: .*keytab' is set, and no .*principal'.*klist -kt k.keytab"):
        login(GSSAPI, Settings.of(CONTEXTS | {"security.kerberos.login.keytab": "k.keytab"}))


JAVA = ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions")
STARTS = [
    ("nothing", {}, {}),
    ("krb5", {"security.kerberos.krb5-conf.path": "/e/k"}, dict.fromkeys(JAVA, "-Djava.security.krb5.conf=/e/k")),
    ("oceanus", {"security.kerberos.login.conf": "k"}, dict.fromkeys(JAVA, "-Djava.security.krb5.conf=k")),
    (
        "blank",
        {"security.kerberos.krb5-conf.path": "/e f/k"},
        dict.fromkeys(JAVA, '"-Djava.security.krb5.conf=/e f/k"'),
    ),
    ("hadoop-simple", {"fs.hdfs.hadoop.security.authentication": "simple"}, {}),
    (
        "hadoop",
        {"fs.hdfs.hadoop.security.authentication": "kerberos"} | KEYTAB,
        {
            "spark.hadoop.hadoop.security.authentication": "kerberos",
            "spark.kerberos.keytab": "/etc/a b.keytab",
            "spark.kerberos.principal": "flink@REALM",
        },
    ),
]


@pytest.mark.parametrize(("config", "conf"), [c[1:] for c in STARTS], ids=[c[0] for c in STARTS])
def test_what_spark_is_started_with(config: dict[str, str], conf: dict[str, str]) -> None:
    assert start_conf(Settings.of(config)) == conf


TABLE = """CREATE TABLE t (a INT) WITH ('connector' = 'kafka', 'topic' = 't', 'format' = 'json',
  'properties.bootstrap.servers' = 'localhost:9092', 'properties.security.protocol' = 'SASL_PLAINTEXT',
  'properties.sasl.mechanism' = 'gssapi', 'properties.sasl.kerberos.service.name' = 'kafka');
SET 'security.kerberos.krb5-conf.path' = '/e/krb5.conf';
INSERT INTO t VALUES (1);
"""


def test_a_printed_program_starts_spark_with_it() -> None:
    printed = Catalog(views=False).compile(TABLE)
    assert '.config("spark.driver.extraJavaOptions", "-Djava.security.krb5.conf=/e/krb5.conf")' in printed
    assert 'os.environ["KRB5_CONFIG"] = "/e/krb5.conf"' in printed
    assert '"kafka.sasl.mechanism", "GSSAPI"' in printed  # Java's client takes no other case
    compile(printed, "printed.py", "exec")
