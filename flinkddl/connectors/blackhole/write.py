"""The blackhole sink: Spark's ``noop``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.spark.sink import written

if TYPE_CHECKING:
    from flinkddl.plan.nodes import Sink
    from flinkddl.spark.context import Lowering, Rel
    from flinkddl.spark.job import Write


def write(node: Sink, rel: Rel, ctx: Lowering) -> Write:
    """Lower a blackhole sink."""
    return written(node, rel.step, ctx, "noop", {})
