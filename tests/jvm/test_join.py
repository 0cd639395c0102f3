"""Joins by key: the pairs of a hot key go out one after the other, they are never all in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.java_probes import Probes
from tests.support.java_udf import needs_javac

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.long, needs_javac]


def test_a_hot_key_in_one_batch(tmp_path: Path) -> None:
    """Nine million pairs take 900 MB, of their rows' views alone."""
    probes = Probes(tmp_path, "OverProbe", "TopProbe", "JoinProbe")
    assert probes.run("JoinProbe", 3000, options=["-Xmx96m"]) == ["9000000"]
