"""The catalog inside Spark's own session: bridge_cases.py here, on a session of the user's own, and on two others."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.bridge_cases import *  # noqa: F403 - the cases themselves
from tests.support.nightly import nightly

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.kafka


OURS = (
    "ddl_makes_temp_views", "updates_are_changes", "users_own_is_left", "a_batch_dataframe_joins", "a_select_is",
    "with_tombstones", "a_printed_program",
)  # fmt: skip
REMOTE = (
    "ddl_makes_temp_views", "a_batch_view_reads_anew", "use_moves_names", "do_not_depend", "has_no_type",
    "is_written_by_name", "with_tombstones", "stop_takes_ours",
)  # fmt: skip
"""One of each kind, on one of the two sessions; the nightly run takes all on both."""


@pytest.mark.parametrize(
    ("kind", "cases"),
    [
        ("ours", OURS),
        ("remote", REMOTE),
        nightly("ours", ()),
        nightly("remote", ()),
    ],
)
def test_the_same_on_another_kind_of_session(kind, cases):
    if kind == "remote":
        pytest.importorskip("grpc", reason="pyspark[connect] is not installed")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/e2e/bridge_cases.py"]
    command += ["-k", " or ".join(cases)] if cases else []
    environment = {**os.environ, "FLINKDDL_SESSION": kind}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=560, check=False, env=environment)
    assert done.returncode == 0, done.stdout[-6000:]
    passed = int(re.search(r"(\d+) passed", done.stdout)[1])
    assert passed == len(cases) if cases else passed > len(OURS + REMOTE)


def test_nothing_is_started_before_it_is_needed():
    """Without a session DDL starts no Java, and the views come with the session."""
    script = """
import sys
from flinkddl.api import Catalog
from flinkddl.runtime.session.sessions import SparkOptions
catalog = Catalog(options=SparkOptions(master="local[2]"))
catalog.execute("CREATE TABLE numbers (id INT) WITH ('connector' = 'datagen', 'number-of-rows' = '3')")
assert "pyspark" not in sys.modules, "DDL alone needs no Spark"
assert [t.view for t in catalog.tables()] == [None]
assert catalog.schema("numbers").simpleString() == "struct<id:int>"
assert catalog.spark.table("numbers").count() == 3
assert [t.view for t in catalog.tables()] == ["numbers"]
catalog.stop()
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
