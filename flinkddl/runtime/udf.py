"""User functions of a job: ``CREATE FUNCTION`` with a Python function or a Java class, registered in its session.

A Python module is imported only where the user names it (``--udf``, ``--allow-python``, ``Catalog(allow_python=..)``):
its target then begins with ``python:``. A target ``script:..`` is one that nobody but the script names.
"""

from __future__ import annotations

import os
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

from flinkddl.catalog.state import is_named
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.functions.user import UndeclaredTypes, imported, untouchable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import SparkSession

    from flinkddl.diagnostics import Span
    from flinkddl.spark.job import SparkJob

VARIABLE = "FLINKDDL_ALLOW_PYTHON"
"""Names the modules of a printed program that ``compile`` was not told of, separated by commas."""
JARS_VARIABLE = "FLINKDDL_ALLOW_JAR"
"""Names the jars of such a program, likewise."""


def refuse_foreign(job: SparkJob, span: Span | None = None) -> None:
    """Raise FD670 for the first Python function whose module only the script names, FD524 for a jar of a Java one."""
    refuse_unnamed(job.udfs, span)
    refuse_unnamed_jars((jar for jar, named in job.jars.items() if not named), span)


def refuse_unnamed_jars(jars: Iterable[str], span: Span | None = None) -> None:
    """Raise FD524 for the first jar, unless the environment names it: nobody but the script does."""
    given = [os.path.abspath(p.strip()) for p in os.environ.get(JARS_VARIABLE, "").split(",") if p.strip()]
    for jar in jars:
        if not is_named(jar, given):
            message = f"Java functions out of the jar '{jar}' would run, and nobody but the script names it"
            help = f"if you trust it: --allow-jar {jar}, in Python Catalog(allow_jars=['{jar}'])"
            raise FlinkDdlError.of("FD524", message, span, help)


def refuse_unnamed(udfs: Mapping[str, str], span: Span | None = None) -> None:
    """Raise FD670 for the first Python function whose module only the script names."""
    for target in udfs.values():
        kind, _, path = target.partition(":")
        module = path.rpartition(".")[0]
        if kind == "script" and not _allowed(module):
            message = f"the Python function '{path}' would run, and nobody but the script names its module"
            help = f"if you trust it: --allow-python {module}, in Python Catalog(allow_python=['{module}'])"
            raise FlinkDdlError.of("FD670", message, span, help)


def _allowed(module: str) -> bool:
    given = [m.strip() for m in os.environ.get(VARIABLE, "").split(",")]
    return any(module == m or module.startswith(f"{m}.") for m in given if m)


def register(spark: SparkSession, name: str, target: str) -> None:
    """Register ``name``: ``python:module.function`` (a PySpark UDF, or a function that declares its types) or
    ``java:class`` (a Spark UDF class on the class path).

    Raises FD834 when it cannot be loaded, FD670 for a module that only a script names, FD671 for one that none may.
    """
    refuse_unnamed({name: target})
    language, _, path = target.partition(":") if ":" in target else ("python", ":", target)
    try:
        if language == "java":
            spark.udf.registerJavaFunction(name, path)
            return
        if (why := untouchable(path.rpartition(".")[0])) is not None:
            raise FlinkDdlError.of("FD671", f"'{name}' is '{path}', {why}")
        function = _loaded(path)
        is_udf = hasattr(function, "evalType") or not hasattr(function, "returnType")
        spark.udf.register(name, function, *([] if is_udf else [function.returnType]))
    except FlinkDdlError:
        raise
    except Exception as error:
        message = f"the function '{name}' cannot be loaded from '{path}': {error}"
        raise FlinkDdlError.of("FD834", message, help="check the path, and that the module is importable") from error


def _loaded(path: str) -> Any:
    """Import a function; one that is annotated gets its ``returnType`` by that."""
    with suppress(UndeclaredTypes):  # a PySpark UDF, or none at all
        imported(path)
    module, _, attribute = path.rpartition(".")
    return getattr(import_module(module), attribute)
