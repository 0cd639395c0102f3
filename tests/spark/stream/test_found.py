"""What the random queries of tests/fuzz found, one case each."""

from __future__ import annotations

import random
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


@pytest.mark.spark
@pytest.mark.parametrize("form", ["aggregate", "keyed"])
def test_of_rows_that_only_come_one_value_is_kept(spark: SparkSession, tmp_path: Path, form: str) -> None:
    """The hour's load: every value of a MAX stayed in the state, also over a table that never takes a row back."""
    source = feed(tmp_path / "t", FIELDS)
    calls = tuple(agg(f, 2, type=T.INT) for f in ("MIN", "MAX", "FIRST_VALUE", "LAST_VALUE"))
    node = N.Aggregate(fields=fields("k", "low", "high", "first", "last"), input=source, keys=(1,), aggs=calls)
    running = Running(spark, node, config={"flinkddl.execution.state": form})
    drawn, values, sizes = random.Random(5), [], []
    for n in range(4):
        values += (more := [None, *(drawn.randrange(100, 100_000) for _ in range(300)), values[-1] if values else 7])
        first = len(values) - len(more)
        rows = [{"id": i, "k": "a", "v": v, "__seq": i} for i, v in enumerate(more, first)]
        write(source.folder, n, rows)
        running.go()
        seen = [v for v in values if v is not None]
        assert running.table == Counter([("a", min(seen), max(seen), seen[0], seen[-1])])
        readers = [spark.read.format("statestore") for _ in range(2 if form == "keyed" else 1)]
        if form == "keyed":
            readers = [r.option("stateVarName", name) for r, name in zip(readers, ("head", "map0"), strict=True)]
        sizes.append(sum(len(str(row)) for r in readers for row in r.load(running.checkpoint).collect()))
    assert not running.wrong
    running.close()
    assert max(sizes) < 1500, sizes


@pytest.mark.spark
@pytest.mark.parametrize("form", ["aggregate", "keyed"])
def test_an_update_of_what_nobody_reads_is_one_where_the_format_has_it(
    spark: SparkSession, tmp_path: Path, form: str
) -> None:
    """As in Flink over CDC records: the row is taken back and put again, so that its value came last."""
    source = feed(tmp_path / "t", FIELDS, "delta")
    node = N.Aggregate(fields=fields("k", "last"), input=source, keys=(1,), aggs=(agg("LAST_VALUE", 2, type=T.INT),))
    running = Running(spark, node, config={"flinkddl.execution.state": form})
    rows = [(1, 1, 1), (2, 2, 1), (1, 1, -1), (1, 1, 1)]
    changes = [{"id": i, "k": "a", "v": v, "__w": w, "__seq": n} for n, (i, v, w) in enumerate(rows)]
    later = [{**c, "k": "b"} for c in changes]
    write(source.folder, 0, [*changes[:2], *later])
    running.go()
    write(source.folder, 1, changes[2:])
    running.go()
    running.close()
    assert running.table == Counter([("a", 1), ("b", 1)])
