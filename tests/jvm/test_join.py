"""Joins by key: the pairs of a hot key go out one after the other, they are never all in memory."""

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
pytestmark = [pytest.mark.long, needs_javac]


def test_a_hot_key_in_one_batch(tmp_path: Path) -> None:
    """Nine million pairs take 900 MB, of their rows' views alone."""
    path = f"{build.JAR}{os.pathsep}{build.class_path()}"
    probes = [str(HERE / f"{name}.java") for name in ("OverProbe", "TopProbe", "JoinProbe")]
    subprocess.run([str(shutil.which("javac")), "-nowarn", "-cp", path, "-d", str(tmp_path), *probes], check=True)
    java = [str(shutil.which("java")), "-Xmx96m", "-XX:TieredStopAtLevel=1", *OPENS]
    command = [*java, "-cp", f"{tmp_path}{os.pathsep}{path}", "flinkddl.state.JoinProbe", "3000"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "9000000", done.stderr[-3000:]
