"""Rowtime columns, and those of them that are NULL.

Flink's window aggregates fail on a NULL rowtime, the window functions by themselves leave the row out. Measured on
Flink 2.3 over Kafka, which pushes the watermark into the source: TUMBLE, HOP, CUMULATE and SESSION under GROUP BY fail;
the functions without an aggregate, Top-N, deduplication and joins per window drop the row, and batch mode drops it
everywhere. The old group windows (TUMBLE(ts, ..) in GROUP BY) count it in the window of 1970, or drop it as late: here
they fail as well. OVER frames with a lower bound leave such a row out too; without one it comes first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.spark.job import Where
from flinkddl.sqltypes import Root

if TYPE_CHECKING:
    from flinkddl.spark.context import Lowering, Rel
    from flinkddl.sqltypes import DataType

_MESSAGE = "RowTime field should not be null, please convert it to a non-null long value."


def is_rowtime(t: DataType) -> bool:
    """Whether the type is carried as Spark TIMESTAMP because it is an event-time attribute."""
    return t.root is Root.TIMESTAMP and t.time_attribute == "ROWTIME"


def untimed(sql: str, t: DataType) -> str:
    """Return a value as the plain timestamp that it shows; a rowtime is an instant inside the plan."""
    return f"CAST({sql} AS TIMESTAMP_NTZ)" if is_rowtime(t) else sql


def millis(sql: str) -> str:
    """Return event-time milliseconds of a timestamp, as watermarks count them."""
    return f"unix_millis(CAST({sql} AS TIMESTAMP))"


def never_null(rel: Rel, time: int, ctx: Lowering) -> Rel:
    """Fail the job at a row whose time is NULL.

    Spark puts its own ``IS NOT NULL`` before a window and would join both filters, its own first: a condition that is
    not deterministic stays by itself. (Spark knows that rand() >= 0, but does not look into a sum.)
    """
    fails = f"CAST(raise_error('{_MESSAGE}') AS BOOLEAN)"
    condition = f"IF({rel.sql(time)} IS NULL, {fails}, rand() + 1 > 0)"
    return _where(rel, condition, ctx, "a NULL rowtime fails the job")


def without_null(rel: Rel, time: int, ctx: Lowering) -> Rel:
    """Drop rows whose time is NULL."""
    return _where(rel, f"{rel.sql(time)} IS NOT NULL", ctx, "rows without a rowtime are dropped")


def _where(rel: Rel, condition: str, ctx: Lowering, note: str) -> Rel:
    step = Where(name=ctx.fresh("rowtime"), input=rel.step, condition=condition, note=note)
    return rel.with_(step=ctx.add(step).name)
