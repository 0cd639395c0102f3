"""The printed program: Python that compiles, no secret in it, the same steps as the job."""

from __future__ import annotations

import ast
import json
import re
import runpy
from typing import TYPE_CHECKING

import pytest

from flinkddl.diagnostics import SourceText
from flinkddl.script.compile import Start, compile_script
from flinkddl.show.print_json import print_json
from flinkddl.show.printer import print_pyspark
from samples.run import VARIABLES
from tests.e2e.support import SAMPLES

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

SAMPLE_FILES = sorted(SAMPLES.rglob("*.sql"))


def jobs(sql: str) -> list[Start]:
    compiled = compile_script(SourceText("t.sql", sql), variables=VARIABLES)
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


def test_jars_of_a_connector_are_put_on_the_class_path() -> None:
    sql = """
        CREATE TABLE t (a STRING) WITH ('connector' = 'faker', 'fields.a.expression' = '#{Name.firstName}');
        CREATE TABLE b (a STRING) WITH ('connector' = 'blackhole');
        INSERT INTO b SELECT a FROM t"""
    printed = print_pyspark(a.job for a in jobs(sql))
    ast.parse(printed)
    assert "add_extras(spark, ('datafaker',))" in printed


def test_what_ends_the_input_is_read_for_each_partition() -> None:
    """Windows into files are Spark's own, with a source for each partition."""
    sql = """
        SET 'execution.runtime-mode' = 'streaming';
        CREATE TABLE t (k INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'kafka', 'topic' = 't',
          'format' = 'json', 'properties.bootstrap.servers' = 'b:1', 'scan.startup.mode' = 'earliest-offset',
          'scan.bounded.mode' = 'latest-offset');
        CREATE TABLE f (k INT, n BIGINT) WITH ('connector' = 'filesystem', 'path' = '/f', 'format' = 'json');
        INSERT INTO f SELECT k, COUNT(*) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
        GROUP BY k, window_start, window_end"""
    printed = print_pyspark(a.job for a in jobs(sql))
    ast.parse(printed)
    branch = re.split(r"\ndef |\n\n\n", printed[printed.index("_of(tag") :])[0]
    assert re.search(r'spark\.readStream\.name\("t_end_\w+" \+ tag\)', branch)
    assert ".union(t_end)" in branch


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


@pytest.mark.parametrize("form", ["aggregate", "keyed", "auto"])
def test_a_job_in_each_form_of_state_is_json(form: str) -> None:
    sql = f"""
        SET 'flinkddl.execution.state' = '{form}';
        CREATE TABLE t (a INT, b INT) WITH ('connector' = 'kafka', 'topic' = 't', 'format' = 'json',
          'properties.bootstrap.servers' = 'b:1', 'scan.startup.mode' = 'earliest-offset');
        CREATE TABLE s (a INT, n BIGINT, PRIMARY KEY (a) NOT ENFORCED) WITH ('connector' = 'upsert-kafka',
          'topic' = 's', 'properties.bootstrap.servers' = 'b:1', 'key.format' = 'json', 'value.format' = 'json');
        INSERT INTO s SELECT a, COUNT(DISTINCT b) FROM t GROUP BY a"""
    (told,) = json.loads(print_json(a.job for a in jobs(sql)))
    assert {"name", "steps", "writes", "settings"} <= told.keys()
    assert not {"plan", "identity", "apart", "as_begun"} & told.keys()


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


ORDERS = [
    ("b, a DESC", [(4, None), (3, 1), (1, 1), (2, 5)]),
    ("b DESC NULLS FIRST, a", [(4, None), (2, 5), (1, 1), (3, 1)]),
    ("b NULLS LAST, `a DESC`", [(1, 1), (3, 1), (2, 5), (4, None)]),
    ("ABS(b - 4), a FETCH FIRST 2 ROWS ONLY", [(4, None), (2, 5)]),
    ("a OFFSET 2", [(3, 1), (4, None)]),
    ("`a DESC` DESC LIMIT 2 OFFSET 1", [(3, 1), (2, 5)]),
]


@pytest.mark.spark
def test_printed_batch_programs_sort_as_they_run(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every direction, names that look like one, and a grouping without aggregates."""
    sql = "SET 'execution.runtime-mode' = 'batch'; CREATE TABLE p (a INT, b INT) WITH ('connector' = 'print');"
    view = "SELECT a, b, a AS `a DESC` FROM (VALUES (1, 1), (2, 5), (3, 1), (4, CAST(NULL AS INT))) AS t(a, b)"
    for order, _ in ORDERS:
        sql += f"INSERT INTO p SELECT a, b FROM ({view}) ORDER BY {order};"
    sql += f"INSERT INTO p SELECT 7, 7 FROM ({view}) GROUP BY b, a HAVING b = 5;"
    program = tmp_path / "program.py"
    program.write_text(print_pyspark(a.job for a in jobs(sql)), encoding="utf-8")
    runpy.run_path(str(program))
    rows = [
        tuple(None if v == "null" else int(v) for v in re.findall(r"null|\d+", line))
        for line in capsys.readouterr().out.splitlines()
        if line.startswith("+I")
    ]
    assert rows == [row for _, expected in ORDERS for row in expected] + [(7, 7)]


@pytest.mark.spark
def test_a_printed_stream_takes_values_as_a_stream(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.json").write_text('{"a":1}\n{"a":2}\n')
    monkeypatch.setenv("CHECKPOINT_DIR", str(tmp_path / "state"))
    table = "CREATE TABLE {0} (a INT) WITH ('connector' = 'filesystem', 'path' = '{1}/{0}', 'format' = '{2}');"
    sql = "SET 'execution.runtime-mode' = 'streaming';"
    sql += table.format("in", tmp_path, "json").replace("TABLE in", "TABLE `in`") + table.format("o", tmp_path, "csv")
    sql += "INSERT INTO o SELECT a FROM `in` UNION ALL SELECT a + 10 FROM (VALUES (1), (2)) AS v(a)"
    program = tmp_path / "program.py"
    program.write_text(print_pyspark(a.job for a in jobs(sql)), encoding="utf-8")
    runpy.run_path(str(program))
    assert sorted("".join(p.read_text() for p in (tmp_path / "o").glob("part-*")).split()) == ["1", "11", "12", "2"]
