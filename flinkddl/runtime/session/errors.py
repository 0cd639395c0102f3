"""What an error of Spark says: all of it, its reason in one line, and whether Spark's Java process is gone."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.machine.cache import log_file
from flinkddl.runtime.session.connect import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CAUSE = re.compile(r"^(?:Caused by: )?((?:[a-z_]\w*\.)+[A-Z][\w$]*(?:Exception|Error)\w*): (.*)$", re.MULTILINE)
_CLASS = re.compile(r"\[([A-Z][A-Z0-9_.]+)\] ")
_TRACEBACK = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t].*\n)*(\S.*)")


def full_text(error: Exception) -> str:
    """Return everything that a PySpark error knows: message, Java stack and causes."""
    parts = [str(error)]
    for name in ("stackTrace", "_stackTrace", "java_exception"):
        value: Any = getattr(error, name, None)
        if value:
            parts.append(str(value))
    cause: Any = getattr(error, "cause", None) or getattr(error, "_cause", None)
    if isinstance(cause, Exception):
        parts.append("Caused by: " + full_text(cause))
    return "\n".join(parts)


def reason(text: str) -> str:
    """Return the innermost cause in one line, without Java class, Spark's error class and SQLSTATE."""
    python = _TRACEBACK.search(text)
    if python is not None:
        return f"the Python function failed: {python[1].strip()}"
    causes = [message for _, message in _CAUSE.findall(text) if message.strip()]
    telling = [m for m in causes if not m.startswith(("Job aborted", "Task failed", "[TASK_WRITE_FAILED]"))]
    line = (telling or causes or text.strip().splitlines() or ["unknown reason"])[-1 if causes else 0]
    line = re.sub(r"\s*SQLSTATE: \w+.*$", "", _CLASS.sub("", line)).strip()
    return line.rstrip(".") or "unknown reason"


# ---- Java is gone, killed by the kernel or by somebody: one sentence, not py4j's sixty lines ------------------------


class _NotOfPy4j(logging.Filter):
    """py4j tells, with a traceback, of each call that gets no answer and of each batch whose writer failed."""

    def filter(self, record: logging.LogRecord) -> bool:
        said = str(record.msg)
        return not (
            (record.module == "java_gateway" and "while sending command" in said)
            or (record.module == "clientserver" and "while executing the Python Proxy" in said)
        )


_QUIET = _NotOfPy4j()
_TOLD_OF_CALLS = ("", "py4j.clientserver")  # loggers: a filter hears what is said to its own alone


def quiet_py4j() -> None:
    """Keep py4j's tracebacks off stderr: whoever calls Java gets the error and says what it means.

    A writer's error goes to Java and comes back as that of its query.
    """
    for name in _TOLD_OF_CALLS:
        logging.getLogger(name).addFilter(_QUIET)


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
