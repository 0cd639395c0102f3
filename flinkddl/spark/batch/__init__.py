"""Bounded runs: each plan node as native Spark steps over finished tables.

The result is the table that Flink's streaming job leaves at the end, so order of arrival counts where it counts there.
"""

from flinkddl.spark.batch import grouping, joins, over_windows, ranking, rows, sinks, temporal, windows  # noqa: F401
from flinkddl.spark.batch.base import HANDLERS
from flinkddl.spark.batch.base import lower_node as lower

__all__ = ["HANDLERS", "lower"]
