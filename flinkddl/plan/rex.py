"""Row expressions: resolved and typed, one small closed set of nodes.

Names are gone: a column is an index into the input's fields (for a join: left fields, then right fields). Every node
knows its Flink type. Functions, operators and casts are all ``Call``; what a name means is a row of
``flinkddl.functions``.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from flinkddl import sqltypes as T
from flinkddl.records import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from flinkddl.diagnostics import Span
    from flinkddl.sqltypes import DataType


@dataclass(frozen=True)
class Rex:
    """Base: ``type`` is the Flink type of the value; ``span`` its place in the script, which equality ignores."""

    type: DataType


@dataclass(frozen=True)
class InputRef(Rex):
    """The ``index``-th field of the input; ``span`` is the place of the reference in the script."""

    index: int
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Literal(Rex):
    """A constant. ``value``: None, bool, int, Decimal, float, str, bytes, date, datetime (no zone), or an int:
    milliseconds of the day for TIME, milliseconds for day-time and months for year-month intervals.
    """

    value: Any


@dataclass(frozen=True)
class Call(Rex):
    """A function or operator by its catalogue name (``+``, ``CAST``, ``CASE``, ``UPPER``, ``ITEM``, ``FIELD`` ...).

    ``options`` holds what is no value: units, JSON behaviours, a field name.
    """

    function: str
    args: tuple[Rex, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Call) and (self.type, self.function, self.args, self.options) == (
            other.type,
            other.function,
            other.args,
            other.options,
        )

    def __hash__(self) -> int:
        return hash((self.type, self.function, self.args, self.options))

    def option(self, name: str, default: Any = None) -> Any:
        """Return an option's value."""
        return dict(self.options).get(name, default)


@dataclass(frozen=True)
class AggCall:
    """An aggregate call over an input's fields: arguments and FILTER are indices into the input."""

    function: str
    args: tuple[int, ...]
    type: DataType
    distinct: bool = False
    filter: int | None = None
    ignore_nulls: bool | None = None
    options: tuple[tuple[str, Any], ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class SortKey:
    """One ORDER BY item over an input's field. Flink's default: NULLs first ascending, last descending."""

    index: int
    descending: bool = False
    nulls_first: bool = True


def field_access(row: Rex, name: str, span: Span | None = None) -> Rex | None:
    """Return ``row.name`` as a ``FIELD`` call (option ``name``), or None when the ROW type has no such field."""
    for f in row.type.fields:
        if f.name == name:
            nullable = f.type.nullable or row.type.nullable
            return Call(f.type.with_nullable(nullable), "FIELD", (row,), (("name", name),), span)
    return None


def walk(rex: Rex) -> Iterator[Rex]:
    """Yield the expression and everything below it, top down."""
    yield rex
    if isinstance(rex, Call):
        for arg in rex.args:
            yield from walk(arg)


def transform(rex: Rex, change: Callable[[Rex], Rex | None]) -> Rex:
    """Rebuild an expression top down: ``change`` returns a replacement, or None to go on below."""
    new = change(rex)
    if new is not None:
        return new
    if isinstance(rex, Call) and rex.args:
        return replace(rex, args=tuple(transform(a, change) for a in rex.args))
    return rex


def references(rex: Rex) -> frozenset[int]:
    """Return the indices of all input fields an expression reads."""
    return frozenset(r.index for r in walk(rex) if isinstance(r, InputRef))


def shift(rex: Rex, by: int) -> Rex:
    """Move every input reference by ``by`` fields."""
    return transform(rex, lambda r: replace(r, index=r.index + by) if isinstance(r, InputRef) else None)


def substitute(rex: Rex, inputs: tuple[Rex, ...]) -> Rex:
    """Replace every input reference by the expression at its index: two projections become one."""
    return transform(rex, lambda r: inputs[r.index] if isinstance(r, InputRef) else None)


def conjuncts(rex: Rex) -> tuple[Rex, ...]:
    """Split a condition at its ANDs."""
    if isinstance(rex, Call) and rex.function == "AND":
        return tuple(c for a in rex.args for c in conjuncts(a))
    return (rex,)


def conjunction(parts: tuple[Rex, ...]) -> Rex:
    """Join conditions with AND; TRUE when there is none."""
    if not parts:
        return Literal(T.BOOLEAN.not_null(), True)
    if len(parts) == 1:
        return parts[0]
    nullable = any(p.type.nullable for p in parts)
    return Call(T.BOOLEAN.with_nullable(nullable), "AND", parts)
