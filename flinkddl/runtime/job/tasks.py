"""Rows that connectors write from Spark's Python workers, a task each: for what Spark has no sink of its own.

A stream hands over each micro-batch: at least once, in the order of a task's rows. Spark's Python data sources are no
way there: a stream may only append to one (PythonWriteBuilder takes no updates).
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.runtime.session.connect import is_connect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql import DataFrame


def by_tasks(frame: DataFrame, writer: str, options: Mapping[str, str]) -> None:
    """Let the function ``module:name`` write the rows of each task. Raises FD246."""
    _check_session(frame, writer)
    frame.foreachPartition(partial(loaded(writer), dict(options)))


def batches(frame: DataFrame, writer: str, options: Mapping[str, str]) -> Callable[[DataFrame, int], None]:
    """Return the function for ``foreachBatch`` of a stream that writes each micro-batch so. Raises FD246."""
    _check_session(frame, writer)
    loaded(writer)
    return lambda batch, number: by_tasks(batch, writer, options)


def _check_session(frame: DataFrame, writer: str) -> None:
    if is_connect(frame.sparkSession):
        message = f"'{writer}' writes from Python, which a Spark Connect server runs without this process's packages"
        raise FlinkDdlError.of("FD246", message, help="run the job with a session of this process")


def loaded(writer: str) -> Callable[[Mapping[str, str], Iterator[Any]], None]:
    """Return the function ``module:name``, which takes options and rows. Raises FD246."""
    module, _, name = writer.partition(":")
    try:
        found: Callable[[Mapping[str, str], Iterator[Any]], None] = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        message = f"what writes the rows, '{writer}', cannot be loaded: {error}"
        help = f"pip install {error.name}" if isinstance(error, ModuleNotFoundError) and error.name else None
        raise FlinkDdlError.of("FD246", message, help=help) from error
    return found
