"""Bounded runs: each plan node as native Spark steps over finished tables.

The result is the table that Flink's streaming job leaves at the end, so order of arrival counts where it counts there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.plan.nodes.forms import Traits
from flinkddl.spark.batch import grouping, joins, over_windows, ranking, rows, sinks, temporal, windows
from flinkddl.spark.batch.base import HANDLERS, lower_node

if TYPE_CHECKING:
    from flinkddl.plan.nodes import Node
    from flinkddl.spark.context import Lowering, Rel

__all__ = ["HANDLERS", "grouping", "joins", "lower", "over_windows", "ranking", "rows", "sinks", "temporal", "windows"]


def lower(node: Node, ctx: Lowering, *, sequence: bool = False) -> Rel:
    """Lower a plan node and all below it to steps of ``ctx``; returns the finished table.

    ``sequence`` asks for ``__seq``, the order of arrival. Raises FlinkDdlError (FD640, FD641) for what has no lowering.
    """
    return lower_node(node, ctx, Traits(sequence=sequence))
