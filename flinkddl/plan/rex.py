"""Row expressions: resolved and typed, one small closed set of nodes.

Names are gone: a column is an index into the input's fields (for a join: left fields, then right fields). Every node
knows its Flink type. Functions, operators and casts are all ``Call``; what a name means is a row of
``flinkddl.functions``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from flinkddl import sqltypes as T

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from flinkddl.diagnostics import Span
    from flinkddl.sqltypes import DataType

MIRROR = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
"""Comparisons, and what each is with its sides turned round."""


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
class OuterRef(Rex):
    """A column of the query around a subquery: ``depth`` 1 is the next one outwards."""

    depth: int
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
        left: list[tuple[object, object]] = [(self, other)]
        while left:
            a, b = left.pop()
            if a is b:
                continue
            if not isinstance(a, Call) and not isinstance(b, Call):
                if a != b:
                    return False
                continue
            if not isinstance(a, Call) or not isinstance(b, Call):
                return False
            if (a.type, a.function, a.options, len(a.args)) != (b.type, b.function, b.options, len(b.args)):
                return False
            left += zip(a.args, b.args, strict=True)
        return True

    def __hash__(self) -> int:
        return self._known("_hash", lambda call: hash((call.type, call.function, call.args, call.options)))

    @property
    def size(self) -> int:
        """How many expressions it is written out, itself and repeated ones counted."""
        return self._known("_size", lambda call: 1 + sum(size(a) for a in call.args))

    @property
    def constant(self) -> bool:
        """Whether it is built of literals alone."""

        def built(call: Call) -> int:
            return bool(call.args) and all(
                isinstance(a, Literal) or (isinstance(a, Call) and a.constant) for a in call.args
            )

        return bool(self._known("_constant", built))

    def _known(self, name: str, compute: Callable[[Call], int]) -> int:
        """Return a number that is worked out once, from the arguments up: a chain of 2,000 terms is as deep."""
        for call in _upwards(self, lambda c: name in c.__dict__):
            call.__dict__[name] = compute(call)
        return int(self.__dict__[name])

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

    def option(self, name: str, default: Any = None) -> Any:
        """Return an option's value."""
        return dict(self.options).get(name, default)


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


def size(rex: Rex) -> int:
    """Return how many expressions one is written out."""
    return rex.size if isinstance(rex, Call) else 1


def substituted_size(rex: Rex, inputs: Sequence[Rex]) -> int:
    """Return the size that ``substitute`` would give an expression."""
    sizes: dict[int, int] = {}

    def of(found: Rex) -> int:
        return size(inputs[found.index]) if isinstance(found, InputRef) else sizes.get(id(found), 1)

    for call in _upwards(rex):
        sizes[id(call)] = 1 + sum(map(of, call.args))
    return of(rex)


def _upwards(rex: Rex, known: Callable[[Call], bool] = lambda _: False) -> Iterator[Call]:
    """Yield the calls of an expression that are not known, each once and after those of its arguments."""
    left = [rex]
    done: set[int] = set()
    while left:
        call = left[-1]
        missing = []
        if isinstance(call, Call) and id(call) not in done and not known(call):
            missing = [a for a in call.args if isinstance(a, Call) and id(a) not in done and not known(a)]
            if not missing:
                done.add(id(call))
                yield call
        if missing:
            left += missing
        else:
            left.pop()


def _args(rex: Rex) -> tuple[Rex, ...]:
    return rex.args if isinstance(rex, Call) else ()


def walk(rex: Rex, below: Callable[[Rex], tuple[Rex, ...]] = _args) -> Iterator[Rex]:
    """Yield the expression and everything ``below`` it, top down; what is shared comes once."""
    left = [rex]
    seen: set[int] = set()
    while left:
        found = left.pop()
        if isinstance(found, Call):
            if id(found) in seen:
                continue
            seen.add(id(found))
        yield found
        left += reversed(below(found))


def transform(rex: Rex, change: Callable[[Rex], Rex | None], done: dict[int, Rex] | None = None) -> Rex:
    """Rebuild an expression top down: ``change`` returns a replacement, or None to go on below.

    What is shared is changed once and stays shared, also between expressions that one ``done`` is given for; what does
    not change is returned as it is.
    """
    done = {} if done is None else done
    left = [(rex, False)]
    while left:
        found, below = left.pop()
        if below:
            assert isinstance(found, Call)
            args = tuple(done[id(a)] for a in found.args)
            same = all(a is b for a, b in zip(args, found.args, strict=True))
            done[id(found)] = found if same else replace(found, args=args)
        elif id(found) not in done:
            new = change(found)
            if new is not None:
                done[id(found)] = new
            elif isinstance(found, Call) and found.args:
                left.append((found, True))
                left += [(a, False) for a in reversed(found.args)]
            else:
                done[id(found)] = found
    return done[id(rex)]


def references(rex: Rex) -> frozenset[int]:
    """Return the indices of all input fields an expression reads."""
    return frozenset(r.index for r in walk(rex) if isinstance(r, InputRef))


def shift(rex: Rex, by: int, first: int = 0) -> Rex:
    """Move every input reference from ``first`` on by ``by`` fields."""

    def moved(r: Rex) -> Rex | None:
        return replace(r, index=r.index + by) if isinstance(r, InputRef) and r.index >= first else None

    return transform(rex, moved)


def uncast(rex: Rex) -> Rex:
    """Return what stands below the casts of an expression."""
    while isinstance(rex, Call) and rex.function == "CAST":
        rex = rex.args[0]
    return rex


def substitute(rex: Rex, inputs: Sequence[Rex] | Mapping[int, Rex]) -> Rex:
    """Replace every input reference by the expression at its index: two projections become one."""
    return transform(rex, lambda r: inputs[r.index] if isinstance(r, InputRef) else None)


def conjuncts(rex: Rex) -> tuple[Rex, ...]:
    """Split a condition at its ANDs."""
    if isinstance(rex, Call) and rex.function == "AND":
        return tuple(c for a in rex.args for c in conjuncts(a))
    return (rex,)


def all_of(parts: Iterable[Rex]) -> Rex:
    """Join conditions with AND, without the TRUEs; TRUE where none is left, and one FALSE or NULL is the whole."""
    kept = tuple(p for p in parts if not (isinstance(p, Literal) and p.value is True))
    never = next((p for p in kept if isinstance(p, Literal) and not p.value), None)
    if never is not None:
        return never
    if not kept:
        return Literal(T.BOOLEAN.not_null(), True)
    return kept[0] if len(kept) == 1 else Call(T.BOOLEAN.with_nullable(any(p.type.nullable for p in kept)), "AND", kept)
