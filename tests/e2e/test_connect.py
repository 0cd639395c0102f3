"""Spark Connect: the cases of connect_cases.py in a process of their own; PySpark has one kind of session in one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("grpc", reason="pyspark[connect] is not installed")
ROOT = Path(__file__).parents[2]


@pytest.mark.kafka
def test_jobs_over_spark_connect() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/e2e/connect_cases.py"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=560, check=False)
    assert done.returncode == 0, done.stdout[-6000:]
    assert "10 passed" in done.stdout
