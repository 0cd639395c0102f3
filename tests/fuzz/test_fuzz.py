"""12 random queries in every run; ``python -m tests.fuzz`` runs any number, at night 3,000 by each form of state."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING

import duckdb
import pytest

from tests.fuzz import compare
from tests.fuzz.engine import Case, Group, Planner
from tests.fuzz.queries import Generator
from tests.fuzz.trial import Summary, draw, run_group
from tests.fuzz.world import World
from tests.support.nightly import nightly

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.mark.spark
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("state", "cases"), [("auto", 6), nightly("aggregate", 12)])
def test_random_cases(spark: SparkSession, state: str, cases: int) -> None:
    done = run_group(7_000_000, cases, "rocksdb", state, spark=spark)
    assert (done.cases, done.divergences) == (cases, [])
    assert done.restarts == 2 <= done.batches


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    command = [sys.executable, "-m", "tests.fuzz", "--cases", "25", "--seed", "7"]
    output: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            output.append(line)
            with capsys.disabled():
                print("\nfuzz:", line.rstrip(), end="", flush=True)  # it takes minutes: who waits sees how far it is
    assert process.returncode == 0, "".join(output)
    assert "seed 7: 25 cases" in output[-1]


@pytest.mark.spark
def test_a_first_row_by_processing_time_runs_beside_an_aggregate(spark: SparkSession, tmp_path: Path) -> None:
    """Seed 2, group 72: Spark's dropDuplicates took the store of an aggregate that ran before it in one task."""
    world = World(2, tmp_path)
    first = "SELECT *, ROW_NUMBER() OVER (PARTITION BY a0 ORDER BY pt) AS n FROM a"
    planner = Planner(world)
    count, dedup = cases = [
        Case("count", planner.plan("SELECT COUNT(*) FROM a GROUP BY a1"), "changelog"),
        Case("first", planner.plan(f"SELECT a0, COUNT(*) FROM ({first}) WHERE n = 1 GROUP BY a0"), "changelog"),
    ]
    group = Group(spark, cases)
    try:
        for _ in range(2):
            world.batch(30)
            group.run()
    finally:
        group.close()
    rows = world.tables[0].rows()
    assert sum(int(n) * times for (n,), times in count.table.items()) == len(rows)
    assert dedup.table == Counter({(str(key), "1"): 1 for key, *_ in rows})


def test_most_drawn_queries_are_taken(tmp_path: Path) -> None:
    """The generator stays within the language: nothing it draws is refused for what it says."""
    out = Summary(3)
    draw(World(3, tmp_path), 3, 60, out)
    assert not set(out.refused) - {"FD550"}, out.line()


def test_equal_seeds_give_equal_cases(tmp_path: Path) -> None:
    one, two = World(5, tmp_path / "a"), World(5, tmp_path / "b")
    for world in (one, two):
        world.batch(50)
    assert [t.rows() for t in one.tables] == [t.rows() for t in two.tables]
    texts = [[g.query().flink for _ in range(20)] for g in (Generator(5, one.tables), Generator(5, two.tables))]
    assert texts[0] == texts[1]


def test_duckdb_answers_every_drawn_query(tmp_path: Path) -> None:
    world = World(9, tmp_path)
    world.batch(60)
    generator = Generator(9, world.tables)
    with duckdb.connect() as db:
        world.fill(db)
        for _ in range(60):
            rel = generator.query()
            compare.expected(db, rel.duck, rel.columns)
