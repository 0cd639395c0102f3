"""``security.kerberos.*`` of a session: the login of its Kafka clients, and what Spark must be started with for it.

Flink (SecurityConfiguration, JaasModule, KerberosUtils) gives the login to every JAAS context that
``login.contexts`` names; Kafka's clients ask for ``KafkaClient``. Here it is the table's ``sasl.jaas.config``, which
executors get too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flinkddl.catalog.settings import Settings

MODULE = "com.sun.security.auth.module.Krb5LoginModule"
KRB5_CONF = "java.security.krb5.conf"
"""The JVM's name for its krb5.conf, which it reads once."""
HADOOP = "spark.hadoop.hadoop.security.authentication"
JAVA_OPTIONS = ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions")


def uses_gssapi(properties: Mapping[str, str]) -> bool:
    """Whether Kafka clients with these properties log in by Kerberos: it is SASL's default mechanism."""
    sasl = properties.get("security.protocol", "").upper().startswith("SASL")
    return sasl and (properties.get("sasl.mechanism") or "GSSAPI").upper() == "GSSAPI"


def login(properties: Mapping[str, str], config: Settings) -> dict[str, str]:
    """Return the JAAS entry that the session means for a client that logs in by GSSAPI.

    By keytab and principal, else from the ticket cache unless that is switched off. Flink puts an optional entry for
    the ticket cache behind a keytab's required one: it cannot change whether the login holds, and a client's own
    property takes a single entry. A login that the table itself gives is left alone. Raises FD853 for half a login.
    """
    keytab, principal = _keytab(config)
    contexts = [c.strip() for c in (config.security_kerberos_login_contexts or "").split(",")]
    if "KafkaClient" not in contexts or not uses_gssapi(properties) or "sasl.jaas.config" in properties:
        return {}
    if keytab:
        known = {"useKeyTab": "true", "keyTab": keytab, "principal": principal, "storeKey": "true"}
        known |= {"refreshKrb5Config": "true"}
    elif config.security_kerberos_login_use_ticket_cache:
        known = {"useTicketCache": "true", "renewTGT": "true"} | ({"principal": principal} if principal else {})
    else:
        return {}
    entry = " ".join(f'{k}="{_escaped(v)}"' for k, v in {**known, "doNotPrompt": "true"}.items())
    return {"sasl.jaas.config": f"{MODULE} required {entry};"}


def _keytab(config: Settings) -> tuple[str, str]:
    keytab, principal = config.security_kerberos_login_keytab or "", config.security_kerberos_login_principal or ""
    if keytab and not principal:
        message = "'security.kerberos.login.keytab' is set, and no 'security.kerberos.login.principal'"
        help = f"`klist -kt {keytab}` lists the principals that it holds"
        raise FlinkDdlError.of("FD853", message, help=help)
    return keytab, principal


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')


def krb5_conf(config: Settings) -> str | None:
    """Return the path of the session's own krb5.conf, as it was written."""
    return config.security_kerberos_krb5_conf_path or None


def start_conf(config: Settings) -> dict[str, str]:
    """Return the Spark settings that the JVM must be started with; none of them can be set on a running one.

    ``fs.hdfs.hadoop.security.authentication`` is Hadoop's ``hadoop.security.authentication``: Spark then logs in by
    the same keytab for its file systems.
    """
    conf: dict[str, str] = {}
    if path := krb5_conf(config):
        option = f"-D{KRB5_CONF}={path}"
        conf |= dict.fromkeys(JAVA_OPTIONS, f'"{_escaped(option)}"' if " " in option else option)
    if config.fs_hdfs_hadoop_security_authentication == "kerberos":
        keytab, principal = _keytab(config)
        conf |= {HADOOP: "kerberos"}
        conf |= {"spark.kerberos.keytab": keytab, "spark.kerberos.principal": principal} if keytab else {}
    return conf
