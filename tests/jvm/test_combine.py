"""Rows that a task brings together before they are exchanged: as few as the kind needs, and none where it cannot."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from flinkddl.jvm import build
from tests.support.java_program import OPENS
from tests.support.java_udf import needs_javac

PROBE = Path(__file__).with_name("CombineProbe.java")
pytestmark = [pytest.mark.long, needs_javac]


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("combine")
    path = f"{build.JAR}{os.pathsep}{build.class_path()}"
    subprocess.run([str(shutil.which("javac")), "-nowarn", "-cp", path, "-d", str(folder), str(PROBE)], check=True)
    return f"{folder}{os.pathsep}{path}"


@pytest.mark.parametrize(
    ("of", "rows", "groups", "said"),
    [
        pytest.param("latest", 10_000, 7, f"7 {sum(range(9_993, 10_000))}", id="the newest of each key"),
        pytest.param("totals", 10_000, 7, "7", id="a row a group, of sums and values"),
        pytest.param("top", 10_000, 7, f"21 {sum(range(21))}", id="the first three of each group"),
        pytest.param(
            "toptaken", 10_000, 7, f"10000 {sum(range(10_000))}", id="rows that can be taken back go on as they are"
        ),
        pytest.param("lists", 10_000, 7, "each by itself", id="a list asks when a row came"),
        pytest.param("latest", 3, 7, "3 3", id="fewer rows than groups"),
        pytest.param("latest", 0, 7, "0 0", id="no rows"),
        pytest.param("latest", 200_000, 200_000, f"200000 {sum(range(200_000))}", id="more than the table takes"),
    ],
)
def test_rows_that_come_out_of_a_task(classes: str, of: str, rows: int, groups: int, said: str) -> None:
    java = [str(shutil.which("java")), "-Xmx256m", "-XX:TieredStopAtLevel=1", *OPENS, "-cp", classes]
    command = [*java, "flinkddl.state.CombineProbe", of, str(rows), str(groups)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == said, done.stderr[-3000:]
