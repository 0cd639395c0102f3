"""Top-N by key over state of an earlier version: partitions in layout 1 beside new ones in layout 2."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.java_probes import Probes
from tests.support.java_udf import needs_javac

WRITTEN = Path(__file__).parents[1] / "data" / "top_layout_1.txt"
"""What ``TopProbe write`` made of four partitions with the jar before commit 630da2a, in pages of 300 bytes."""
PAGES = "-Dflinkddl.state.page=300"
pytestmark = [pytest.mark.spark, needs_javac]


def test_partitions_of_the_first_layout_go_on(tmp_path: Path) -> None:
    """60 batches each, with rows taken back that the old version had put: the places are those of a sorted list."""
    probes = Probes(tmp_path, "OverProbe", "TopProbe")
    groups = [line.split() for line in probes.run("TopProbe", "read", WRITTEN, options=[PAGES])]
    # the layout that each was in and is in, that of a partition which begins beside it, and whether rows only come
    assert [g[:4] for g in groups] == [["1", "1", "2", grows] for grows in ("false", "false", "true", "true")]
    assert all(int(rows) >= 15 for *_, grows, rows in groups if grows == "false")
