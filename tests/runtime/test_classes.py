"""Classes that Kafka's clients load by name are looked for before a job starts."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING

import pytest

from flinkddl.api import Catalog
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.session.classes import KEYS, has_class, named_classes

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

JAAS = """a.B required user="x; c.D required" p='q'; e.F  optional;"""


@pytest.mark.parametrize(
    ("key", "value", "source", "sink"),
    [
        ("sasl.login.callback.handler.class", "a.B", ["a.B"], ["a.B"]),
        ("interceptor.classes", "a.B, a.C,", [], ["a.B", "a.C"]),
        ("partition.assignment.strategy", "a.B,a.C", ["a.B", "a.C"], []),
        ("partitioner.class", "a.B", [], ["a.B"]),
        ("config.providers.vault.class", "a.B", ["a.B"], ["a.B"]),
        ("sasl.jaas.config", JAAS, ["a.B", "e.F"], ["a.B", "e.F"]),
        ("listener.name.x.sasl.jaas.config", "a.B required;", ["a.B"], ["a.B"]),
        ("key.serializer", "a.B", [], []),
        ("client.rack", "a.B", [], []),
    ],
)
def test_which_properties_name_classes(key: str, value: str, source: list[str], sink: list[str]) -> None:
    given = {key: value}
    assert [name for _, name in named_classes(given, "source")] == source
    assert [name for _, name in named_classes(given, "sink")] == sink


@pytest.mark.spark
@pytest.mark.parametrize(
    ("name", "there"),
    [
        ("com.acme.Login", False),
        ("x', 'y') --", False),
        ("", False),
        ("org.apache.kafka.common.security.plain.PlainLoginModule", True),
        ("org.apache.kafka.clients.consumer.RoundRobinAssignor", True),
        ("com.sun.security.auth.module.Krb5LoginModule", True),
        ("sun.security.provider.Sun", True),
    ],
)
def test_spark_is_asked(spark: SparkSession, name: str, there: bool) -> None:
    assert has_class(spark, name) is there


JOB = """
CREATE TABLE src (a INT) WITH ('connector' = 'kafka', 'topic' = 's', 'format' = 'json',
  'properties.bootstrap.servers' = '127.0.0.1:1', 'scan.startup.mode' = 'earliest-offset' {source});
CREATE TABLE snk (a INT) WITH ('connector' = 'kafka', 'topic' = 't', 'format' = 'json',
  'properties.bootstrap.servers' = '127.0.0.1:1' {sink});
INSERT INTO snk SELECT a FROM src;
"""


@pytest.mark.spark
@pytest.mark.parametrize("key", sorted(KEYS))
def test_a_job_is_refused_before_anybody_is_called(spark: SparkSession, key: str) -> None:
    more = f", 'properties.{key}' = 'com.acme.Gone'"
    roles = {role: more if role in KEYS[key] else "" for role in ("source", "sink")}
    with pytest.raises(FlinkDdlError) as raised:  # nobody listens at port 1: FD811 would be later
        Catalog(spark, views=False).execute(JOB.format(**roles))
    tables = {"source": "src", "sink": "snk"}
    assert [(d.code, d.message) for d in raised.value.diagnostics] == [
        (
            "FD826",
            f"the class 'com.acme.Gone' of 'properties.{key}' of table 'default_catalog.default_database.{tables[r]}'"
            " is not on Spark's class path",
        )
        for r in KEYS[key]
    ]


OWN = """
import sys
from flinkddl.runtime.session.classes import has_class
from flinkddl.runtime.session.sessions import SparkOptions, build_session
spark = build_session(SparkOptions("local[1]", conf={"spark.jars": sys.argv[1], "spark.driver.memory": "600m"}))
print(has_class(spark, "com.acme.Login"), has_class(spark, "com.acme.Other"))
"""


@pytest.mark.spark
@pytest.mark.slow
def test_a_jar_of_the_user_is_looked_into(tmp_path: Path) -> None:
    source = tmp_path / "Login.java"
    source.write_text("package com.acme; public class Login {}")
    subprocess.run(["javac", "-d", tmp_path, source], check=True)
    with zipfile.ZipFile(tmp_path / "login.jar", "w") as jar:
        jar.write(tmp_path / "com/acme/Login.class", "com/acme/Login.class")
    command = [sys.executable, "-c", OWN, tmp_path / "login.jar"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]
