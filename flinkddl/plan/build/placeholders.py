"""Expressions that live only while a SELECT is built: calls whose value another node will deliver.

``plan/build/select.py`` resolves every expression of a SELECT over its FROM first. An aggregate, an OVER window, a subquery
or a group window function then stands in the expression as one of these, until the node that computes it exists and
the placeholder becomes an ``InputRef``. None of them is left in a finished plan.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from flinkddl.plan.rex import Call, InputRef, Rex, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from flinkddl.diagnostics import Span
    from flinkddl.plan.nodes import Node
    from flinkddl.plan.scope import AggregateUse

SubqueryKind = Literal["scalar", "in", "exists", "some", "all"]


@dataclass(frozen=True)
class AggRef(Rex):
    """The value of an aggregate call of this SELECT."""

    use: AggregateUse


@dataclass(frozen=True)
class WindowSpec:
    """A resolved OVER clause. ``frame`` is None where none was written, else (rows, preceding, following)."""

    partition: tuple[Rex, ...]
    order: tuple[tuple[Rex, bool, bool], ...]
    rows: bool = False
    preceding: Any = None
    following: Any = 0


@dataclass(frozen=True)
class OverRef(Rex):
    """The value of a window function of this SELECT."""

    use: AggregateUse
    window: WindowSpec


@dataclass(frozen=True)
class SubqueryRef(Rex):
    """A subquery in an expression: ``plan`` may hold OuterRefs; ``operands`` stand left of IN or a comparison."""

    kind: SubqueryKind
    plan: Node = field(hash=False)
    operands: tuple[Rex, ...] = ()
    operator: str = "="
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class GroupingRef(Rex):
    """GROUPING(..), GROUPING_ID(..) or GROUP_ID() over key expressions."""

    args: tuple[Rex, ...]
    function: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class WindowPropertyRef(Rex):
    """TUMBLE_START and its like: ``window`` is the group window call it must match."""

    window: Rex
    property: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class GroupWindowRef(Rex):
    """A group window function in GROUP BY: kind, time expression and durations in ms."""

    kind: str
    time: Rex
    sizes: tuple[int, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


def parts(rex: Rex) -> tuple[Rex, ...]:
    """Return the direct sub-expressions, those inside placeholders included (subquery operands too)."""
    match rex:
        case Call():
            return rex.args
        case AggRef():
            return (*rex.use.args, *((rex.use.filter,) if rex.use.filter is not None else ()))
        case OverRef():
            inner = parts(AggRef(rex.type, rex.use))
            return (*inner, *rex.window.partition, *(o[0] for o in rex.window.order))
        case SubqueryRef():
            return rex.operands
        case GroupingRef():
            return rex.args
        case _:
            return ()


def walk_all(rex: Rex) -> Iterator[Rex]:
    """Yield an expression and all below it, also inside placeholders; what is shared comes once."""
    return walk(rex, parts)


def rewrite(rex: Rex, change: Callable[[Rex], Rex | None]) -> Rex:
    """Like ``rex.transform``, but also inside OVER calls, aggregates and subquery operands."""
    from dataclasses import replace

    new = change(rex)
    if new is not None:
        return new

    def each(items: tuple[Rex, ...]) -> tuple[Rex, ...]:
        return tuple(rewrite(i, change) for i in items)

    def use(u: AggregateUse) -> AggregateUse:
        return replace(u, args=each(u.args), filter=None if u.filter is None else rewrite(u.filter, change))

    match rex:
        case Call() if rex.args:
            return replace(rex, args=each(rex.args))
        case AggRef():
            return replace(rex, use=use(rex.use))
        case OverRef():
            order = tuple((rewrite(e, change), d, n) for e, d, n in rex.window.order)
            window = replace(rex.window, partition=each(rex.window.partition), order=order)
            return replace(rex, use=use(rex.use), window=window)
        case SubqueryRef() if rex.operands:
            return replace(rex, operands=each(rex.operands))
        case _:
            return rex


def has(rex: Rex, *kinds: type[Rex]) -> bool:
    """Whether any part of the expression is of one of these kinds."""
    return any(isinstance(r, kinds) for r in walk_all(rex))


def refs(rex: Rex) -> frozenset[int]:
    """Indices of input fields, also those inside placeholders."""
    return frozenset(r.index for r in walk_all(rex) if isinstance(r, InputRef))
