"""A countdown as Spark's own range."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.spark import job as J
from flinkddl.spark.context import ARRIVAL, SEQUENCE, Rel, unique_names
from flinkddl.sqltypes import quote

if TYPE_CHECKING:
    from flinkddl.plan.nodes import Scan
    from flinkddl.spark.context import Lowering


def rows(node: Scan, ctx: Lowering, sequence: bool) -> Rel:
    """Lower a countdown to its column."""
    physical = [(c, f) for c, f in zip(node.table.columns, node.fields, strict=True) if c.kind == "physical"]
    names = unique_names(c.name for c, _ in physical)
    start = node.options["from"]
    numbers = ctx.add(
        J.Rows(name=ctx.fresh(node.table.path.name), query=f"SELECT {start} - id AS n FROM range({start})")
    )
    columns = [(names[0], quote("n"))] + [(SEQUENCE, ARRIVAL[ctx.streaming])] * sequence
    step = ctx.add(J.Select(name=ctx.fresh(f"{numbers.name}_columns"), input=numbers.name, columns=tuple(columns)))
    return Rel(step.name, names, tuple(f for _, f in physical), sequence=sequence)
