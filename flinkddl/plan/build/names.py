"""What stands in a FROM clause: a plan and the names over its fields."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from flinkddl.plan.nodes import Values
from flinkddl.plan.rex import InputRef

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp

    from flinkddl.diagnostics import Span
    from flinkddl.plan.nodes import Field, JoinKind, Node
    from flinkddl.plan.rex import Rex

_KINDS: dict[str, JoinKind] = {
    "LEFT": "left",
    "RIGHT": "right",
    "FULL": "full",
    "SEMI": "semi",
    "ANTI": "anti",
}


@dataclass(frozen=True)
class Entry:
    """One table of a FROM clause: its name there, its full path if it has one, and its columns' places."""

    alias: str | None
    names: tuple[str, ...]
    start: int
    path: tuple[str, ...] = ()

    def find(self, name: str) -> list[int]:
        """Return the field indices of that name (several where a subquery repeats one)."""
        return [self.start + i for i in self._places.get(name, ())]

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        places: dict[str, list[int]] = {}
        for i, name in enumerate(self.names):
            places.setdefault(name, []).append(i)
        return places

    def called(self, parts: tuple[str, ...]) -> bool:
        """Whether a qualifier (one to three parts) means this table."""
        if len(parts) == 1:
            return parts[0] == self.alias
        return bool(self.path) and self.path[-len(parts) :] == parts and self.alias == self.path[-1]

    def shifted(self, by: int) -> Entry:
        """Return the entry for fields that moved."""
        return replace(self, start=self.start + by)


@dataclass(frozen=True)
class Relation:
    """A FROM clause so far: the plan and the names over its fields.

    ``merged`` are the common columns of USING and NATURAL joins: name, value, and the fields it stands for.
    """

    node: Node
    entries: tuple[Entry, ...] = ()
    merged: tuple[tuple[str, Rex, frozenset[int]], ...] = ()

    @classmethod
    def of(cls, node: Node, alias: str | None = None, names: Sequence[str] | None = None) -> Relation:
        """Return a plan as one table, called ``alias``, with names of its own or those of its fields."""
        return cls(node, (Entry(alias, tuple(f.name for f in node.fields) if names is None else tuple(names), 0),))

    @property
    def fields(self) -> tuple[Field, ...]:
        """The plan's output fields."""
        return self.node.fields

    def ref(self, index: int, span: Span | None = None) -> InputRef:
        """Return a reference to a field."""
        return InputRef(self.node.fields[index].type, index, span)

    def beside(self, node: Node, alias: str | None, fields: Sequence[Field]) -> Relation:
        """Return the names over a plan that has more fields behind them, those of a table called ``alias``."""
        entry = Entry(alias, tuple(f.name for f in fields), len(self.fields))
        return Relation(node, (*self.entries, entry), self.merged)

    def over(self, node: Node) -> Relation:
        """Return the same names over another plan with the same leading fields."""
        return replace(self, node=node)


ONE_ROW = Relation(Values(fields=(), rows=((),)))
"""What a query without FROM reads: a row of no columns."""


@dataclass(frozen=True)
class Place:
    """Where a table stands in FROM: what is to its left, and the JOIN that adds it, None where it comes first."""

    left: Relation = ONE_ROW
    join: exp.Join | None = None

    @property
    def kind(self) -> JoinKind:
        """The join's kind; a comma, CROSS and no join at all are INNER."""
        side, kind = (self.join.side.upper(), self.join.kind.upper()) if self.join is not None else ("", "")
        return _KINDS.get(side or kind, "inner")

    @property
    def on(self) -> exp.Expression | None:
        """The condition behind ON."""
        return None if self.join is None else self.join.args.get("on")
