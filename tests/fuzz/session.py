"""A small Spark session for the fuzzer, told to spend as little as it can on a batch of a few rows."""

from __future__ import annotations

from functools import cache
from typing import Any

from tests.support.spark import QUICK

CHECKPOINTS = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
RAW = "spark.hadoop.fs.file.impl"
CHEAP = {
    "spark.driver.memory": "5g",  # with 2g a fifth of the time goes to garbage
    "spark.driver.extraJavaOptions": QUICK,
    "spark.sql.ui.retainedExecutions": "2",
    "spark.network.timeout": "2h",  # a run may be stopped for a while where something else needs the machine
    "spark.default.parallelism": "1",
    # Hadoop's local file system forks a process for the mode of each file it makes; its raw one does not
    RAW: "org.apache.hadoop.fs.RawLocalFileSystem",
    "spark.sql.streaming.checkpointFileManagerClass": CHECKPOINTS,
}


@cache
def fuzz_session(keyed: bool = False) -> Any:
    """Return the session of this process. ``keyed``: Spark copies snapshots of such state as a LocalFileSystem."""
    from flinkddl.runtime.session.sessions import SparkOptions, build_session

    conf = {key: value for key, value in CHEAP.items() if not (keyed and key == RAW)}
    return build_session(SparkOptions(master="local[2]", conf=conf))
