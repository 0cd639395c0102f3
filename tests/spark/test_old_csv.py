"""The one older table that Flink 2.3 reads itself, CSV files of 'connector.type': read and looked up, or FD203.

What Flink answers was recorded from a running Flink 2.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from flinkddl.api import Catalog
from flinkddl.diagnostics import SourceText
from flinkddl.script.compile import compile_script

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

OLD = "'connector.type' = 'filesystem', 'format.type' = 'csv', 'connector.path' = 'file://{path}'"
TAKEN = [
    ("k BIGINT, v VARCHAR", ""),
    ("k BIGINT, v VARCHAR, w AS v || '!'", ""),
    ("k INT, d DECIMAL(5, 2), dt DATE, tm TIME, ts TIMESTAMP(3)", ", 'format.field-delimiter' = ';'"),
    ("k INT, v STRING", ", 'format.quote-character' = '\"', 'format.derive-schema' = 'true'"),
]
REFUSED = [
    ("k INT, v STRING", ", 'format.ignore-first-line' = 'true'"),
    ("k INT, v STRING", ", 'format.ignore-parse-errors' = 'true'"),
    ("k INT, v STRING", ", 'format.comment-prefix' = '#'"),
    ("k INT, v STRING", ", 'format.fields.0.name' = 'k'"),
    ("k INT, v ARRAY<STRING>", ""),
    ("k INT, v BYTES", ""),
]


def _codes(script: str) -> list[str]:
    return [d.code for d in compile_script(SourceText("t.sql", script)).diagnostics if d.severity == "error"]


@pytest.mark.parametrize(("columns", "more"), TAKEN)
def test_read(columns: str, more: str) -> None:
    assert not _codes(f"CREATE TABLE t ({columns}) WITH ({OLD.format(path='/x')}{more}); SELECT * FROM t")


@pytest.mark.parametrize(("columns", "more"), REFUSED)
def test_not_read(columns: str, more: str) -> None:
    assert _codes(f"CREATE TABLE t ({columns}) WITH ({OLD.format(path='/x')}{more}); SELECT * FROM t") == ["FD203"]


def test_not_written() -> None:
    assert _codes(f"CREATE TABLE t (k INT) WITH ({OLD.format(path='/x')}); INSERT INTO t VALUES (1)") == ["FD203"]


@pytest.mark.spark
def test_rows_and_lookups(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text('1,one\n2,two\n2,zwei\n7,\n5,"q\n')
    catalog = Catalog(spark, views=False)
    catalog.execute(f"""CREATE TABLE s (k BIGINT, v VARCHAR) WITH ({OLD.format(path=tmp_path / "s.csv")});
      CREATE TABLE l (n BIGINT, pt AS PROCTIME()) WITH ('connector' = 'datagen', 'fields.n.kind' = 'sequence',
        'fields.n.start' = '0', 'fields.n.end' = '3');""")
    assert sorted(catalog.execute("SELECT * FROM s").collect()) == [
        (1, "one"), (2, "two"), (2, "zwei"), (5, '"q'), (7, ""),
    ]  # fmt: skip
    inner = "SELECT l.n, s.v FROM l JOIN s FOR SYSTEM_TIME AS OF l.pt ON MOD(l.n, 3) = s.k"
    assert sorted(catalog.execute(inner).collect()) == [(1, "one"), (2, "two"), (2, "zwei")]
    left = "SELECT l.n, s.v FROM l LEFT JOIN s FOR SYSTEM_TIME AS OF l.pt ON l.n = s.k AND s.v <> 'zwei'"
    assert sorted(catalog.execute(left).collect()) == [(0, None), (1, "one"), (2, "two"), (3, None)]
