"""From the plan as written to the plan as it runs: ``REWRITES``, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.plan.rewrite.prune import prune
from flinkddl.plan.rewrite.pushdown import push
from flinkddl.plan.rewrite.recognise import recognise

if TYPE_CHECKING:
    from collections.abc import Callable

    from flinkddl.plan.context import Context
    from flinkddl.plan.nodes import Node

REWRITES: tuple[Callable[[Node, Context], Node], ...] = (push, recognise, prune)
"""Filters go down, patterns become the operators that they are and streaming rules are checked, what is unread goes."""


def rewritten(node: Node, context: Context) -> Node:
    """Return the plan in its final form. Raises FlinkDdlError for what cannot run."""
    for rewrite in REWRITES:
        node = rewrite(node, context)
    return node
