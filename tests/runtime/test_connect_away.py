"""A Spark Connect server that is not there is said soon, not after the nine minutes that PySpark tries."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.spark, pytest.mark.timeout(200)]
NOBODY = "sc://127.0.0.1:1/;token=hunter2"
SQL = "CREATE TABLE g (a INT) WITH ('connector' = 'datagen', 'number-of-rows' = '1'); SELECT a FROM g;"
OWN = f"""
from pyspark.sql import SparkSession
from flinkddl.api import Catalog
from flinkddl.diagnostics import FlinkDdlError
try:
    catalog = Catalog(SparkSession.builder.remote({NOBODY!r}).getOrCreate())
    catalog.execute({SQL!r}).collect()
except FlinkDdlError as error:
    raise SystemExit(str(error))
"""
PLACES = {"run": "'sc://127.0.0.1:1/;token=******'", "Catalog": "'127.0.0.1'"}


@pytest.mark.parametrize("how", PLACES)
def test_nobody_there_is_a_sentence_within_15_seconds(how: str, tmp_path: Path) -> None:
    """In a process of its own: PySpark refuses a remote session beside one of this machine."""
    (tmp_path / "job.sql").write_text(SQL)
    run = ["-m", "flinkddl", "run", str(tmp_path / "job.sql"), "--remote", NOBODY]
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, *(run if how == "run" else ["-c", OWN])], capture_output=True, text=True, check=False
    )
    assert time.monotonic() - began < 15
    assert done.returncode == (3 if how == "run" else 1)
    assert f"FD810: no Spark Connect server answers at {PLACES[how]}: " in done.stderr
    assert "hunter2" not in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) < 4, done.stderr
