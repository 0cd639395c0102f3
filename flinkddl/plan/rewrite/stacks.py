"""Stacks of filters and projections, as views over views make them, put together into one of each.

From the lowest layer up: so each layer is looked at once, and what many conditions say of a column they share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from flinkddl.plan import make
from flinkddl.plan.conditions import deterministic, fits
from flinkddl.plan.nodes import Filter, Project
from flinkddl.plan.rex import conjuncts, substitute

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flinkddl.plan.nodes import Node
    from flinkddl.plan.rex import Rex

_LAYERS = 3


def merged(node: Filter) -> Node:
    """Return a stack as a projection over a filter, or over several where one would grow too large."""
    layers: list[Filter | Project] = []
    base: Node = node
    while isinstance(base, Filter | Project) and all(map(deterministic, _own(base))):
        layers.append(base)
        base = base.input
    if len(layers) < _LAYERS:
        return node
    stack = _Stack(base)
    for layer in reversed(layers):
        stack.add(layer)
    return stack.node()


_N = TypeVar("_N", bound="Node")


def stripped(node: Node, kind: type[_N]) -> tuple[_N, tuple[Rex, ...], tuple[Rex, ...]] | None:
    """Look through projections and filters to a node of a kind: it, the output over its fields, the filters over it."""
    exprs: tuple[Rex, ...] = make.refs(node)
    filters: tuple[Rex, ...] = ()
    while not isinstance(node, kind):
        match node:
            case Project():
                exprs = tuple(substitute(e, node.exprs) for e in exprs)
                filters = tuple(substitute(f, node.exprs) for f in filters)
            case Filter():
                filters = (*filters, *conjuncts(node.condition))
            case _:
                return None
        node = node.input
    return node, exprs, filters


class _Stack:
    """A base, the conditions and the projection over it; all expressions are over the base's fields."""

    def __init__(self, base: Node) -> None:
        self._begin(base)

    def _begin(self, base: Node) -> None:
        self.base, self.exprs = base, make.refs(base)
        self.tests: list[tuple[Rex, ...]] = []
        self.names: Sequence[str] = [f.name for f in base.fields]

    def add(self, layer: Filter | Project) -> None:
        if not fits(_own(layer), self.exprs):
            self._begin(self.node())
        own = tuple(substitute(e, self.exprs) for e in _own(layer))
        if isinstance(layer, Filter):
            self.tests.append(conjuncts(own[0]))
        else:
            self.exprs = own
        self.names = [f.name for f in layer.fields]

    def node(self) -> Node:
        below = make.where(self.base, make.all_of(t for tests in reversed(self.tests) for t in tests))
        return make.project(below, self.exprs, self.names)


def _own(layer: Filter | Project) -> tuple[Rex, ...]:
    return (layer.condition,) if isinstance(layer, Filter) else layer.exprs
