"""The blackhole sink: Spark's ``noop``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.spark import job as J

if TYPE_CHECKING:
    from flinkddl.plan.nodes import Sink
    from flinkddl.spark.context import Lowering, Rel


def write(node: Sink, rel: Rel, ctx: Lowering) -> J.Write:
    """Lower a blackhole sink."""
    return J.Write(name=node.target, input=rel.step, format="noop", options={}, mode=ctx.output_mode, table=node.target)
