"""The folder of a job's checkpoint."""

from __future__ import annotations

import os
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flinkddl.runtime.storage.checkpoint import Checkpoint, job_folder, open_checkpoint
from flinkddl.spark.folders import folder_name
from flinkddl.spark.job import SparkJob

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


LEADS_OUT = ["..", ".", "", "../..", "../../etc", "/etc", "a/../..", "a\x00b", "..\\..", "\ud800", "..\n"]
TEXT = st.text(st.sampled_from("./\\ab_-\x00\n ä") | st.characters(), max_size=30)


@pytest.mark.parametrize("name", LEADS_OUT, ids=ascii)
@given(other=TEXT)
@settings(max_examples=30)
def test_no_name_leads_out_of_the_checkpoint_folder(name: str, other: str) -> None:
    for given_name in (name, other):
        folder = PurePosixPath(job_folder("/state", named(given_name)))
        assert os.path.normpath(folder) == str(folder)
        assert folder.parent == PurePosixPath("/state")
        checkpoint = Checkpoint("/state/job", temporary=False)
        for inner, root in [
            (checkpoint.location(given_name), "/state/job"),
            (checkpoint.control(given_name), "/state/job/control"),
            (checkpoint.frame(given_name), "/state/job/frames"),
        ]:
            assert os.path.normpath(inner) == inner
            assert inner.startswith(root + "/")
            assert "\x00" not in inner
    assert name == other or job_folder("", named(name)) != job_folder("", named(other))


def named(name: str) -> SparkJob:
    return SparkJob(name=name, steps=(), writes=(), settings={}, streaming=True)


# folder names of checkpoints that older versions wrote: these never change
OLD = {
    "orders": "orders",
    ".hidden": ".hidden",
    "...": "...",
    "shop/daily": "shop_daily-03f4be62",
    "a b": "a_b-c8687a08",
    "x" * 201: "x" * 191 + "-84a0678c",
}
OLD_INSIDE = ["default_catalog.default_database.täglich", "orders at noon", "a/b", "result", "x" * 255]


@pytest.mark.parametrize(("name", "folder"), OLD.items(), ids=range(len(OLD)))
def test_folders_of_old_checkpoints_are_found(name: str, folder: str) -> None:
    assert folder_name(name) == folder


@pytest.mark.parametrize("name", OLD_INSIDE, ids=range(len(OLD_INSIDE)))
def test_folders_of_old_writes_are_found(name: str) -> None:
    assert Checkpoint("/state/job", temporary=False).location(name) == f"/state/job/{name}"
