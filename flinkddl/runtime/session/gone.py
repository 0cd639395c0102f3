"""Spark's Java process is gone, killed by the kernel or by somebody: one sentence, not py4j's sixty lines."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.machine.cache import log_file
from flinkddl.runtime.session.connect import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class _NotOfPy4j(logging.Filter):
    """py4j tells the root logger, with a traceback, of each call that gets no answer."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not (record.module == "java_gateway" and "while sending command" in str(record.msg))


_QUIET = _NotOfPy4j()


def quiet_py4j() -> None:
    """Keep py4j's tracebacks off stderr: whoever calls Java gets the error and says what it means."""
    logging.getLogger().addFilter(_QUIET)


def has_java(spark: SparkSession) -> bool:
    """Return whether the Java process of a session of this machine answers; of a Connect session always."""
    if is_connect(spark):
        return True
    try:
        return bool(spark.version)  # asked of Java; a session that was stopped answers too
    except Exception:  # noqa: BLE001 - whatever py4j calls it, Java did not answer
        return False


def java_gone(spark: SparkSession) -> FlinkDdlError | None:
    """Return what to say when Spark's Java process has ended under a job, else None."""
    if has_java(spark):
        return None
    log = log_file()
    help = "a machine without memory is the usual reason (`dmesg` tells of it): less with --conf spark.driver.memory=.."
    help += "; with a checkpoint folder the job goes on where it was when it is run again"
    message = "Spark's Java process has ended under the job" + (f", its log is '{log}'" if log is not None else "")
    return FlinkDdlError.of("FD828", message, help=help)


def end_session(spark: SparkSession) -> None:
    """Stop a session; where Java is gone there is nothing left to stop."""
    try:
        spark.stop()
    except Exception:
        if has_java(spark):
            raise
