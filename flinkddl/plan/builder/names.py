"""What stands in a FROM clause: a plan, the names over its fields, and what they mean."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, get_args

from sqlglot import exp

from flinkddl.diagnostics import did_you_mean
from flinkddl.plan.nodes import JoinKind, Values
from flinkddl.plan.rex import InputRef, field_access
from flinkddl.sqltypes import Root

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flinkddl.diagnostics import FlinkDdlError, Span
    from flinkddl.plan.context import Context
    from flinkddl.plan.nodes import Field, Node
    from flinkddl.plan.rex import Rex

_DEEPEST = 3
_KINDS: dict[str, JoinKind] = {kind.upper(): kind for kind in get_args(JoinKind)}


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


class Placed:
    """Of what has a context: its errors and places."""

    context: Context

    @property
    def error(self) -> Callable[..., FlinkDdlError]:
        """See ``Context.error``."""
        return self.context.error

    def span(self, node: exp.Expression | None) -> Span | None:
        """The node's place in the script."""
        return self.context.span(node)


@dataclass
class Names(Placed):
    """What names mean over a FROM clause, by Flink's rules.

    Case-sensitive; an alias hides the table's own name; a part that names no table is a column with nested fields
    behind it. All raise FlinkDdlError (FD450, FD451, FD462).
    """

    context: Context
    relation: Relation

    def find(self, parts: tuple[str, ...], node: exp.Expression) -> Rex | None:
        """Return what a dotted path means here, or None."""
        for size in (3, 2, 1):
            if len(parts) > size:
                entry = next((e for e in self.relation.entries if e.called(parts[:size])), None)
                if entry is not None:
                    found = self._in_entry(entry, parts[size], node)
                    return None if found is None else self.nested(found, parts[size + 1 :], node)
        found = self._bare(parts[0], node)
        return None if found is None else self.nested(found, parts[1:], node)

    def _in_entry(self, entry: Entry, name: str, node: exp.Expression) -> Rex | None:
        found = entry.find(name)
        if len(found) > 1:
            raise self._ambiguous(name, node)
        if found:
            return self.relation.ref(found[0], self.span(node))
        message = f"column '{name}' not found in table '{entry.alias}'"
        raise self.error("FD450", message, node, did_you_mean(name, entry.names))

    def _bare(self, name: str, node: exp.Expression) -> Rex | None:
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
        return self.relation.ref(found[0], self.span(node)) if found else None

    def nested(self, value: Rex, names: tuple[str, ...], node: exp.Expression) -> Rex:
        """Return a field of a ROW value, or a field of that one and so on."""
        for i, name in enumerate(names):
            inner = field_access(value, name, self.span(node)) if value.type.root is Root.ROW else None
            if inner is None:
                raise self._no_field(value, names[i:], node)
            value = inner
        return value

    def _no_field(self, value: Rex, names: tuple[str, ...], node: exp.Expression) -> FlinkDdlError:
        parts = [p.name for p in node.parts] if isinstance(node, exp.Column) else []
        owner = f"'{'.'.join(parts[: -len(names)])}'" if len(parts) > len(names) else "this value"
        if value.type.root is not Root.ROW:
            return self.error(
                "FD450", f"{owner} is of type {value.type.summary}, which has no field '{names[0]}'", node
            )
        known = [f.name for f in value.type.fields]
        help = did_you_mean(names[0], known) or f"its fields: {', '.join(known)}"
        return self.error("FD450", f"{owner} has no field '{names[0]}'", node, help)

    def inside(self, name: str) -> str | None:
        """Return the path of a field of a ROW column, or of a ROW in one, for its bare name; None if none has it."""
        found = ((f.name, f.type) for f in self.relation.fields if f.type.root is Root.ROW)
        paths = list(found)
        for path, type in paths:
            for field in type.fields:
                if field.name == name:
                    return f"{path}.{name}"
                if field.type.root is Root.ROW and path.count(".") < _DEEPEST:
                    paths.append((f"{path}.{field.name}", field.type))
        return None

    def _ambiguous(self, name: str, node: exp.Expression) -> FlinkDdlError:
        owners = [e.alias for e in self.relation.entries if e.find(name) and e.alias]
        help_ = f"qualify it: {' or '.join(f'{o}.{name}' for o in owners)}" if len(owners) > 1 else "rename one of them"
        return self.error("FD451", f"column '{name}' is ambiguous", node, help_)

    def star(self, qualifier: tuple[str, ...], node: exp.Expression) -> list[tuple[str, Rex]]:
        """Expand ``*``, ``t.*`` or ``row_column.*`` to names and values."""
        if not qualifier:
            return self._all(node)
        entry = next((e for e in self.relation.entries if e.called(qualifier)), None)
        if entry is not None:
            return list(self._entry_star(entry, node))
        value = self.find(qualifier, node)
        if value is not None and value.type.root is Root.ROW:
            return [(f.name, self.nested(value, (f.name,), node)) for f in value.type.fields]
        known = [e.alias for e in self.relation.entries if e.alias]
        name = ".".join(qualifier)
        raise self.error("FD450", f"table '{name}' not found", node, did_you_mean(name, known))

    def _all(self, node: exp.Expression) -> list[tuple[str, Rex]]:
        if not self.relation.entries:
            raise self.error("FD462", "SELECT * needs a FROM clause", node)
        out: list[tuple[str, Rex]] = [(name, value) for name, value, _ in self.relation.merged]
        hidden = frozenset(i for _, _, ids in self.relation.merged for i in ids)
        for entry in self.relation.entries:
            out += [(n, r) for n, r in self._entry_star(entry, node) if r.index not in hidden]
        return out

    def _entry_star(self, entry: Entry, node: exp.Expression) -> list[tuple[str, InputRef]]:
        twice = next((n for n, count in Counter(entry.names).items() if count > 1), None)
        if twice is not None:
            raise self._ambiguous(twice, node)
        return [(n, self.relation.ref(entry.start + i, self.span(node))) for i, n in enumerate(entry.names)]
