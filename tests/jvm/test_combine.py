"""Rows that a task brings together before they are exchanged: as few as the kind needs, and none where it cannot."""

from __future__ import annotations

import pytest

from tests.support.java_probes import Probes
from tests.support.java_udf import needs_javac

pytestmark = [pytest.mark.long, needs_javac]


@pytest.fixture(scope="module")
def probes(tmp_path_factory: pytest.TempPathFactory) -> Probes:
    return Probes(tmp_path_factory.mktemp("combine"), "CombineProbe")


@pytest.mark.parametrize(
    ("of", "rows", "groups", "said"),
    [
        pytest.param("latest", 10_000, 7, f"7 {sum(range(9_993, 10_000))}", id="the newest of each key"),
        pytest.param("totals", 10_000, 7, "7 10000", id="a row a group, of sums and values"),
        pytest.param("top", 10_000, 7, f"21 {sum(range(21))}", id="the first three of each group"),
        pytest.param(
            "toptaken", 10_000, 7, f"10000 {sum(range(10_000))}", id="rows that can be taken back go on as they are"
        ),
        pytest.param("topnone", 100, 7, f"100 {sum(range(100))}", id="a group without places"),
        pytest.param("lists", 10_000, 7, "each by itself", id="a list asks when a row came"),
        pytest.param("latest", 3, 7, "3 3", id="fewer rows than groups"),
        pytest.param("latest", 0, 7, "0 0", id="no rows"),
        pytest.param("latest", 200_000, 200_000, f"200000 {sum(range(200_000))}", id="more than the table takes"),
    ],
)
def test_rows_that_come_out_of_a_task(probes: Probes, of: str, rows: int, groups: int, said: str) -> None:
    assert probes.run("CombineProbe", of, rows, groups, options=["-Xmx256m"]) == [said]


def test_tables_are_filled_more_than_once(probes: Probes) -> None:
    """The newest row of each key is among what comes out, which is less than came in."""
    said = probes.run("CombineProbe", "latest", 400_000, 100_000, "again", options=["-Xmx192m"])
    assert said == [f"100000 {sum(range(300_000, 400_000))} true"]
