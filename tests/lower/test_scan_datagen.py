"""What datagen makes: options that only show in its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from flinkddl.api import Catalog

if TYPE_CHECKING:
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
