"""The print sink: rows that the driver writes to the standard output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.lower.sink import local, shown

if TYPE_CHECKING:
    from flinkddl.lower.context import Lowering, Rel
    from flinkddl.lower.job import Write
    from flinkddl.plan.nodes import Sink


def write(node: Sink, rel: Rel, ctx: Lowering) -> Write:
    """Lower a print sink."""
    options = {
        "print-identifier": str(node.options["print-identifier"] or ""),
        "standard-error": str(bool(node.options["standard-error"])).lower(),
    }
    return local(node, shown(rel, ctx), ctx, "flinkddl.print", options)
