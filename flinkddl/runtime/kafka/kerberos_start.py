"""Kerberos before a job starts: its logins, the krb5.conf of this process and of the JVM, Hadoop's own login."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.kafka.kerberos import DEFAULT_CONF, sasl_config
from flinkddl.runtime.kafka.offsets import client_properties
from flinkddl.spark import job as J
from flinkddl.spark.kerberos import JAVA_OPTIONS, KRB5_CONF, krb5_conf, start_conf, uses_gssapi

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from flinkddl.catalog.settings import Settings


def log_in(job: J.SparkJob, config: Settings) -> None:
    """Log a job's Kafka clients in, those with a Kerberos login. Raises FD850, FD851."""
    take_settings(config)
    options = [s.options for s in job.steps if isinstance(s, J.Read)] + [w.options for w in job.writes]
    for properties in map(client_properties, options):
        if "bootstrap.servers" in properties and uses_gssapi(properties):
            sasl_config(properties)


def take_settings(config: Settings) -> None:
    """Let this process use the krb5.conf that a script has SET. Raises FD851 when it is not there."""
    if path := krb5_conf(config):
        if not Path(path).is_file():
            help = "'security.kerberos.krb5-conf.path' is the path of a krb5.conf, from where this runs"
            raise FlinkDdlError.of("FD851", f"the Kerberos login cannot be made: '{path}' is no file", help=help)
        os.environ["KRB5_CONFIG"] = path


def joined(conf: Mapping[str, str], config: Settings) -> dict[str, str]:
    """Return Spark settings for a start with what the script has SET of Kerberos; what ``conf`` says goes before it."""
    ours = start_conf(config)
    java = {k: f"{ours[k]} {conf.get(k, '')}".strip() for k in JAVA_OPTIONS if k in ours}
    return {**ours, **conf, **java}


def check_session(spark: SparkSession, config: Settings) -> None:
    """Raise FD852 where a script has SET what the running Spark was not started with."""
    for key, wanted in start_conf(config).items():
        given = spark.conf.get(key, "") or ""
        local = (spark.conf.get("spark.master", "") or "").startswith("local")
        default = wanted == f"-D{KRB5_CONF}={DEFAULT_CONF}" and KRB5_CONF not in given
        is_there = wanted in given if key in JAVA_OPTIONS else wanted == given
        if is_there or default or (local and key == JAVA_OPTIONS[1]):  # there the driver is the executor
            continue
        message = f"Spark runs already, without '{wanted}' in '{key}', which the script's Kerberos settings mean"
        help = f"start it with --conf '{key}={wanted}', or let flinkddl start Spark after these SET statements"
        raise FlinkDdlError.of("FD852", message, help=help)
