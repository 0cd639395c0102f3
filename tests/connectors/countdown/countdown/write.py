"""A countdown's folder: Parquet files by Spark's own writer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.spark import job as J

if TYPE_CHECKING:
    from flinkddl.plan.nodes import Sink
    from flinkddl.spark.context import Lowering, Rel


def write(node: Sink, rel: Rel, ctx: Lowering) -> J.Write:
    """Lower a sink: the table's columns under their names."""
    columns = tuple((c.name, rel.sql(i)) for i, c in enumerate(node.table.persisted))
    step = ctx.add(J.Select(name=ctx.fresh("rows"), input=rel.step, columns=columns))
    options = {"path": str(node.options["path"])}
    return J.Write(
        name=node.target, input=step.name, format="parquet", options=options, mode=ctx.output_mode, table=node.target
    )
