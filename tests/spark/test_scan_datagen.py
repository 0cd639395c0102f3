"""What datagen makes: options that only show in its rows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from flinkddl.api import Catalog

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.mark.spark
@pytest.mark.parametrize(("var_len", "lengths"), [("true", {1, 2, 3}), ("false", {3})])
def test_var_len_makes_texts_of_one_to_so_many_characters(spark: SparkSession, var_len: str, lengths: set[int]) -> None:
    catalog = Catalog(spark, views=False)
    catalog.execute(f"""CREATE TABLE g (s STRING, b BYTES) WITH ('connector' = 'datagen', 'number-of-rows' = '200',
      'scan.parallelism' = '3', 'fields.s.length' = '3', 'fields.s.var-len' = '{var_len}', 'fields.b.length' = '3',
      'fields.b.var-len' = '{var_len}')""")
    frame = catalog.table("g", mode="batch").selectExpr(
        "length(s) AS s", "length(b) AS b", "spark_partition_id() AS task"
    )
    rows = frame.collect()
    assert {row.s for row in rows} == {row.b for row in rows} == lengths
    assert len({row.task for row in rows}) == 3


@pytest.mark.spark
def test_a_table_that_ends_is_whole_in_streaming_mode_and_once(spark: SparkSession, tmp_path: Path) -> None:
    script = f"""
      SET 'execution.runtime-mode' = 'streaming';
      SET 'execution.checkpointing.dir' = '{tmp_path}/state';
      CREATE TABLE g (id BIGINT) WITH ('connector' = 'datagen', 'fields.id.kind' = 'sequence',
        'fields.id.start' = '1', 'fields.id.end' = '50');
      CREATE TABLE f (id BIGINT) WITH ('connector' = 'filesystem', 'path' = '{tmp_path}/out', 'format' = 'json');
      INSERT INTO f SELECT id FROM g;"""
    for _ in range(2):  # the second run goes on behind the end
        Catalog(spark, views=False).execute(script).await_termination(120)
        lines = [json.loads(x)["id"] for p in (tmp_path / "out").glob("part-*") for x in p.read_text().splitlines()]
        assert sorted(lines) == list(range(1, 51))
