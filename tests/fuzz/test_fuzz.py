"""300 random queries in every run; ``python -m tests.fuzz`` runs any number, in the nightly target 3,000."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import duckdb
import pytest

from tests.fuzz import compare
from tests.fuzz.queries import Generator
from tests.fuzz.trial import Summary, draw
from tests.fuzz.world import World

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.spark
@pytest.mark.timeout(3600)
def test_three_hundred_cases(capsys: pytest.CaptureFixture[str]) -> None:
    command = [sys.executable, "-m", "tests.fuzz", "--cases", "300", "--seed", "7"]
    output: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            output.append(line)
            with capsys.disabled():
                print("\nfuzz:", line.rstrip(), end="", flush=True)  # it takes minutes: who waits sees how far it is
    assert process.returncode == 0, "".join(output)
    assert "seed 7: 300 cases" in output[-1]


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
