"""The folder of a job's checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from flinkddl.lower.job import SparkJob
from flinkddl.runtime.checkpoint import folder_name, open_checkpoint

if TYPE_CHECKING:
    from pathlib import Path

SINKS = "insert-into_" + "_".join(f"default_catalog.default_database.orders_{i}" for i in range(20))
NAMES = ["insert-into_default_catalog.default_database.orders", "shop/daily", SINKS, SINKS + "_more", "täglich" * 60]


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
@pytest.mark.parametrize("lasting", [True, False])
def test_a_job_of_any_name_has_a_folder(name: str, lasting: bool, tmp_path: Path) -> None:
    job = SparkJob(name=name, steps=(), writes=(), settings={}, streaming=True)
    checkpoint = open_checkpoint(job, str(tmp_path) if lasting else None)
    assert checkpoint.local is not None
    assert checkpoint.local.is_dir()
    assert not lasting or checkpoint.local.parent == tmp_path
    checkpoint.remove()


def test_names_stay_apart() -> None:
    assert folder_name(NAMES[0]) == NAMES[0]
    assert len({folder_name(n) for n in (*NAMES, "shop_daily")}) == len(NAMES) + 1
