"""The table of known differences: every entry is a recorded case, and a run of all cases finds no others."""

from __future__ import annotations

import json

import pytest

from tests.conformance import expressions
from tests.conformance.known import CLASSES, known

IDS = [
    json.loads(line)["id"]
    for name in ("scalars", "aggregates")
    for line in (expressions.SHARED / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
]


def test_every_entry_is_a_recorded_case() -> None:
    listed = [i for k in CLASSES for i in k.ids]
    assert set(listed) <= set(IDS)
    assert len(listed) == len(set(listed))


@pytest.mark.spark
@pytest.mark.slow
def test_a_run_finds_no_other_difference() -> None:
    different = [o.id for o in expressions.run("expressions", None, (), 1) if o.status != "passed"]
    assert [i for i in different if known(i) is None] == []
    assert len(different) / len(IDS) <= 0.03
