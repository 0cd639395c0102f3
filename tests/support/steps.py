"""What holds of the steps of any job."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flinkddl.spark.job import Step


def assert_in_order(steps: Sequence[Step]) -> None:
    """Each step reads earlier ones, and each but the last is read."""
    seen: set[str] = set()
    for step in steps:
        assert set(step.reads) <= seen, step
        seen.add(step.name)
    assert len(seen) == len(steps)
    assert len({r for s in steps for r in s.reads}) == len(steps) - 1
