"""The steps of a SparkJob as DataFrames: the calls of ``spark.calls``, performed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flinkddl.diagnostics import FlinkDdlError
from flinkddl.diagnostics.secrets import scrub, secrets_in
from flinkddl.spark import job as J
from flinkddl.spark.calls import Attribute, Call, Chain, Expression, Frame, Session, Setting, calls_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame, SparkSession

Frames = dict[str, Any]


def build_frames(spark: SparkSession, job: J.SparkJob, read: Callable[[SparkSession, J.Read], DataFrame]) -> Frames:
    """Return the DataFrame of every step by name; ``read`` opens the sources. Raises FD831 for a refused step."""
    frames: Frames = {}
    for step in job.steps:
        try:
            frames[step.name] = (
                read(spark, step) if isinstance(step, J.Read) else perform(calls_of(step), spark, frames)
            )
        except FlinkDdlError:
            raise
        except Exception as error:
            reason = scrub(str(error).strip().splitlines()[0], secrets_in(getattr(step, "options", {})))
            message = f"Spark refuses the step '{step.name}' ({step.note or type(step).__name__}): {reason}"
            raise FlinkDdlError.of("FD831", message, help="this is a defect of flinkddl; please report it") from error
    return frames


def perform(value: Any, spark: SparkSession, frames: Mapping[str, Any]) -> Any:
    """Return what a value of ``spark.calls`` stands for."""
    match value:
        case Chain():
            made = perform(value.start, spark, frames)
            for call in value.calls:
                made = _performed(call, made, spark, frames)
            return made
        case Frame():
            return frames[value.step]
        case Session():
            return spark
        case Expression():
            from pyspark.sql.functions import expr

            return expr(value.sql)
        case Setting():
            return value.value
    return value


def _performed(call: Attribute | Call, on: Any, spark: SparkSession, frames: Mapping[str, Any]) -> Any:
    if isinstance(call, Attribute):
        return getattr(on, call.name)
    args = (perform(a, spark, frames) for a in call.args)
    return getattr(on, call.method)(*args, **(call.named or {}))  # type: ignore[arg-type]
