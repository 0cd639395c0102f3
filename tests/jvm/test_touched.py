"""What a change costs in a group of many rows: the pages on its way, and not the group."""

from __future__ import annotations

import pytest

from tests.support.java_probes import Probes
from tests.support.java_udf import needs_javac

pytestmark = [pytest.mark.spark, needs_javac]
SIZES = (2_000, 20_000, 200_000)


@pytest.fixture(scope="module")
def probes(tmp_path_factory: pytest.TempPathFactory) -> Probes:
    return Probes(tmp_path_factory.mktemp("touched"), "OverProbe", "TouchedProbe")


@pytest.mark.parametrize("kind", ["max", "min", "dcount", "top"])
def test_a_change_touches_few_pages(probes: Probes, kind: str) -> None:
    """Ten times the first row goes, the next comes forward, five come somewhere: hardly more of a hundredfold group."""
    found = [[int(n) for n in probes.run("TouchedProbe", kind, size)[0].split()] for size in SIZES]
    touched, pages = zip(*found, strict=True)
    assert pages[2] > 10 * touched[2], found
    assert touched[2] < 100, found
    assert touched[2] <= touched[1] + 45, found
