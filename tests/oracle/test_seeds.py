"""The verdicts on the documents' blocks that lie beside them are those of a real Flink."""

from __future__ import annotations

import pytest

from tests.oracle import seeds


@pytest.mark.flink
def test_kept_verdicts_are_flinks() -> None:
    if not seeds.ORACLE.exists():
        pytest.skip(f"no Flink at {seeds.ORACLE}")
    assert seeds.ask() == seeds.kept()
