"""What a change costs in a group of many rows: the pages on its way, and not the group."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.java_probes import Probes
from tests.support.java_udf import needs_javac

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.spark, needs_javac]
KINDS = ("max", "min", "dcount", "top")
SIZES = (2_000, 20_000, 200_000)


def test_a_change_touches_few_pages(tmp_path: Path) -> None:
    """Ten times the first row goes, the next comes forward, five come somewhere: hardly more of a hundredfold group."""
    probes = Probes(tmp_path, "OverProbe", "TouchedProbe")
    said = [line.split() for line in probes.run("TouchedProbe", ",".join(KINDS), ",".join(map(str, SIZES)))]
    for kind in KINDS:
        touched, pages = zip(*((int(n), int(of)) for k, n, of in said if k == kind), strict=True)
        assert pages[2] > 10 * touched[2], said
        assert touched[2] < 60, said
        assert touched[2] <= touched[1] + 12, said
