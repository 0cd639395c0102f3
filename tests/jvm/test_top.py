"""Top-N by key over state of an earlier version: partitions in layout 1 beside new ones in layout 2."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from flinkddl.jvm import build
from tests.support.java_program import OPENS
from tests.support.java_udf import needs_javac

HERE = Path(__file__).parent
WRITTEN = HERE.parent / "data" / "top_layout_1.txt"
"""What ``TopProbe write`` made of four partitions with the jar before commit 630da2a, in pages of 300 bytes."""
pytestmark = [pytest.mark.spark, needs_javac]


def test_partitions_of_the_first_layout_go_on(tmp_path: Path) -> None:
    """60 batches each, with rows taken back that the old version had put: the places are those of a sorted list."""
    path = f"{build.JAR}{os.pathsep}{build.class_path()}"
    probes = [str(HERE / f"{name}.java") for name in ("OverProbe", "TopProbe")]
    subprocess.run([str(shutil.which("javac")), "-nowarn", "-cp", path, "-d", str(tmp_path), *probes], check=True)
    java = [str(shutil.which("java")), "-XX:TieredStopAtLevel=1", "-Dflinkddl.state.page=300", *OPENS]
    command = [*java, "-cp", f"{tmp_path}{os.pathsep}{path}", "flinkddl.state.TopProbe", "read", str(WRITTEN)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    groups = [line.split() for line in done.stdout.splitlines()]
    # the layout that each was in and is in, that of a partition which begins beside it, and whether rows only come
    assert [g[:4] for g in groups] == [["1", "1", "2", grows] for grows in ("false", "false", "true", "true")]
    assert all(int(rows) >= 15 for *_, grows, rows in groups if grows == "false")
