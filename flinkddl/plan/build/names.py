"""Names of a FROM clause: which column a reference means, with Flink's rules.

Case-sensitive; an alias hides the table's own name; a part that names no table is a column with nested fields behind
it; what the query itself does not know may belong to the query around it (a correlated reference).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from sqlglot import exp

from flinkddl.diagnostics import did_you_mean
from flinkddl.plan.build import special
from flinkddl.plan.rex import InputRef, OuterRef, Rex, field_access
from flinkddl.sqltypes import Root

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from flinkddl.catalog.model import Function
    from flinkddl.diagnostics import Span
    from flinkddl.plan.context import Context
    from flinkddl.plan.nodes import Field, Node
    from flinkddl.plan.scope import Session


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

    @property
    def fields(self) -> tuple[Field, ...]:
        """The plan's output fields."""
        return self.node.fields

    def ref(self, index: int, span: Span | None = None) -> InputRef:
        """Return a reference to a field."""
        return InputRef(self.node.fields[index].type, index, span)

    def on(self, node: Node) -> Relation:
        """Return the same names over another plan with the same leading fields."""
        return replace(self, node=node)


@dataclass
class NameScope:
    """The expression resolver's view of one clause of one SELECT.

    ``clause`` names it in messages; ``aggregates`` and ``overs`` say whether such calls may stand here; ``outer`` is
    the scope of the query around this one; ``aliases`` are select items that ORDER BY may name;
    ``grouped`` is False where an aggregate may see no rows (no GROUP BY, or an empty grouping set).
    """

    context: Context
    relation: Relation
    clause: str = "SELECT"
    aggregates: bool = False
    overs: bool = False
    outer: NameScope | None = None
    aliases: dict[str, Rex] = field(default_factory=dict)
    windows: dict[str, exp.Expression] = field(default_factory=dict)
    ctes: dict[str, object] = field(default_factory=dict)
    grouped: bool = True

    @property
    def session(self) -> Session:
        """The session's settings."""
        return self.context.session

    def span(self, node: exp.Expression) -> Span | None:
        """The node's place in the script."""
        return self.context.span(node)

    def function(self, name: str) -> Function | None:
        """The user's function of that name."""
        return self.context.catalog.function(name)

    def special(self, node: exp.Expression) -> Rex | None:
        """See ``plan.scope.Scope.special``."""
        match node:
            case exp.Column():
                return self.column(node)
            case exp.Identifier():
                return self.path((node.name,), node)
            case _:
                return special.resolve(node, self)

    def column(self, node: exp.Column) -> Rex:
        """Resolve a column reference of one to four parts; raises FlinkDdlError."""
        return self.path(tuple(p.name for p in node.parts), node)

    def path(self, parts: tuple[str, ...], node: exp.Expression) -> Rex:
        """Resolve a dotted path, here or further outwards."""
        span = self.span(node)
        if len(parts) == 1 and parts[0] in self.aliases:
            return self.aliases[parts[0]]
        scope: NameScope | None = self
        depth = 0
        while scope is not None:
            found = scope._local(parts, node, span)
            if found is not None:
                return found if depth == 0 else _outwards(found, depth)
            scope, depth = scope.outer, depth + 1
        raise self._unknown(parts, node)

    def _local(self, parts: tuple[str, ...], node: exp.Expression, span: Span | None) -> Rex | None:
        for size in (3, 2, 1):
            if len(parts) > size:
                entry = next((e for e in self.relation.entries if e.called(parts[:size])), None)
                if entry is not None:
                    found = self._in_entry(entry, parts[size], node, span)
                    return None if found is None else self._nested(found, parts[size + 1 :], node)
        found = self._bare(parts[0], node, span)
        return None if found is None else self._nested(found, parts[1:], node)

    def _in_entry(self, entry: Entry, name: str, node: exp.Expression, span: Span | None) -> Rex | None:
        found = entry.find(name)
        if len(found) > 1:
            raise self._ambiguous(name, node)
        if found:
            return self.relation.ref(found[0], span)
        raise self.context.error(
            "FD450", f"column '{name}' not found in table '{entry.alias}'", node, did_you_mean(name, entry.names)
        )

    def _bare(self, name: str, node: exp.Expression, span: Span | None) -> Rex | None:
        hidden: frozenset[int] = frozenset()
        for merged_name, value, stands_for in self.relation.merged:
            if merged_name == name:
                hidden |= stands_for
                result = value
        found = [i for e in self.relation.entries for i in e.find(name) if i not in hidden]
        if hidden:
            if found:
                raise self._ambiguous(name, node)
            return result
        if len(found) > 1:
            raise self._ambiguous(name, node)
        return self.relation.ref(found[0], span) if found else None

    def _nested(self, value: Rex, names: tuple[str, ...], node: exp.Expression) -> Rex:
        for name in names:
            inner = field_access(value, name, self.span(node)) if value.type.root is Root.ROW else None
            if inner is None:
                known = [f.name for f in value.type.fields]
                raise self.context.error(
                    "FD450",
                    f"field '{name}' not found in a value of type {value.type.summary}",
                    node,
                    did_you_mean(name, known),
                )
            value = inner
        return value

    def _ambiguous(self, name: str, node: exp.Expression) -> Exception:
        owners = [e.alias for e in self.relation.entries if e.find(name) and e.alias]
        help_ = f"qualify it: {' or '.join(f'{o}.{name}' for o in owners)}" if len(owners) > 1 else "rename one of them"
        return self.context.error("FD451", f"column '{name}' is ambiguous", node, help_)

    def _unknown(self, parts: tuple[str, ...], node: exp.Expression) -> Exception:
        known = sorted({n for s in self.chain() for e in s.relation.entries for n in e.names})
        if len(parts) == 1:
            return self.context.error(
                "FD450", f"column '{parts[0]}' not found in any table", node, did_you_mean(parts[0], known)
            )
        tables = [e.alias for s in self.chain() for e in s.relation.entries if e.alias]
        return self.context.error(
            "FD450",
            f"'{parts[0]}' is neither a table of this query nor a column",
            node,
            did_you_mean(parts[0], [*tables, *known]),
        )

    def chain(self) -> Iterator[NameScope]:
        """Yield this scope and those around it."""
        scope: NameScope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer

    def star(self, qualifier: tuple[str, ...], node: exp.Expression) -> list[tuple[str, Rex]]:
        """Expand ``*``, ``t.*`` or ``row_column.*`` to names and values."""
        if not qualifier:
            return self._all(node)
        entry = next((e for e in self.relation.entries if e.called(qualifier)), None)
        if entry is not None:
            return list(self._entry_star(entry, node))
        value = self._local(qualifier, node, self.span(node))
        if value is not None and value.type.root is Root.ROW:
            return [(f.name, self._nested(value, (f.name,), node)) for f in value.type.fields]
        known = [e.alias for e in self.relation.entries if e.alias]
        name = ".".join(qualifier)
        raise self.context.error("FD450", f"table '{name}' not found", node, did_you_mean(name, known))

    def _all(self, node: exp.Expression) -> list[tuple[str, Rex]]:
        if not self.relation.entries:
            raise self.context.error("FD462", "SELECT * needs a FROM clause", node)
        out = [(name, value) for name, value, _ in self.relation.merged]
        hidden = frozenset(i for _, _, ids in self.relation.merged for i in ids)
        for entry in self.relation.entries:
            out += [(n, r) for n, r in self._entry_star(entry, node) if r.index not in hidden]
        return list(out)

    def _entry_star(self, entry: Entry, node: exp.Expression) -> Sequence[tuple[str, InputRef]]:
        twice = next((n for n, count in Counter(entry.names).items() if count > 1), None)
        if twice is not None:
            raise self._ambiguous(twice, node)
        return [(n, self.relation.ref(entry.start + i, self.span(node))) for i, n in enumerate(entry.names)]

    def within(self, clause: str, *, aggregates: bool = False, overs: bool = False) -> NameScope:
        """Return the scope of another clause of the same SELECT."""
        return replace(self, clause=clause, aggregates=aggregates, overs=overs)


def _outwards(value: Rex, depth: int) -> Rex:
    from flinkddl.plan.rex import transform

    def change(r: Rex) -> Rex | None:
        return OuterRef(r.type, depth, r.index, r.span) if isinstance(r, InputRef) else None

    return transform(value, change)
