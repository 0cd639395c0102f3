"""Filters go down to where their columns come from, and outer joins that a filter makes inner become inner.

This is no optimisation: which operator a join becomes, and whether its result is updated later, depends on it. The
rules are those of Flink's logical phase that change the meaning of the plan for its sink. Which conditions a node lets
through to its inputs is a fact of its class (``Node.pushed``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkddl.plan import make
from flinkddl.plan.nodes import Filter
from flinkddl.plan.nodes.values import retyped
from flinkddl.plan.rewrite.stacks import merged
from flinkddl.plan.rex import Literal, conjuncts

if TYPE_CHECKING:
    from flinkddl.plan.conditions import Conditions
    from flinkddl.plan.context import Context
    from flinkddl.plan.nodes import Node
    from flinkddl.plan.rex import Rex


def push(node: Node, context: Context) -> Node:
    """Return the plan with each filter as far down as it goes."""
    return _push(node, ())


def _push(node: Node, conditions: Conditions) -> Node:
    """Return the node with conditions over its output applied as far down as they go."""
    if isinstance(node, Filter):
        node = merged(node)
    if isinstance(node, Filter):
        return _push(node.input, (*conditions, *conjuncts(node.condition)))
    conditions = tuple(p for p in dict.fromkeys(conditions) if not (isinstance(p, Literal) and p.value is True))
    node, stay, below = node.pushed(conditions)
    inputs = [
        _push(i, tuple(part for c in own for part in conjuncts(c))) for i, own in zip(node.inputs, below, strict=True)
    ]
    out = make.merged(node.with_inputs(inputs))
    done: dict[int, Rex] = {}
    return make.where(out, make.all_of(retyped(p, out.fields, done=done) for p in stay))
