"""The printed program: Python that compiles, no secret in it, the same steps as the job."""

from __future__ import annotations

import ast
import re

import pytest

from flinkddl.diagnostics import SourceText
from flinkddl.lower.printer import print_json, print_pyspark
from flinkddl.lower.script import Start, compile_script
from tests.e2e.support import SAMPLES

SAMPLE_FILES = sorted(SAMPLES.rglob("*.sql"))


def jobs(sql: str) -> list[Start]:
    compiled = compile_script(SourceText("t.sql", sql), variables={"KAFKA_SERVERS": "broker:9092"})
    assert not compiled.has_errors, compiled.diagnostics
    return [a for a in compiled.actions if isinstance(a, Start)]


@pytest.mark.parametrize("path", SAMPLE_FILES, ids=lambda p: p.stem)
def test_samples_print_as_python(path) -> None:  # type: ignore[no-untyped-def]
    starts = jobs(path.read_text(encoding="utf-8"))
    text = print_pyspark(a.job for a in starts)
    ast.parse(text)
    for start in starts:
        names = (start.job.steps[0].name, start.job.steps[-1].name)
        assert all(re.search(rf"\n *{name} = ", text) for name in names)


def test_secrets_become_environment_look_ups() -> None:
    sql = """
        CREATE TABLE t (a INT) WITH ('connector' = 'kafka', 'topic' = 't', 'format' = 'json',
          'properties.bootstrap.servers' = 'b:1', 'scan.startup.mode' = 'earliest-offset',
          'properties.sasl.jaas.config' = 'x.Login required username="u" password="hunter2";');
        CREATE TABLE b (a INT) WITH ('connector' = 'blackhole');
        INSERT INTO b SELECT a FROM t"""
    printed = print_pyspark(a.job for a in jobs(sql))
    assert "hunter2" not in printed
    looked_up = sql.replace("'scan.startup.mode' = 'earliest-offset'", "'properties.group.id' = 'g'")
    assert "hunter2" not in print_pyspark(a.job for a in jobs(looked_up))
    assert 'os.environ["FLINKDDL_KAFKA_SASL_JAAS_CONFIG"]' in printed
    assert "hunter2" not in print_json(a.job for a in jobs(sql))


def test_two_jobs_into_one_table_have_a_checkpoint_each() -> None:
    sql = """
        CREATE TABLE t (a INT) WITH ('connector' = 'kafka', 'topic' = 't', 'format' = 'json',
          'properties.bootstrap.servers' = 'b:1', 'scan.startup.mode' = 'earliest-offset');
        CREATE TABLE b (a INT) WITH ('connector' = 'blackhole');
        INSERT INTO b SELECT a FROM t;
        INSERT INTO b SELECT a + 1 FROM t"""
    printed = print_pyspark(a.job for a in jobs(sql))
    places = re.findall(r'checkpointLocation", os.path.join\(work, ("[^"]*")\)', printed)
    assert len(places) == len(set(places)) == 2
