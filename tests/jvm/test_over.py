"""OVER by key beside the aggregate ``retract_over``: the same tables, batch by batch, and few pages a change."""

from __future__ import annotations

import pytest

from tests.support.java_probes import Probes
from tests.support.java_udf import needs_javac
from tests.support.nightly import nightly

pytestmark = [pytest.mark.spark, needs_javac]


@pytest.fixture(scope="module")
def probes(tmp_path_factory: pytest.TempPathFactory) -> Probes:
    return Probes(tmp_path_factory.mktemp("over"), "OverProbe")


def probe(probes: Probes, *args: object, page: int = 300) -> list[str]:
    """Return what the probe says; small pages make deep trees of few rows, and many marks."""
    return probes.run("OverProbe", *args, options=[f"-Dflinkddl.state.page={page}"])


@pytest.mark.parametrize(("seed", "cases"), [(0, 40), nightly(1000, 600)])
def test_the_same_as_the_aggregate(probes: Probes, seed: int, cases: int) -> None:
    """Any frame and calls; rows late, out of order, taken back, before they came too; each batch twice."""
    assert probe(probes, "random", seed, cases) == ["0 wrong"]


@pytest.mark.parametrize(
    ("kind", "preceding", "more"), [nightly("sum", 100, 4), ("max", 100, 4), ("sum", -1, 4), nightly("dcount", -1, 30)]
)
def test_a_change_touches_few_pages(probes: Probes, kind: str, preceding: int, more: int) -> None:
    """Ten rows at the end of 1,000 and of 20,000 touch as many pages; so do some in the middle of bounded frames.

    ``more``: of a tree of 1,000 DISTINCT values the ten lie in fewer pages.
    """
    (small,), (large,) = (probe(probes, "touched", rows, preceding, kind, page=4096) for rows in (1_000, 20_000))
    end, middle = ([int(said.split()[n]) for said in (small, large)] for n in (2, 4))
    assert end[1] <= end[0] + more, (small, large)
    assert int(large.split()[3]) == 10
    if preceding >= 0:
        assert middle[1] <= middle[0] + 12, (small, large)
        assert int(large.split()[5]) < 60
