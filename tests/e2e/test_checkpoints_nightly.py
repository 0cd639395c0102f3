"""What test_checkpoints.py shows, where it takes longer: on a real HDFS, and by command lines, one of them killed."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from flinkddl.runtime.storage.file_systems import SparkStorage, storage_of
from flinkddl.runtime.storage.hold import holder
from tests.e2e import test_checkpoints as cases
from tests.e2e.test_checkpoints import stage
from tests.runtime.test_storage import keeps_its_promises
from tests.support.hdfs import hdfs_cluster
from tests.support.spark import SHORT_LIVED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from flinkddl.runtime.storage.hold import Owner
    from tests.e2e.test_checkpoints import Stage

pytestmark = [pytest.mark.kafka, pytest.mark.slow]
__all__ = ["stage"]  # the fixture


@pytest.fixture(scope="module")
def hdfs() -> Iterator[str]:
    with hdfs_cluster() as uri:
        yield uri


def test_files_of_hdfs(spark: SparkSession, hdfs: str) -> None:
    storage, root = storage_of(spark, f"{hdfs}/promises")
    assert isinstance(storage, SparkStorage)
    keeps_its_promises(storage, root)


def test_hdfs_knows_the_plan(stage: Stage, hdfs: str) -> None:
    cases.knows_the_plan(stage, f"{hdfs}/plan", "COUNT")


def test_windows_are_closed_at_the_end_through_hdfs(stage: Stage, hdfs: str) -> None:
    cases.test_windows_are_closed_at_the_end_through_another_file_system(stage, f"{hdfs}/windows")


JOB = """
CREATE TABLE ticks (id INT) WITH ('connector' = 'datagen', 'rows-per-second' = '100');
CREATE TABLE nowhere (id INT) WITH ('connector' = 'blackhole');
INSERT INTO nowhere SELECT id FROM ticks;
"""


def test_a_killed_run_lets_go_and_a_path_means_what_spark_says(spark: SparkSession, hdfs: str, tmp_path: Path) -> None:
    (tmp_path / "job.sql").write_text(JOB)
    name = "insert-into_default_catalog.default_database.nowhere"
    storage, folder = storage_of(spark, f"{hdfs}/killed/{name}/{name}")

    def run() -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "flinkddl", "run", str(tmp_path / "job.sql"), "--checkpoint", "/killed"]
        conf = SHORT_LIVED | {"spark.driver.memory": "700m", "spark.hadoop.fs.defaultFS": hdfs}
        command += [word for key, value in conf.items() for word in ("--conf", f"{key}={value}")]
        command += ["--master", "local[2]"]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def held_by(process: subprocess.Popen[str]) -> Owner:
        for _ in range(600):
            owner = holder(storage, folder)
            if owner is not None and owner.pid == process.pid:
                return owner
            assert process.poll() is None, process.stdout and process.stdout.read()
            time.sleep(0.2)
        raise AssertionError("it does not start")

    first = run()
    owner = held_by(first)
    second = run()
    told, _ = second.communicate(timeout=120)
    assert second.returncode == 3
    assert f"FD823: the checkpoint '{folder}' is held by process {first.pid} of user " in told.replace("\n", " ")
    assert f"run {owner.run}, since {owner.since}" in told
    assert first.poll() is None
    first.kill()
    first.wait()
    third = run()
    assert held_by(third).run != owner.run
    third.send_signal(signal.SIGTERM)
    assert third.wait(100) == 0
    assert holder(storage, folder) is None
