"""The committed jar is what the sources give."""

import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from flinkddl.jvm import build

pytestmark = pytest.mark.long


def javac_major() -> int | None:
    if shutil.which("javac") is None:
        return None
    text = subprocess.run(["javac", "-version"], capture_output=True, text=True, check=True)
    found = re.search(r"javac (\d+)", text.stdout + text.stderr)
    return int(found.group(1)) if found else None


@pytest.mark.skipif(javac_major() != 17, reason="needs javac 17: class bytes differ between compilers")
def test_committed_jar_equals_a_fresh_build(tmp_path: Path) -> None:
    fresh = build.compile_classes(tmp_path)
    with zipfile.ZipFile(build.JAR) as z:
        committed = {n: z.read(n) for n in z.namelist()}
    assert sorted(committed) == sorted(fresh), "run python -m flinkddl.jvm.build"
    different = [n for n in fresh if fresh[n] != committed[n]]
    assert not different, "run python -m flinkddl.jvm.build"


def test_a_jar_depends_on_its_classes_alone(tmp_path: Path) -> None:
    classes = {"b/B.class": b"two", "a/A.class": b"one"}
    build.write_jar(classes, tmp_path / "1.jar")
    build.write_jar(dict(reversed(classes.items())), tmp_path / "2.jar")
    assert (tmp_path / "1.jar").read_bytes() == (tmp_path / "2.jar").read_bytes()
    with zipfile.ZipFile(tmp_path / "1.jar") as z:
        assert z.namelist() == ["a/A.class", "b/B.class"]


def test_java_stays_small() -> None:
    lines = sum(len(p.read_text().splitlines()) for p in build.SOURCES.rglob("*.java"))
    # 7,600 until state by key came (package state); it takes the place of the retracting aggregates in time.
    # 390 more: messages are read without building what nobody reads, and read again as wholes where that may differ.
    # 330 more: state by key that is forgotten by its age.
    # 100 more: this machine's files without a process a file.
    # 370 more: values of faker tables.
    # 2,300 more: Java functions of the user (package udf), their values, accumulators and class loaders.
    # 230 more: several nodes, and rows that pass, in one operator.
    # 110 more: Java aggregates over frames, parameters of the job, the record that a failing function was given.
    # 40 more: MIN, MAX, FIRST_VALUE and LAST_VALUE keep one value where no row is taken back.
    # 20 more: a kind goes on with groups of an older layout.
    # 10 more: rows that pass keep their order in a group, an operator counts its turns where it has no other order.
    # 370 more: outer, semi and anti joins that test a condition themselves.
    # 1,220 more: OVER by key, which runs from a mark before a change to where it makes no difference.
    # 410 more: outer, semi and anti joins that test a condition themselves.
    # 450 more: rows of a group are brought together before they are exchanged.
    # 10 more: rows of a real-time batch ask the clock.
    # 200 more: what each operator by key has done and keeps.
    # 190 more: what a group of state by key has given out, for operators that are new above it.
    # 640 more: windows in a chain, their timers, and event time as rows.
    # 640 more: sessions, Top-N and joins within windows, interval joins.
    # 110 more: what comes out of an operator is numbered, batch by batch, where its order counts.
    # 180 more: temporal joins; a row of any node sweeps all nodes of its stage.
    # 90 more: event time and late rows by node, what passes, entries that are taken over, rows as they lie in state.
    # 650 more: windows of slices that they share, state that may be over before its batch is.
    # 150 more: rows are brought together before they are bytes, in a table that keeps hashes apart from keys.
    assert lines < 18600, f"{lines} lines of Java"


@pytest.mark.parametrize("name", ["Functions", "Files", "JdbcSink", "KafkaSink", "KafkaSource"])
def test_classes_that_are_named_outside_the_jar_stay(name: str) -> None:
    """In settings, printed programs and the plans of checkpoints; state itself is bytes without a class of ours."""
    with zipfile.ZipFile(build.JAR) as z:
        assert f"flinkddl/{name}.class" in z.namelist()
