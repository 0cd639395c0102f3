"""A Java function on executors that are processes of their own: run by test_java_functions.py."""

from __future__ import annotations

import sys

from flinkddl.runtime.session.java_jars import ship_java
from flinkddl.runtime.session.sessions import SparkOptions, build_session, job_session
from flinkddl.spark.java_functions import java_call
from tests.support.spark import SHORT_LIVED


def main(jar: str, spec: str) -> None:
    """Print what a function of ``spec`` gives for numbers as texts."""
    session = build_session(
        SparkOptions(master="local-cluster[2,1,512]", conf=SHORT_LIVED | {"spark.executor.memory": "512m"})
    )
    job = job_session(session, {})
    ship_java(job, [jar])
    frame = job.range(0, 4, numPartitions=4).selectExpr(f"{java_call(spec, ['CAST(id AS STRING)'])} AS v")
    print(sorted(r.v for r in frame.collect()))
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
