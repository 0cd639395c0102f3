"""Settings of a script that become settings of its Spark job."""

from __future__ import annotations

import pytest

from flinkddl.diagnostics import SourceText
from flinkddl.script.compile import Start, compile_script

TABLES = """
CREATE TABLE a (k STRING) WITH ('connector' = 'kafka', 'topic' = 'a', 'properties.bootstrap.servers' = 'b:9092',
  'format' = 'json', 'scan.startup.mode' = 'earliest-offset');
CREATE TABLE p (k STRING) WITH ('connector' = 'print');
INSERT INTO p SELECT k FROM a;
"""


@pytest.mark.parametrize(
    ("script", "partitions"),
    [
        ("", None),
        ("SET 'parallelism.default' = '4';", "4"),
        ("SET 'parallelism.default' = '4'; SET 'table.exec.resource.default-parallelism' = '3';", "3"),
        ("SET 'parallelism.default' = '4'; SET 'table.exec.resource.default-parallelism' = '-1';", "4"),
    ],
)
def test_parallelism_is_the_number_of_shuffle_partitions(script: str, partitions: str | None) -> None:
    compiled = compile_script(SourceText("<t>", script + TABLES))
    (job,) = [a.job for a in compiled.actions if isinstance(a, Start)]
    assert job.settings.get("spark.sql.shuffle.partitions") == partitions
