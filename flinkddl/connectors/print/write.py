"""The print sink: rows that the driver writes to the standard output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.spark.sink import local, shown

if TYPE_CHECKING:
    from flinkddl.plan.nodes import Sink
    from flinkddl.spark.context import Lowering, Rel
    from flinkddl.spark.job import Write


def write(node: Sink, rel: Rel, ctx: Lowering) -> Write:
    """Lower a print sink."""
    options = {
        "print-identifier": str(node.options["print-identifier"] or ""),
        "standard-error": str(bool(node.options["standard-error"])).lower(),
    }
    return local(node, shown(rel, ctx), ctx, "flinkddl.print", options)
