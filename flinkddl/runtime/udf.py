"""User functions of a job: ``CREATE FUNCTION`` with a Python function or a Java class, registered in its session."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from flinkddl.diagnostics import FlinkDdlError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession, name: str, target: str) -> None:
    """Register ``name``: ``python:module.function`` (a PySpark UDF, or a function with a return type hint of its own
    ``returnType`` attribute) or ``java:class`` (a Spark UDF class on the class path).

    Raises FD834 when it cannot be loaded.
    """
    language, _, path = target.partition(":") if ":" in target else ("python", ":", target)
    try:
        if language == "java":
            spark.udf.registerJavaFunction(name, path)
            return
        module, _, attribute = path.rpartition(".")
        function: Any = getattr(import_module(module), attribute)
        is_udf = hasattr(function, "evalType") or not hasattr(function, "returnType")
        spark.udf.register(name, function, *([] if is_udf else [function.returnType]))
    except Exception as error:
        message = f"the function '{name}' cannot be loaded from '{path}': {error}"
        raise FlinkDdlError.of("FD834", message, help="check the path, and that the module is importable") from error
