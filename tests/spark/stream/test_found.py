"""What the random queries of tests/fuzz found, one case each."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from flinkddl import sqltypes as T
from flinkddl.plan import nodes as N
from tests.spark.stream.harness import Running, feed, write
from tests.spark.stream.test_operators import BATCHES, FIELDS, Changes, agg, fields

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.mark.spark
def test_distinct_says_nothing_of_a_value_that_stays(spark: SparkSession, tmp_path: Path) -> None:
    """One row of several with a value goes: an upsert sink hears nothing."""
    changes = Changes(tmp_path / "t", "delta", seed=11)
    node = N.Aggregate(fields=fields("k"), input=changes.node, keys=(1,))
    running = Running(spark, node, "upsert", (0,))
    for n in range(BATCHES):
        changes.batch(n)
    running.go()
    assert running.table == Counter({(r[1],) for r in changes.order})
    assert not running.wrong
    running.close()


@pytest.mark.spark
def test_a_deviation_of_no_values_is_null(spark: SparkSession, tmp_path: Path) -> None:
    """Not zero, which is the deviation of equal values."""
    source = feed(tmp_path / "t", FIELDS, "delta")
    calls = tuple(agg(f, 2, type=T.DOUBLE) for f in ("STDDEV_POP", "STDDEV_SAMP", "VAR_POP"))
    named = (N.Field("k", T.STRING), *(N.Field(f"x{i}", T.DOUBLE) for i in range(3)))
    running = Running(spark, N.Aggregate(fields=named, input=source, keys=(1,), aggs=calls))
    values = [("a", None), ("b", 4), ("c", 3), ("c", 3)]
    rows = [{"id": i, "k": k, "v": v, "__w": 1, "__seq": i} for i, (k, v) in enumerate(values)]
    write(source.folder, 0, rows)
    running.go()
    running.close()
    none, zero = None, 0.0
    assert running.table == Counter([("a", none, none, none), ("b", zero, none, zero), ("c", zero, zero, zero)])
