"""The steps of a SparkJob as DataFrames: one function a step kind, each a plain call of the DataFrame API."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING, Any

from flinkddl.deep import balanced
from flinkddl.diagnostics import FlinkDdlError
from flinkddl.diagnostics.secrets import scrub, secrets_in
from flinkddl.lower import job as J
from flinkddl.sqltypes import quote

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame, SparkSession

Frames = dict[str, Any]
LATEST = "latest"  # in the metrics of an observed watermark: the latest time of the batch, in microseconds


def build_frames(spark: SparkSession, job: J.SparkJob, read: Callable[[SparkSession, J.Read], DataFrame]) -> Frames:
    """Return the DataFrame of every step by name; ``read`` opens the sources. Raises FD831 for a refused step."""
    frames: Frames = {}
    for step in job.steps:
        try:
            frames[step.name] = read(spark, step) if isinstance(step, J.Read) else apply_step(step, spark, frames)
        except FlinkDdlError:
            raise
        except Exception as error:
            reason = scrub(str(error).strip().splitlines()[0], secrets_in(getattr(step, "options", {})))
            message = f"Spark refuses the step '{step.name}' ({step.note or type(step).__name__}): {reason}"
            raise FlinkDdlError.of("FD831", message, help="this is a defect of flinkddl; please report it") from error
    return frames


@singledispatch
def apply_step(step: J.Step, spark: SparkSession, frames: Mapping[str, DataFrame]) -> DataFrame:
    """Return the DataFrame of one step over those of its inputs."""
    raise TypeError(type(step).__name__)


@apply_step.register(J.Rows)
def _(step: J.Rows, spark: SparkSession, frames: Mapping[str, Any]) -> Any:
    return spark.sql(step.query)


@apply_step.register(J.Select)
def _(step: J.Select, spark: SparkSession, frames: Mapping[str, Any]) -> Any:
    texts = [f"{sql} AS {quote(name)}" for name, sql in step.columns]
    if step.generator is not None:
        sql, names = step.generator
        texts.append(f"{sql} AS ({', '.join(map(quote, names))})")
    return frames[step.input].selectExpr(*texts)


@apply_step.register(J.Where)
def _(step: J.Where, spark: SparkSession, frames: Mapping[str, Any]) -> Any:
    return frames[step.input].where(step.condition)


@apply_step.register(J.WithWatermark)
def _(step: J.WithWatermark, spark: SparkSession, frames: Mapping[str, Any]) -> Any:
    frame = frames[step.input].withWatermark(step.column, step.delay)
    if not step.observed:
        return frame
    from pyspark.sql.functions import expr

    return frame.observe(step.observed, expr(f"max(unix_micros({quote(step.column)}))").alias(LATEST))


@apply_step.register(J.Coalesce)
def _(step: J.Coalesce, spark: SparkSession, frames: Mapping[str, Any]) -> Any:
    return frames[step.input].coalesce(step.tasks)


@apply_step.register(J.WithMetadata)
def _(step: J.WithMetadata, spark: SparkSession, frames: Mapping[str, Any]) -> Any:
    frame = frames[step.input]
    for column, metadata in step.columns.items():
        frame = frame.withMetadata(column, dict(metadata))
    return frame


@apply_step.register(J.GroupBy)
def _(step: J.GroupBy, spark: SparkSession, frames: Mapping[str, Any]) -> Any:
    from pyspark.sql.functions import expr

    grouped = frames[step.input].groupBy(*[expr(sql).alias(name) for name, sql in step.keys])
    if not step.aggs:
        return grouped.agg(expr("count(1)").alias("__count")).drop("__count")
    return grouped.agg(*[expr(sql).alias(name) for name, sql in step.aggs])


@apply_step.register(J.DropDuplicates)
def _(step: J.DropDuplicates, spark: SparkSession, frames: Mapping[str, Any]) -> Any:
    return frames[step.input].dropDuplicates(list(step.columns))


@apply_step.register(J.OrderBy)
def _(step: J.OrderBy, spark: SparkSession, frames: Mapping[str, Any]) -> Any:
    from pyspark.sql.functions import expr

    return frames[step.input].orderBy(*(getattr(expr(sql), direction)() for sql, direction in step.sorts))


@apply_step.register(J.Limit)
def _(step: J.Limit, spark: SparkSession, frames: Mapping[str, Any]) -> Any:
    frame = frames[step.input].offset(step.offset) if step.offset else frames[step.input]
    return frame if step.fetch is None else frame.limit(step.fetch)


@apply_step.register(J.JoinStep)
def _(step: J.JoinStep, spark: SparkSession, frames: Mapping[str, Any]) -> Any:
    from pyspark.sql.functions import expr

    left, right = frames[step.left], frames[step.right]
    return left.crossJoin(right) if step.how == "cross" else left.join(right, expr(step.on), step.how)


@apply_step.register(J.UnionAll)
def _(step: J.UnionAll, spark: SparkSession, frames: Mapping[str, Any]) -> Any:
    # Spark makes one flat Union of them, and looks at all that are in it each time
    return balanced([frames[name] for name in step.parts], lambda a, b: a.union(b))
