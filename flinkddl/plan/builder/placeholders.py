"""Expressions that live only while a SELECT is built: calls whose value another node will deliver.

``plan/builder/select.py`` resolves every expression of a SELECT over its FROM first. An aggregate, an OVER window, a
subquery or a group window function then stands in the expression as one of these, until the node that computes it
exists and the placeholder becomes an ``InputRef``. None of them is left in a finished plan.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from flinkddl.plan.rex import Call, Rex, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from flinkddl.diagnostics import Span
    from flinkddl.plan.nodes import Node
    from flinkddl.plan.scope import AggregateUse

P = TypeVar("P", bound=Rex)
Ordered = tuple[Rex, bool, bool]
"""One ORDER BY item: the value, whether it descends, whether NULLs come first."""
SubqueryKind = Literal["scalar", "in", "exists", "some", "all"]


@dataclass(frozen=True)
class AggRef(Rex):
    """The value of an aggregate call of this SELECT."""

    use: AggregateUse


@dataclass(frozen=True)
class WindowSpec:
    """A resolved OVER clause. ``frame`` is None where none was written, else (rows, preceding, following)."""

    partition: tuple[Rex, ...]
    order: tuple[Ordered, ...]
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


@dataclass
class Parts:
    """The resolved expressions of a SELECT on their way through the stages."""

    names: list[str] = field(default_factory=list)
    items: list[Rex] = field(default_factory=list)
    having: Rex | None = None
    qualify: Rex | None = None
    order: list[Ordered] = field(default_factory=list)

    def all(self) -> list[Rex]:
        """All expressions of the stages to come."""
        singles = [r for r in (self.having, self.qualify) if r is not None]
        return [*self.items, *singles, *(o[0] for o in self.order)]

    def found(self, kind: type[P]) -> list[P]:
        """The placeholders of a kind, each once."""
        found: list[P] = []
        for rex in self.all():
            found += [r for r in walk_all(rex) if isinstance(r, kind) and r not in found]
        return found

    def rewrite(self, change: Callable[[Rex], Rex | None]) -> None:
        """Rebuild every expression with what ``change`` gives for its parts."""
        self.items = [rewrite(r, change) for r in self.items]
        self.having = None if self.having is None else rewrite(self.having, change)
        self.qualify = None if self.qualify is None else rewrite(self.qualify, change)
        self.order = [(rewrite(e, change), d, n) for e, d, n in self.order]
