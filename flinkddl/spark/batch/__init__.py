"""Bounded runs: each plan node as native Spark steps over finished tables.

The result is the table that Flink's streaming job leaves at the end, so order of arrival counts where it counts there.
"""

from flinkddl.plan.rules import files
from flinkddl.spark.batch.base import HANDLERS
from flinkddl.spark.batch.base import lower_node as lower

files(__name__, __path__)

__all__ = ["HANDLERS", "lower"]
