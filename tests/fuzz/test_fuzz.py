"""Some random queries in every run, 300 in the nightly one; ``python -m tests.fuzz`` runs any number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pytest

from tests.fuzz import compare
from tests.fuzz.queries import Generator
from tests.fuzz.trial import Summary, draw, run_group
from tests.fuzz.world import World

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

QUICK = 2
GROUP = 5


@pytest.mark.spark
@pytest.mark.parametrize("seed", range(1, QUICK + 1))
def test_random_queries(spark: SparkSession, seed: int) -> None:
    found = run_group(spark, seed, GROUP)
    assert found.cases == GROUP
    assert not found.divergences, "\n\n".join(found.divergences)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_three_hundred_cases(spark: SparkSession) -> None:
    total = Summary(7)
    for n in range(38):
        total.add(run_group(spark, 7_000 + n, 8, "rocksdb" if n % 8 == 0 else "memory"))
    assert total.cases > 300
    assert not total.divergences, total.line() + "\n\n" + "\n\n".join(total.divergences)


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
