"""What a printed program begins with: imports, Spark with what a session needs, and the few functions it calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.diagnostics.secrets import SPARK_OPTIONS_REGEX, SPARK_REGEX
from flinkddl.show.pytext import literal
from flinkddl.spark.kerberos import krb5_conf, start_conf

if TYPE_CHECKING:
    from flinkddl.catalog.settings import Settings

PROLOGUE = '''\
"""Printed by `flinkddl compile`."""

import json
import os
import sys
import tempfile
from glob import glob
from pathlib import Path

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)

from pyspark.sql import SparkSession
from pyspark.sql.functions import expr

if "FLINKDDL_JARS" in os.environ:
    jars = sorted(glob(os.path.join(os.environ["FLINKDDL_JARS"], "*.jar")))
else:
    from flinkddl.runtime.machine.jars import spark_jars

    jars = [str(path) for path in spark_jars()]

root = (
    SparkSession.builder.appName("flinkddl")
    .config("spark.jars", ",".join(jars))
    .config("spark.driver.extraClassPath", os.pathsep.join(jars))
    .config("spark.sql.catalog.flinkddl", "flinkddl.Functions")
    .config("spark.sql.variable.substitute", "false")
    .config("spark.flinkddl.secret.key", os.urandom(32).hex())
    .config("spark.redaction.regex", REDACTION)
    .config("spark.sql.redaction.options.regex", OPTIONS_REDACTION)
    .config("spark.ui.enabled", "false")
    .getOrCreate()
)
work = os.environ.get("CHECKPOINT_DIR") or tempfile.mkdtemp()  # state and offsets; a folder that stays resumes


def union(branch, places):
    """Unite the branches of one table: each partition has a watermark of its own, the least holds.

    Only `flinkddl run` watches for partitions that fall idle or are new, and closes windows over processing time while
    no rows come.
    """
    first, *rest = (branch(tag, place) for tag, place in places)
    for other in rest:
        first = first.union(other)
    return first


def stream_of(frame, folder):
    """Write a batch DataFrame down, once, and read it as a stream that ends."""
    if not os.path.isdir(folder):
        frame.write.parquet(folder)
    return frame.sparkSession.readStream.schema(frame.schema).parquet(folder)


def finish(start, ends):
    """Run a job's queries to their end; one far-future row in each control folder closes the last windows."""
    for query in start():
        query.awaitTermination()
    for folder, rowtime in ends:
        Path(folder, "end.json").write_text(json.dumps({rowtime: "2200-01-01T00:00:00.000Z", "__tick": True}))
    for query in start() if ends else ():
        query.awaitTermination()


'''.replace("OPTIONS_REDACTION", literal(SPARK_OPTIONS_REGEX)).replace("REDACTION", literal(SPARK_REGEX))


def prologue(config: Settings) -> str:
    """Return what a program begins with: imports, and Spark started with what the session's Kerberos needs."""
    more = "".join(f"    .config({literal(k)}, {literal(v)})\n" for k, v in start_conf(config).items())
    path = krb5_conf(config)
    named = f'os.environ["KRB5_CONFIG"] = {literal(path)}\n' if path else ""
    text = PROLOGUE.replace("    .getOrCreate()\n", f"{more}    .getOrCreate()\n")
    return text.replace(
        "\nfrom pyspark.sql import SparkSession\n", f"{named}\nfrom pyspark.sql import SparkSession\n", 1
    )


OWN_NAMES = frozenset(
    {"SparkSession", "Path", "driver_sinks", "end", "ends", "expr", "finish", "glob", "jars", "json", "os", "place"}
    | {"query", "register", "root", "seal", "secret", "sorted", "spark", "start", "stream_of", "sys", "tag"}
    | {"tempfile", "union", "work"}
)
"""What a program calls its own things."""
