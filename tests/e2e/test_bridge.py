"""The catalog inside Spark's own session: bridge_cases.py here, on a session of the user's own, and on one of ours."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.bridge_cases import *  # noqa: F403 - the cases themselves
from tests.e2e.support import passed_cases
from tests.support.nightly import nightly

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.kafka


OURS = (
    "ddl_makes_temp_views", "updates_are_changes", "users_own_is_left", "a_select_is", "a_printed_program",
)  # fmt: skip
"""One of each kind; the nightly run takes all."""


@pytest.mark.parametrize("cases", [OURS, nightly(())])
def test_the_same_on_a_session_of_the_catalog(broker, cases):
    passed = passed_cases(broker, "ours", ["tests/e2e/bridge_cases.py"], cases)
    assert passed == len(cases) if cases else passed > len(OURS)


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
