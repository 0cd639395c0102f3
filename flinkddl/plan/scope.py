"""What an expression may see while it is resolved, and what it hands back for aggregates and window functions.

The plan builder implements ``Scope``; ``plan/expressions/`` calls it. The division of work: at **every** node, top
down, the resolver first asks ``scope.special(node)``. The scope answers for column references (with their nested
fields), aggregate calls, OVER windows, subqueries and group window functions, and says None for all the rest, which is
the resolver's own. Aggregates are resolved by ``expressions.resolve_aggregate``, which the scope calls itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from flinkddl.catalog.settings import NOTHING_SET, Settings
from flinkddl.plan.rex import AggCall

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlglot import exp

    from flinkddl.catalog.model import Function
    from flinkddl.diagnostics import Span
    from flinkddl.plan.rex import Rex
    from flinkddl.sqltypes import DataType


@dataclass(frozen=True)
class Session:
    """Settings that meaning depends on: ``zone`` is ``table.local-time-zone``; ``config`` all that is SET."""

    zone: str = "UTC"
    streaming: bool = True
    config: Settings = field(default=NOTHING_SET, repr=False)


class Scope(Protocol):
    """The surroundings of one expression."""

    @property
    def session(self) -> Session:
        """The session's settings."""

    def special(self, node: exp.Expression) -> Rex | None:
        """Resolve what depends on the query around the expression, or return None for an ordinary expression.

        Columns (``exp.Column``, and a bare ``exp.Identifier``), aggregates, OVER, subqueries (scalar, IN, EXISTS, with
        their operand), group window functions. Raises FlinkDdlError where such a thing is not allowed.
        """

    def span(self, node: exp.Expression) -> Span | None:
        """The node's place in the script."""

    def function(self, name: str) -> Function | None:
        """Return the user's function of that name, if the catalog has one."""


@dataclass(frozen=True)
class AggregateUse:
    """A resolved aggregate or window function call, before its arguments have become input columns.

    ``resolve_aggregate(node, scope)`` of ``plan/expressions/`` returns it for the call itself, with FILTER (an
    ``exp.Filter`` around it) and IGNORE / RESPECT NULLS taken in, but without OVER. ``type`` is the result type of a
    grouped (``grouped=True``) or a global aggregate.
    """

    function: str
    args: tuple[Rex, ...]
    type: DataType
    distinct: bool = False
    filter: Rex | None = None
    ignore_nulls: bool | None = None
    options: tuple[tuple[str, Any], ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)

    def call(self, place: Callable[[Rex], int]) -> AggCall:
        """Return the call over input columns; ``place`` says where the value of an expression is."""
        args = tuple(place(a) for a in self.args)
        filter_ = None if self.filter is None else place(self.filter)
        return AggCall(
            self.function, args, self.type, self.distinct, filter_, self.ignore_nulls, self.options, self.span
        )
